/** The dialog for a new game, a saved one, or another open table. */

import { get, post } from "./api.js";
import { byId, chosen, fill, make, say } from "./dom.js";

const RANDOM = "random";
const OTHER = "";

export class Setup {
  #dialog = byId("setup");
  #entered;
  #offer = null;
  // Players of each saved game.
  #players = new Map();

  /** @param {(view: object) => void} entered called with the view of a table that was made or loaded */
  constructor(entered) {
    this.#entered = entered;
    byId("game").addEventListener("change", () => this.#gameChosen());
    byId("players").addEventListener("change", () => this.#playersChosen());
    byId("records").addEventListener("change", () => (byId("file").value = ""));
    byId("file").addEventListener("change", () => (byId("records").value = "null"));
    this.#submits("fresh", () => this.#fresh());
    this.#submits("stored", () => this.#stored());
  }

  /** What the server offers; asked for once. */
  async offer() {
    this.#offer ??= await get("/api/setup");
    return this.#offer;
  }

  /** A table as the server was started for. */
  async deal() {
    return post("/api/tables", (await this.offer()).defaults);
  }

  /**
   * Open the dialog.
   *
   * @param {object?} view the present table, whose setting is proposed
   * @param {string} error what went wrong before, in words
   */
  async open(view, error = "") {
    say(byId("setup-error"), error);
    byId("seed").value = byId("deal").value = byId("file").value = "";
    await this.offer();
    this.#propose(view ? settingOf(view) : this.#offer.defaults);
    if (!this.#dialog.open) this.#dialog.showModal();
    await this.#attempt(() => this.#lists(view));
  }

  #submits(form, action) {
    byId(form).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#attempt(async () => {
        this.#entered(await action());
        this.#dialog.close();
      });
    });
  }

  /** Do something; what goes wrong is said in the dialog. */
  async #attempt(action) {
    const buttons = this.#dialog.querySelectorAll("[type=submit]");
    for (const button of buttons) button.disabled = true;
    try {
      await action();
      say(byId("setup-error"), "");
    } catch (error) {
      say(byId("setup-error"), error.message);
      byId("setup-error").scrollIntoView({ block: "nearest" });
    } finally {
      for (const button of buttons) button.disabled = false;
    }
  }

  // --- fields ---------------------------------------------------------------------------------------------

  #game() {
    return this.#offer.games.find(({ name }) => name === chosen(byId("game")));
  }

  #propose(setting) {
    const names = this.#offer.games.map(({ name, title }) => [name, title]);
    fill(byId("game"), names, setting.game);
    this.#gameChosen(setting);
    fill(byId("stored-against"), this.#offer.agents.map((name) => [name, name]), this.#usual());
    const most = Math.max(...this.#offer.games.flatMap(({ players }) => players));
    fill(byId("stored-seat"), [...seatEntries(most), [RANDOM, "at random"]], 0);
  }

  #gameChosen(setting = null) {
    const game = this.#game();
    const players = setting?.players ?? (game.players.includes(2) ? 2 : game.players[0]);
    fill(byId("players"), game.players.map((count) => [count, String(count)]), players);
    const fields = game.options.map((option) => optionField(option, setting?.options?.[option.name]));
    byId("options").hidden = fields.length === 0;
    byId("options").replaceChildren(make("legend", {}, "Options"), ...fields);
    this.#playersChosen(setting);
  }

  #playersChosen(setting = null) {
    const players = chosen(byId("players"));
    fill(byId("seat"), [...seatEntries(players), [RANDOM, "at random"]], setting?.seat ?? 0);
    const agents = this.#agents(this.#game());
    const fields = Array.from({ length: players - 1 }, (_, index) => {
      return agentField(`Opponent ${index + 1}`, agents, setting?.against?.[index] ?? this.#usual());
    });
    byId("opponents").hidden = fields.length === 0;
    byId("opponents").replaceChildren(make("legend", {}, "Opponents, in turn order after you"), ...fields);
  }

  /** The agents that can play a game: policies are made for one. */
  #agents(game) {
    const fits = (name) => !name.startsWith("policy:") || game.policies.some((policy) => name.startsWith(policy));
    return this.#offer.agents.filter(fits);
  }

  #usual() {
    return this.#offer.defaults.against[0] ?? this.#offer.agents[0];
  }

  // --- requests -------------------------------------------------------------------------------------------

  #fresh() {
    const game = this.#game();
    const request = {
      game: game.name,
      players: chosen(byId("players")),
      seat: chosen(byId("seat")),
      against: [...byId("opponents").querySelectorAll(".agent")].map(agentOf),
      options: Object.fromEntries(game.options.map(({ name }) => [name, chosen(byId(`option-${name}`))])),
    };
    const seed = byId("seed").value.trim();
    const deal = byId("deal").value.trim();
    if (seed) request.seed = wholeNumber(seed);
    if (deal) request.setup = parsed(deal, "The set-up");
    return post("/api/tables", request);
  }

  async #stored() {
    const [file] = byId("file").files;
    const name = chosen(byId("records"));
    if (!file && name === null) throw new Error("No game was chosen; choose a saved game or a file.");
    const seat = chosen(byId("stored-seat"));
    const record = file ? parsed(await file.text(), `The file ${file.name}`) : null;
    const players = file ? record?.players : this.#players.get(name);
    // Whoever is named takes all the other seats.
    const against = players === 1 ? [] : [chosen(byId("stored-against"))];
    if (file) return post("/api/tables", { record, seat, against });
    return post("/api/records/load", { file: name, seat, against });
  }

  async #lists(view) {
    const [{ records }, { tables }] = await Promise.all([get("/api/records"), get("/api/tables")]);
    this.#players = new Map(records.map(({ file, players }) => [file, players]));
    const entries = records.map(({ file, decisions, over }) => {
      return [file, `${file}: ${decisions} decisions${over ? ", over" : ""}`];
    });
    fill(byId("records"), [[null, entries.length ? "choose one" : "none yet"], ...entries], null);
    const others = tables.filter(({ id }) => id !== view?.id);
    byId("open-tables").hidden = others.length === 0;
    byId("tables").replaceChildren(...others.map((table) => this.#tableItem(table)));
  }

  #tableItem({ id, title, against, turn, over }) {
    const text = `${title}, ${against.join(" – ")}, turn ${turn + (over ? 0 : 1)}${over ? ", over" : ""}`;
    return make("li", {}, make("a", { href: `#${id}`, onclick: () => this.#dialog.close() }, text));
  }
}

/** What it takes to play a table's game once more; opponents are named in turn order after the person. */
export function settingOf({ game, players, seat, against, options }) {
  return { game, players, seat, against: [...against.slice(seat + 1), ...against.slice(0, seat)], options };
}

const seatEntries = (count) => Array.from({ length: count }, (_, seat) => [seat, `seat ${seat}`]);

function optionField({ name, choices, default: usual, text }, value) {
  const select = make("select", { id: `option-${name}`, "aria-describedby": `about-${name}` });
  const words = (choice) => (choice === true ? "yes" : choice === false ? "no" : String(choice));
  fill(select, choices.map((choice) => [choice, words(choice)]), value ?? usual);
  const about = make("small", { id: `about-${name}` }, text);
  return make("div", { class: "option" }, make("label", {}, name.replaceAll("_", " "), " ", select), about);
}

function agentField(label, agents, value) {
  const select = make("select");
  const listed = agents.includes(value);
  fill(select, [...agents.map((name) => [name, name]), [OTHER, "another …"]], listed ? value : OTHER);
  const free = make("input", {
    "aria-label": `${label}: its name or a policy file`,
    placeholder: "search:400, or the path of an .onnx file",
    autocomplete: "off",
    spellcheck: "false",
    hidden: listed,
  });
  free.value = listed ? "" : value;
  select.addEventListener("change", () => {
    free.hidden = chosen(select) !== OTHER;
    if (!free.hidden) free.focus();
  });
  return make("div", { class: "agent" }, make("label", {}, label, " ", select), free);
}

const agentOf = (field) => chosen(field.querySelector("select")) || field.querySelector("input").value.trim();

function wholeNumber(text) {
  const number = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(number)) {
    throw new Error(`The seed was ${text}; give a whole number from 0 to ${Number.MAX_SAFE_INTEGER}.`);
  }
  return number;
}

function parsed(text, what) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} is not JSON (${error.message}).`);
  }
}
