/**
 * The tie to one table on the server: follows its views, sends decisions, and outlives a lost connection.
 */

import { get, Lost, post, Refused } from "./api.js";

const WAIT = 20;
const FIRST_PAUSE = 0.5;
const LONGEST_PAUSE = 10;

export class Link {
  #events;
  #view = null;
  #stop = null;
  #waking = new EventTarget();

  /**
   * @param {object} events functions to call: `view(view)` for each new view, `lost(seconds)` when there is no
   *   connection (seconds to the next attempt), `found()` when there is one again, `gone(error)` when the table isn't
   *   there any more
   */
  constructor(events) {
    this.#events = events;
    window.addEventListener("online", () => this.wake());
    document.addEventListener("visibilitychange", () => this.#turn());
  }

  /** The newest view of the table, null before the first. */
  get view() {
    return this.#view;
  }

  /** Go to a table, of which a view is at hand. */
  open(view) {
    this.#view = null;
    this.take(view);
    this.#restart();
  }

  /** Try again at once. */
  wake() {
    this.#waking.dispatchEvent(new Event("wake"));
  }

  /**
   * Ask for a change of the table; sent again until it is known to have arrived once.
   *
   * @param {string} what "play" or "undo"
   * @param {object} body further fields of the request
   */
  async decide(what, body = {}) {
    const { id, revision } = this.#view;
    let uncertain = false;
    for (let pause = FIRST_PAUSE; ; pause = this.#longer(pause)) {
      try {
        if (uncertain && (await this.#moved(id, revision))) return;
        this.take(await post(`/api/tables/${id}/${what}`, { revision, ...body }));
        this.#events.found();
        return;
      } catch (error) {
        if (error instanceof Lost) await this.rest(pause);
        else if (this.#refused(error) && uncertain) return;
        else throw error;
        uncertain = true;
      }
    }
  }

  /** Take the view that comes with a refusal; tell whether there was one. */
  #refused(error) {
    if (!(error instanceof Refused) || !error.view) return false;
    this.take(error.view);
    this.#events.found();
    return true;
  }

  /** Look whether the table has gone on since a revision. */
  async #moved(id, revision) {
    this.take(await get(`/api/tables/${id}`));
    this.#events.found();
    return this.#view.id !== id || this.#view.revision !== revision;
  }

  /** Take a view of the table, unless it is of another one or older than what is known. */
  take(view) {
    const old = this.#view;
    if (old && (old.id !== view.id || old.revision >= view.revision)) return;
    this.#view = view;
    this.#events.view(view);
  }

  /** A hidden page lets go of its connection, of which a browser keeps only a few. */
  #turn() {
    if (document.hidden) this.#stop?.abort();
    else if (this.#view) this.#restart();
  }

  #restart() {
    this.#stop?.abort();
    this.#stop = new AbortController();
    this.#follow(this.#view.id, this.#stop.signal);
  }

  async #follow(id, signal) {
    let pause = FIRST_PAUSE;
    // The first answer comes at once, and tells that there is a connection.
    let wait = 0;
    while (!signal.aborted) {
      try {
        const view = await get(`/api/tables/${id}?after=${this.#view.revision}&wait=${wait}`, signal);
        if (signal.aborted) return;
        this.#events.found();
        this.take(view);
        pause = FIRST_PAUSE;
        wait = WAIT;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused && error.status === 404) return void this.#events.gone(error);
        await this.rest(pause);
        pause = this.#longer(pause);
        wait = 0;
      }
    }
  }

  #longer(pause) {
    return Math.min(2 * pause, LONGEST_PAUSE);
  }

  /** Say that the connection is lost, and wait for some seconds or for `wake`. */
  rest(seconds) {
    this.#events.lost(seconds);
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#waking.removeEventListener("wake", done);
        resolve();
      };
      const timer = setTimeout(done, 1000 * seconds);
      this.#waking.addEventListener("wake", done);
    });
  }
}
