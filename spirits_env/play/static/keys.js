/** The keyboard: single keys for commands, digits and arrows for the choices. */

import { byId } from "./dom.js";

const DIGITS_PAUSE = 800;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Whether keys belong to something else now: a field, a dialog, a combination. */
function isTaken(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  if (event.target.closest?.("input, textarea, select")) return true;
  return document.querySelector("dialog[open]") !== null;
}

export class Keys {
  #commands;
  #digits = "";
  #typed = 0;

  /** @param {Object<string, () => void>} commands what each key does */
  constructor(commands) {
    this.#commands = commands;
    document.addEventListener("keydown", (event) => this.#pressed(event));
  }

  #pressed(event) {
    if (isTaken(event) || event.defaultPrevented) return;
    // A key held down too long must not make the next choice as well.
    if (event.repeat && event.key === "Enter") return event.preventDefault();
    const command = this.#commands[event.key];
    let used = true;
    if (command) command();
    else if (/^\d$/.test(event.key)) this.#number(event);
    else if (event.key in ARROWS) used = move(event.key);
    else used = false;
    if (used) event.preventDefault();
  }

  /** Go to the choice of that number; a second digit soon after makes a longer number. */
  #number({ key, timeStamp }) {
    const buttons = byId("choices").querySelectorAll("button:enabled");
    const longer = timeStamp - this.#typed < DIGITS_PAUSE ? this.#digits + key : key;
    this.#digits = buttons[Number(longer) - 1] ? longer : key;
    this.#typed = timeStamp;
    buttons[Number(this.#digits) - 1]?.focus();
  }
}

/** Go to the next choice in a direction; tell whether the key was of use. */
function move(key) {
  const here = document.activeElement;
  const place = here.closest(".lit");
  if (place) return moveOnBoard(place, ARROWS[key]);
  const buttons = [...byId("choices").querySelectorAll("button:enabled")];
  const index = buttons.indexOf(here);
  // From elsewhere, up and down are left to scroll the page.
  if (index < 0 && (here !== document.body || ARROWS[key][1])) return false;
  const step = ARROWS[key][0] + ARROWS[key][1];
  const next = index < 0 ? 0 : (index + step + buttons.length) % buttons.length;
  buttons[next]?.focus();
  return buttons.length > 0;
}

function middle(element) {
  const box = element.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

/** Go to the nearest lit place that lies rather in the direction than beside it. */
function moveOnBoard(place, [right, down]) {
  const [x, y] = middle(place);
  let nearest = null;
  let least = Infinity;
  for (const other of byId("board").querySelectorAll(".lit")) {
    const [otherX, otherY] = middle(other);
    const along = (otherX - x) * right + (otherY - y) * down;
    const aside = Math.abs((otherX - x) * down) + Math.abs((otherY - y) * right);
    const cost = along + 2 * aside;
    if (along > 1 && cost < least) [nearest, least] = [other, cost];
  }
  nearest?.focus();
  return true;
}
