/** The page of `spirits play`: a table, its board and its choices. */

import { get, Lost, post, Refused } from "./api.js";
import { Board, task } from "./board.js";
import { byId, remember, remembered } from "./dom.js";
import { Keys } from "./keys.js";
import { Link } from "./link.js";
import {
  announce,
  clearHelp,
  hideChoices,
  showAdvice,
  showChoices,
  showHint,
  showLog,
  showResult,
  showSeats,
  showStatus,
  showTold,
} from "./panels.js";
import { Reel } from "./reel.js";
import { settingOf, Setup } from "./setup.js";

const SPEED = "spirits-play-speed";
const USUAL_SPEED = "0.5";

class Page {
  #board = new Board(byId("board"), (action) => this.#play(action));
  #reel = new Reel({
    seconds: () => Number(byId("speed").value),
    tell: (view, plies) => this.#tell(view, plies),
    show: (view, last) => this.#show(view, last),
  });
  #link = new Link({
    view: (view) => this.#reel.push(view),
    lost: (seconds) => this.#lost(seconds),
    found: () => (byId("banner").hidden = true),
    gone: (error) => this.#home(error.message),
  });
  #setup = new Setup((view) => this.#enter(view));
  // The view that a decision on its way was made for.
  #decided = null;
  #byKey = false;
  #held = null;
  #shown = null;

  constructor() {
    this.#speed();
    this.#buttons();
    this.#pointing();
    new Keys({
      u: () => this.#undo(),
      h: () => this.#hint(),
      a: () => this.#advice(),
      n: () => this.#openSetup(),
      "?": () => byId("help").showModal(),
    });
    window.addEventListener("hashchange", () => this.#follow());
  }

  /** Go to the table in the address, or to the newest that is not over, or to a new one. */
  async start() {
    if (location.hash) await this.#follow();
    else await this.#home("");
  }

  // --- tables ---------------------------------------------------------------------------------------------

  /** Go to a table, and put it into the address. */
  #enter(view) {
    announce("");
    const address = `#${view.id}`;
    if (!location.hash) history.replaceState(null, "", address);
    else if (location.hash !== address) history.pushState(null, "", address);
    this.#link.open(view);
  }

  async #follow() {
    const id = location.hash.slice(1);
    if (!id || id === this.#link.view?.id) return;
    await this.#reached(async () => {
      try {
        this.#enter(await get(`/api/tables/${encodeURIComponent(id)}`));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        await this.#home(error.message);
      }
    });
  }

  async #home(why) {
    await this.#reached(async () => {
      const { tables } = await get("/api/tables");
      const going = tables.find(({ over }) => !over);
      try {
        this.#enter(going ? await get(`/api/tables/${going.id}`) : await this.#setup.deal());
        announce(why && `${why} Here is another table.`);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        await this.#setup.open(null, error.message);
      }
    });
  }

  /** Do something as soon as the server can be reached. */
  async #reached(action) {
    for (let seconds = 0.5; ; seconds = Math.min(2 * seconds, 10)) {
      try {
        await action();
        byId("banner").hidden = true;
        return;
      } catch (error) {
        if (!(error instanceof Lost)) throw error;
        await this.#link.rest(seconds);
      }
    }
  }

  #openSetup() {
    return this.#help(() => this.#setup.open(this.#link.view));
  }

  // --- what is shown --------------------------------------------------------------------------------------

  async #tell(view, plies) {
    this.#hold();
    this.#board.dim();
    hideChoices("");
    showTold(view, plies);
    // Agents may be faster than views come, so the boards between are asked for.
    const board = await get(`/api/tables/${view.id}/board?ply=${plies}`).catch(() => null);
    if (board && this.#reel.telling === view) this.#draw(board);
  }

  #show(view, last) {
    this.#hold();
    clearHelp();
    byId("title").textContent = view.title;
    document.title = `${view.yours ? "● " : ""}${view.title}`;
    this.#draw(view);
    showSeats(view);
    showStatus(view, task(view, byId("board")));
    showLog(view, view.log.length);
    showResult(view);
    const open = last && view.yours && view !== this.#decided;
    showChoices(open ? view : { ...view, choices: [] }, (action) => this.#play(action));
    if (open) this.#board.light(view.choices);
    if (view.error) announce(view.error);
    this.#tools(view);
    this.#focus(view);
    this.#shown = view;
  }

  /** Show a position, drawn and in words. */
  #draw({ svg, text }) {
    this.#board.draw(svg);
    byId("words").textContent = text;
  }

  #tools(view) {
    byId("undo").disabled = !view.can_undo;
    byId("hint").disabled = byId("advice").disabled = !view.yours;
    const download = byId("download");
    download.hidden = !view.over;
    download.href = `/api/tables/${view.id}/record`;
  }

  /** Remember whether the focus was on the board or in the list, before what has it is taken away. */
  #hold() {
    const here = document.activeElement;
    if (byId("board").contains(here)) this.#held = "board";
    else if (byId("choices").contains(here)) this.#held = "choices";
    else if (here !== document.body) this.#held = null;
  }

  /** Give the focus back to whoever plays by key; at the end it goes to the result. */
  #focus(view) {
    if (view.over) {
      if (this.#shown?.id === view.id && !this.#shown.over) byId("result").focus();
      this.#held = null;
    }
    if (!this.#held) return;
    const place = byId(this.#held);
    const first = this.#byKey ? place.querySelector(".lit, button:enabled") : null;
    (first ?? place).focus({ preventScroll: !first });
  }

  #lost(seconds) {
    byId("banner-text").textContent = `No connection; the next attempt is in ${seconds} s. Nothing is lost.`;
    byId("banner").hidden = false;
  }

  // --- decisions and help ---------------------------------------------------------------------------------

  #play(action) {
    return this.#decide("play", { action });
  }

  #undo() {
    if (!byId("undo").disabled) return this.#decide("undo");
  }

  async #decide(what, body) {
    // An agent's decisions can be taken back while they are being shown.
    const view = what === "undo" ? this.#link.view : this.#reel.settled;
    if (!view || view === this.#decided) return;
    this.#decided = view;
    this.#hold();
    this.#board.dim();
    hideChoices("");
    announce("");
    try {
      await this.#link.decide(what, body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      announce(error.message);
    } finally {
      if (this.#decided === view) this.#decided = null;
      // Nothing has changed, so the choices are open again.
      if (this.#reel.settled === view) this.#show(view, true);
    }
  }

  #hint() {
    return this.#ask("hint", (_, hint) => showHint(hint, twins(hint.action)));
  }

  #advice() {
    return this.#ask("advice", showAdvice);
  }

  /** Ask about the person's decision; the answer is shown if it is still due then. */
  #ask(what, show) {
    const view = this.#reel.settled;
    if (!view?.yours) return;
    return this.#help(async () => {
      announce(`Asking for ${what === "hint" ? "a hint" : "advice"}.`);
      const answer = await get(`/api/tables/${view.id}/${what}`);
      announce("");
      if (this.#reel.settled === view && answer.revision === view.revision) show(view, answer);
    });
  }

  #save() {
    return this.#help(async () => {
      const { file } = await post(`/api/tables/${this.#link.view.id}/save`, {});
      announce(`Saved as ${file}.`);
    });
  }

  #again() {
    return this.#help(async () => {
      const setting = settingOf(this.#link.view);
      // Everybody moves on, so who follows whom stays as it is.
      this.#enter(await post("/api/tables", { ...setting, seat: (setting.seat + 1) % setting.players }));
    });
  }

  /** Do something that changes no game; what goes wrong is said. */
  async #help(action) {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Refused || error instanceof Lost)) throw error;
      announce(error instanceof Lost ? "The server can't be reached; try again in a while." : error.message);
    }
  }

  // --- wiring ---------------------------------------------------------------------------------------------

  #speed() {
    const select = byId("speed");
    select.value = remembered(SPEED) ?? USUAL_SPEED;
    if (!select.value) select.value = USUAL_SPEED;
    select.addEventListener("change", () => remember(SPEED, select.value));
  }

  #buttons() {
    const actions = {
      new: () => this.#openSetup(),
      other: () => this.#openSetup(),
      again: () => this.#again(),
      save: () => this.#save(),
      keys: () => byId("help").showModal(),
      undo: () => this.#undo(),
      hint: () => this.#hint(),
      advice: () => this.#advice(),
      retry: () => this.#link.wake(),
    };
    for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
    for (const button of document.querySelectorAll("[data-close]")) {
      button.addEventListener("click", () => button.closest("dialog").close());
    }
    // The address keeps the table, so the link must not change it.
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      (byId("choices").querySelector("button:enabled") ?? byId("choices")).focus();
    });
  }

  /** Show together what stands for one choice: in the list, on the board, in the advice. */
  #pointing() {
    const point = (event) => {
      const element = event.target.closest?.("[data-action], [data-legal].lit, [data-point]");
      for (const old of document.querySelectorAll(".twin")) old.classList.remove("twin");
      const action = element?.dataset.action ?? element?.dataset.legal ?? element?.dataset.point;
      if (action !== undefined) for (const twin of twins(action)) twin.classList.add("twin");
    };
    for (const type of ["pointerover", "focusin"]) document.addEventListener(type, point);
    document.addEventListener("keydown", () => (this.#byKey = true), true);
    document.addEventListener("pointerdown", () => (this.#byKey = false), true);
  }
}

/** All elements that stand for a choice that is open now. */
const twins = (action) => document.querySelectorAll(`.lit[data-legal="${action}"], [data-action="${action}"]:enabled`);

new Page().start();
