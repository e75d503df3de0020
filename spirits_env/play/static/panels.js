/** What stands around the board: seats, status, choices, advice, log and result. */

import { byId, make, say } from "./dom.js";

const RECENT = 8;
const ADVISED = 5;
const AHEAD = [
  [0.6, "you are well ahead"],
  [0.2, "you are somewhat ahead"],
  [-0.2, "the game is about even"],
  [-0.6, "you are somewhat behind"],
  [-Infinity, "you are well behind"],
];

const SVG = "http://www.w3.org/2000/svg";

/** Draw a seat's gem, as on the board. */
function gem(seat) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "-13 -15 26 30");
  picture.setAttribute("class", `gem seat-${seat}`);
  picture.setAttribute("aria-hidden", "true");
  const diamond = document.createElementNS(SVG, "path");
  diamond.setAttribute("d", "M0 -13L11 0L0 13L-11 0Z");
  const number = document.createElementNS(SVG, "text");
  number.setAttribute("y", "4.2");
  number.textContent = seat;
  picture.append(diamond, number);
  return picture;
}

/** Name who sits in a seat: "you", or the agent with its seat. */
const nameOf = (view, seat) => (seat === view.seat ? "you" : `${view.against[seat]} (seat ${seat})`);

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const list = (names) => names.join(" and ");
const signed = (value) => (value > 0 ? "+" : value < 0 ? "−" : "") + Math.abs(value).toFixed(2);
const whole = (value) => String(value).replace("-", "−");

// --- seats, status, log -----------------------------------------------------------------------------------

/** Show who sits where, and whose decision it is. */
export function showSeats(view) {
  const seats = view.against.map((name, seat) => {
    const acts = seat === view.actor;
    const words = make("span", {}, `${seat === view.seat ? "you" : name}`);
    const label = make("span", { class: "unseen" }, `Seat ${seat}${acts ? ", to decide" : ""}: `);
    return make("li", { class: acts ? "acts" : null }, gem(seat), label, words);
  });
  byId("seats").replaceChildren(...seats);
}

function whose(view, words) {
  if (view.over) return "The game is over.";
  if (view.yours) return `Your decision: ${words}`;
  const verb = view.thinking ? "is thinking" : "is to decide";
  return `${nameOf(view, view.actor)} ${verb}: ${words}`;
}

/** Show whose decision it is, and the last decisions of the agents. */
export function showStatus(view, words) {
  byId("whose").textContent = whose(view, words);
  showRecent(view, view.log.length);
}

/** Show a coming view's log up to a decision of an agent, and that it is the agent's to take. */
export function showTold(view, plies) {
  const { seat } = view.log[plies];
  byId("whose").textContent = `${nameOf(view, seat)} decides.`;
  showSeats({ ...view, actor: seat });
  showRecent(view, plies);
  showLog(view, plies);
}

/** Show what the agents last decided between two decisions of the person, up to a ply of the log. */
function showRecent(view, plies) {
  const end = view.log.findLastIndex((entry, index) => index < plies && entry.seat !== view.seat) + 1;
  const start = view.log.findLastIndex((entry, index) => index < end && entry.seat === view.seat) + 1;
  const recent = view.log.slice(start, end).slice(-RECENT);
  byId("recent").replaceChildren(...recent.map((entry) => decision(view, entry)));
  byId("recent").hidden = view.players === 1;
  byId("recent").scrollTop = byId("recent").scrollHeight;
}

function decision(view, entry) {
  const who = make("b", {}, entry.seat === view.seat ? "You" : view.against[entry.seat]);
  const label = make("span", { class: "unseen" }, ` (seat ${entry.seat})`);
  return make("li", {}, gem(entry.seat), make("span", {}, who, label, `: ${entry.sentence}`));
}

/** Show the log up to a ply, its end in sight; entries that stand there already are kept. */
export function showLog(view, plies) {
  const log = byId("log");
  const entries = view.log.slice(0, plies);
  const key = (entry) => `${view.id} ${entry.ply} ${entry.seat} ${entry.sentence}`;
  let kept = 0;
  while (kept < entries.length && log.children[kept]?.dataset.key === key(entries[kept])) kept += 1;
  while (log.children.length > kept) log.lastElementChild.remove();
  for (const entry of entries.slice(kept)) {
    const item = decision(view, entry);
    item.dataset.key = key(entry);
    log.append(item);
  }
  log.scrollTop = log.scrollHeight;
}

// --- choices and advice -----------------------------------------------------------------------------------

