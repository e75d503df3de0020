/** Small helpers for the document. */

/** Find an element of the page by its id. */
export const byId = (id) => document.getElementById(id);

/**
 * Make an element.
 *
 * @param {string} tag its name
 * @param {Object<string, any>} attributes attributes; null and false leave one out, functions listen (`onclick`)
 * @param {...(Node|string)} children what stands in it
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Show a text in an element, or hide the element if there is none. */
export function say(element, text) {
  element.textContent = text;
  element.hidden = !text;
}

/**
 * Fill a select.
 *
 * @param {HTMLSelectElement} select what to fill
 * @param {Array<[any, string]>} entries value and text of each; values may be anything that JSON can write
 * @param {any} chosen the value to begin with
 */
export function fill(select, entries, chosen) {
  const wanted = JSON.stringify(chosen);
  const options = entries.map(([value, text]) => {
    const written = JSON.stringify(value);
    return make("option", { value: written, selected: written === wanted }, text);
  });
  select.replaceChildren(...options);
}

/** What was remembered in this browser; null if nothing was, or if it may not remember. */
export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Remember something in this browser, if it may. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // The page works without.
  }
}

/** The value of a select that `fill` filled. */
export const chosen = (select) => JSON.parse(select.value);
