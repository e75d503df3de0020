/** Shows views one after the other, with a pause before each decision of an agent. */

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

export class Reel {
  #events;
  #queue = [];
  #shown = null;
  #told = 0;
  #running = false;

  /**
   * @param {object} events `seconds()` tells the pause, `tell(view, plies)` shows the log of a coming view up to the
   *   next decision of an agent, `show(view, last)` shows a view: the last of those that wait, or not
   */
  constructor(events) {
    this.#events = events;
  }

  /** The view that is shown, null while others wait to be. */
  get settled() {
    return this.#queue.length ? null : this.#shown;
  }

  /** The view that waits to be shown next, null if none does. */
  get telling() {
    return this.#queue[0] ?? null;
  }

  /** Add a view; what still waits is dropped if this one makes it old. */
  push(view) {
    const last = this.#queue.at(-1) ?? this.#shown;
    // After a decision of the person, what came before it has been seen: in this page or in another one.
    const own = view.log.findLastIndex(({ seat }) => seat === view.seat);
    const undone = view.log.length < (last?.log.length ?? 0);
    if (view.id !== last?.id || own >= this.#told || undone) this.#queue = [];
    this.#told = Math.max(this.#told, own + 1);
    this.#queue.push(view);
    if (!this.#running) this.#run();
  }

  async #run() {
    this.#running = true;
    try {
      while (this.#queue.length) {
        if (this.#events.seconds() === 0) this.#queue = this.#queue.slice(-1);
        if (this.#coming()) await this.#tell();
        else this.#show();
      }
    } finally {
      this.#running = false;
    }
  }

  /** Whether the next view's log has decisions of agents that were not told yet. */
  #coming() {
    const [next] = this.#queue;
    if (this.#events.seconds() === 0 || next.id !== this.#shown?.id) return false;
    while (next.log[this.#told]?.seat === next.seat) this.#told += 1;
    return this.#told < next.log.length;
  }

  async #tell() {
    const [next] = this.#queue;
    await Promise.all([this.#events.tell(next, this.#told), pause(this.#events.seconds())]);
    // The last decision is told with the board it leads to.
    if (this.#queue[0] === next) this.#told += 1;
  }

  #show() {
    this.#shown = this.#queue.shift();
    this.#told = this.#shown.log.length;
    this.#events.show(this.#shown, this.#queue.length === 0);
  }
}
