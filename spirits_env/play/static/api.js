/** Requests to the server, and what can become of them. */

const LONGEST = 40_000;

/** The server has answered, and said no. */
export class Refused extends Error {
  /**
   * @param {number} status the HTTP status
   * @param {{error?: string, view?: object}} body what it answered
   */
  constructor(status, body) {
    super(body.error || `The server refused with status ${status}.`);
    this.status = status;
    this.view = body.view ?? null;
  }
}

/** No answer came: whether the request arrived is not known. */
export class Lost extends Error {}

async function answer(path, settings) {
  try {
    const response = await fetch(path, settings);
    return [response, await response.json()];
  } catch (error) {
    throw new Lost(String(error));
  }
}

async function request(path, settings, signal) {
  const limit = AbortSignal.timeout(LONGEST);
  const either = signal ? AbortSignal.any([limit, signal]) : limit;
  const [response, body] = await answer(path, { ...settings, signal: either, cache: "no-store" });
  if (!response.ok) throw new Refused(response.status, body);
  return body;
}

/** Ask for something. */
export const get = (path, signal) => request(path, {}, signal);

/** Ask for a change. */
export function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: JSON.stringify(body) });
}