/** Show the choices as buttons. */
export function showChoices(view, pick) {
  const items = view.choices.map(({ action, sentence }, index) => {
    const number = make("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
    const words = make("span", { class: "words" }, sentence);
    const share = make("span", { class: "share", hidden: true });
    const press = make("button", { type: "button", "data-action": action, onclick: () => pick(action) });
    press.append(number, words, share);
    return make("li", {}, press);
  });
  byId("choices").replaceChildren(...items);
  say(byId("no-choices"), items.length ? "" : waiting(view));
}

/** Take the choices away, while a decision is on its way or views wait to be shown. */
export function hideChoices(text) {
  for (const press of byId("choices").querySelectorAll("button")) press.disabled = true;
  say(byId("no-choices"), text);
}

function waiting(view) {
  return view.over ? "The game is over." : `Waiting for ${nameOf(view, view.actor)}.`;
}

function standing(view, value) {
  // A lone loss among n players costs 1 / (n - 1).
  const even = value < 0 ? value * Math.max(1, view.players - 1) : value;
  return AHEAD.find(([least]) => even >= least)[1];
}

/** Show a policy's advice beside the choices, and on them. */
export function showAdvice(view, advice) {
  const sentences = new Map(view.choices.map(({ action, sentence }) => [action, sentence]));
  const ranked = advice.actions.filter(({ action }) => sentences.has(action));
  ranked.sort((one, other) => other.probability - one.probability);
  for (const { action, probability } of ranked) markShare(action, probability);
  const rows = ranked.slice(0, ADVISED).map(({ action, probability }) => {
    return make("li", { "data-point": action }, bar(probability), make("span", {}, sentences.get(action)));
  });
  const value = `Expected return ${signed(advice.value)} (a sure win is +1): ${standing(view, advice.value)}.`;
  const more = ranked.length > ADVISED ? [make("p", { class: "quiet" }, "Less likely ones are marked below.")] : [];
  const heading = make("h3", {}, `Advice of ${advice.policy}`);
  byId("advised").replaceChildren(heading, make("p", {}, value), make("ol", {}, ...rows), ...more);
  byId("advised").hidden = false;
}

const percent = (probability) => (probability < 0.005 ? "<1 %" : `${Math.round(100 * probability)} %`);

function bar(probability) {
  const filled = make("span", { class: "filled" });
  filled.style.width = `${100 * probability}%`;
  const words = make("span", { class: "percent" }, percent(probability));
  return make("span", { class: "measure" }, make("span", { class: "bar", "aria-hidden": "true" }, filled), words);
}

function markShare(action, probability) {
  const share = byId("choices").querySelector(`[data-action="${action}"] .share`);
  share.textContent = percent(probability);
  share.style.setProperty("--share", probability);
  share.hidden = false;
}

/** Say something beside the choices, in sight. */
export function announce(text) {
  const message = byId("message");
  message.classList.remove("of-hint");
  say(message, text);
  if (text) message.scrollIntoView({ block: "nearest" });
}

/** Say an agent's hint, and mark what stands for it. */
export function showHint(hint, elements) {
  clearHelp();
  announce(`Hint of ${hint.agent}: ${hint.sentence}`);
  byId("message").classList.add("of-hint");
  for (const element of elements) element.classList.add("hinted");
  byId("choices").querySelector(".hinted")?.scrollIntoView({ block: "nearest" });
}

/** Take away hint and advice. */
export function clearHelp() {
  if (byId("message").classList.contains("of-hint")) announce("");
  byId("advised").hidden = true;
  for (const element of document.querySelectorAll(".hinted")) element.classList.remove("hinted");
}

// --- the end ----------------------------------------------------------------------------------------------

function verdict(view) {
  const others = view.winners.filter((seat) => seat !== view.seat).map((seat) => nameOf(view, seat));
  if (!view.winners.includes(view.seat)) {
    const winners = others.length > 1 ? `${list(others)} share the win.` : `${others[0]} wins.`;
    return others.length ? winners : "You lose.";
  }
  return others.length ? `You share the win with ${list(others)}.` : "You win.";
}

const tidy = (category) => category.replaceAll("_", " ");

/** A reason without the category that it starts with, which stands above it. */
function reason({ category, text }) {
  const start = `${tidy(category)}: `;
  return capital(text.startsWith(start) ? text.slice(start.length) : text);
}

/** Show who won, and the scores with their reasons. */
export function showResult(view) {
  byId("result").hidden = !view.over;
  if (!view.over) return;
  byId("result-heading").textContent = verdict(view);
  const totals = view.scores.map((points, seat) => `${nameOf(view, seat)} ${whole(points)}`);
  say(byId("result-text"), `Points: ${totals.join(", ")}.`);
  byId("scores").replaceChildren(scoreTable(view));
  say(byId("result-seed"), view.seed === null ? "" : `The seed of this game was ${view.seed}.`);
}

function scoreTable(view) {
  const heads = view.scores.map((_, seat) => {
    const wins = view.winners.includes(seat);
    const name = seat === view.seat ? "you" : view.against[seat];
    return make("th", { scope: "col", class: wins ? "wins" : null }, gem(seat), make("span", {}, name));
  });
  const table = make("table", {}, make("caption", { class: "unseen" }, "Points of each seat"));
  table.append(make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Scored for"), ...heads)));
  table.append(make("tbody", {}, ...view.explained.map(scoreRow)));
  table.append(make("tfoot", {}, totalRow(view)));
  return table;
}

function scoreRow(score) {
  const { category, points } = score;
  const most = Math.max(...points);
  const cells = points.map((value) => {
    const kind = value < 0 ? "lost" : value > 0 && value === most ? "best" : null;
    return make("td", { class: kind }, make("span", {}, whole(value)));
  });
  const head = make("th", { scope: "row" }, capital(tidy(category)), make("small", {}, reason(score)));
  return make("tr", {}, head, ...cells);
}

function totalRow(view) {
  const cells = view.scores.map((points, seat) => {
    const wins = view.winners.includes(seat);
    const mark = wins ? [make("small", {}, "wins")] : [];
    return make("td", { class: wins ? "wins" : null }, make("span", {}, whole(points)), ...mark);
  });
  return make("tr", {}, make("th", { scope: "row" }, "Total"), ...cells);
}
