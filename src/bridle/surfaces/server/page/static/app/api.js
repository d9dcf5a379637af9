// Requests to the server's native API: JSON answers, event streams, downloads and the login of this page.
import { signal } from "../vendor/signals.js";
import { safeJson } from "./safe_text.js";

const KEY = "bridle-page";

/** The header that counts together with the cookie; empty without a login. */
export const pageKey = signal(read(KEY));
/** Whether this page may change anything; null until the server has told. @type {{value: string}} */
export const right = signal("");
/** Why the server cannot be reached; empty while it answers. */
export const unreachable = signal("");

/** How many seconds the server's clock is ahead of the browser's. */
let ahead = 0;

/** The time on the server, which dates everything that is shown. */
export const serverTime = () => Date.now() / 1000 + ahead;

/** @param {string | null} date the header of an answer, in whole seconds */
function setClock(date) {
  const difference = date ? Date.parse(date) / 1000 - Date.now() / 1000 : 0;
  // Proxies may add a second date, which then is none.
  ahead = Math.abs(difference) >= 2 ? difference : 0;
}

/** An answer that is an error. */
export class ApiError extends Error {
  /** @param {number} status @param {string} text @param {any} body */
  constructor(status, text, body) {
    super(text);
    this.status = status;
    this.body = body;
  }
}

/** @param {string} key */
function read(key) {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Remember a value of this browser; a browser that stores nothing still works. @param {string} key @param {string} value */
export function remember(key, value) {
  try {
    if (value) localStorage.setItem(key, value);
    else localStorage.removeItem(key);
  } catch {
    // Storage may be full or forbidden by the browser.
  }
}

/** @param {string} key */
export function remembered(key) {
  return read(key);
}

/** Exchange the code of a link for a login; throws `ApiError`. @param {string} code */
export async function logIn(code) {
  const answer = await request("POST", "/logins/exchange", { code });
  remember(KEY, answer.header);
  pageKey.value = answer.header;
}

export function logOut() {
  remember(KEY, "");
  pageKey.value = "";
}

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [abort] */
export async function request(method, path, body, abort) {
  const answer = await sent(method, path, body, abort);
  const text = await whole(answer.text(), abort);
  return text ? safeJson(text) : null;
}

/**
 * Wait for a whole body; throws `ApiError` if the connection ends before it does.
 * @template T @param {Promise<T>} body @param {AbortSignal} [abort]
 */
async function whole(body, abort) {
  try {
    return await body;
  } catch (error) {
    if (abort?.aborted) throw error;
    throw new ApiError(0, "The connection was lost.", error);
  }
}

/** @param {string} path @param {AbortSignal} [abort] */
export const get = (path, abort) => request("GET", path, undefined, abort);
/** @param {string} path @param {any} [body] */
export const post = (path, body = {}) => request("POST", path, body);
/** @param {string} session @param {string} [rest] */
export const of = (session, rest = "") => `/sessions/${encodeURIComponent(session)}${rest}`;

/** @param {string} method @param {string} path @param {any} [body] @param {AbortSignal} [abort] */
async function sent(method, path, body, abort) {
  /** @type {Record<string, string>} */
  const headers = pageKey.value ? { "X-Bridle-Page": pageKey.value } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    const given = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(`bridle${path}`, { method, headers, body: given, signal: abort, cache: "no-store" });
  } catch (error) {
    if (abort?.aborted) throw error;
    unreachable.value = "The server does not answer.";
    throw new ApiError(0, "The server does not answer.", null);
  }
  unreachable.value = "";
  setClock(answer.headers.get("date"));
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({ error: `The server answers ${answer.status}.` }));
  const safeTold = safeJson(JSON.stringify(told));
  if (answer.status === 401) logOut();
  throw new ApiError(answer.status, safeTold.error, safeTold);
}

/**
 * Follow a stream of server-sent events; ends when the server ends it, throws `ApiError` when it cannot begin.
 * @param {string} path @param {AbortSignal} abort
 * @returns {AsyncGenerator<{id: number | null, kind: string, data: any}>}
 */
export async function* follow(path, abort) {
  const answer = await sent("GET", path, undefined, abort);
  const decoder = /** @type {any} */ (new TextDecoderStream());
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).pipeThrough(decoder).getReader();
  let rest = "";
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      rest += value;
      const pieces = rest.split("\n\n");
      rest = pieces.pop() ?? "";
      for (const piece of pieces) {
        const event = parsed(piece);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (!abort.aborted) throw new ApiError(0, "The connection was lost.", error);
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** @param {string} piece */
function parsed(piece) {
  /** @type {number | null} */
  let id = null;
  let kind = "", data = "";
  for (const line of piece.split("\n")) {
    if (line.startsWith("id: ")) id = Number(line.slice(4));
    else if (line.startsWith("event: ")) kind = line.slice(7);
    else if (line.startsWith("data: ")) data = line.slice(6);
  }
  return kind ? { id, kind, data: safeJson(data) } : null;
}

/** The bytes of an answer, without a type by which a browser would run them. @param {string} path */
export async function bytes(path) {
  return new Blob([await whole((await sent("GET", path)).arrayBuffer())]);
}

/** Save an answer as a file. @param {string} path @param {string} name */
export async function download(path, name) {
  const answer = await sent("GET", path);
  const url = URL.createObjectURL(await whole(answer.blob()));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
