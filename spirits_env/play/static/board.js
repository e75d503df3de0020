/** The drawing: its legal places as buttons, and its size. */

import { byId } from "./dom.js";

const SIZES = [1, 1.5, 2, 3, 4];
// Narrower than this, the places of a drawing are too small for a finger.
const READABLE = 640;

export class Board {
  #place;
  #pick;
  #size = 0;

  /**
   * @param {HTMLElement} place where the drawing goes
   * @param {(action: number) => void} pick called with the choice whose place was clicked
   */
  constructor(place, pick) {
    this.#place = place;
    this.#pick = pick;
    place.addEventListener("click", (event) => this.#chosen(event));
    place.addEventListener("keydown", (event) => {
      if ((event.key === "Enter" || event.key === " ") && !event.repeat) this.#chosen(event);
    });
    byId("smaller").addEventListener("click", () => this.#resize(this.#size - 1));
    byId("larger").addEventListener("click", () => this.#resize(this.#size + 1));
    this.#resize(SIZES.findIndex((size) => size * place.clientWidth >= READABLE));
  }

  /** Show a drawing, nothing of it lit. */
  draw(svg) {
    const parsed = new DOMParser().parseFromString(svg, "image/svg+xml");
    const drawing = document.importNode(parsed.documentElement, true);
    drawing.removeAttribute("width");
    drawing.removeAttribute("height");
    drawing.setAttribute("role", "group");
    drawing.setAttribute("aria-label", "The board as drawn");
    this.#place.replaceChildren(drawing);
    this.#place.classList.add("shut");
  }

  /** Make buttons of the places of these choices. */
  light(choices) {
    this.#place.classList.remove("shut");
    for (const { action, sentence } of choices) {
      for (const element of this.#place.querySelectorAll(`[data-legal="${action}"]`)) {
        element.classList.add("lit");
        element.setAttribute("role", "button");
        element.setAttribute("tabindex", "0");
        element.setAttribute("aria-label", sentence);
      }
    }
  }

  /** Take the light from all places. */
  dim() {
    this.#place.classList.add("shut");
    for (const element of this.#place.querySelectorAll(".lit")) {
      element.classList.remove("lit", "twin", "hinted");
      for (const name of ["role", "tabindex", "aria-label"]) element.removeAttribute(name);
    }
  }

  #chosen(event) {
    const element = event.target.closest(".lit");
    if (!element) return;
    event.preventDefault();
    this.#pick(Number(element.dataset.legal));
  }

  #resize(size) {
    this.#size = Math.max(0, Math.min(size, SIZES.length - 1));
    this.#place.style.setProperty("--size", SIZES[this.#size]);
    byId("smaller").disabled = this.#size === 0;
    byId("larger").disabled = this.#size === SIZES.length - 1;
  }
}

/** What the drawing says is being decided, such as "second tile"; the phase's name if it says nothing. */
export function task(view, place) {
  const headline = place.querySelector(".headline [data-text]")?.dataset.text ?? "";
  const [, words] = headline.match(/seat \d+, (.+)$/i) ?? [];
  return words ?? view.phase.replaceAll("_", " ");
}
