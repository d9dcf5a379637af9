// The current view, from the fragment of the address: `#/`, `#/s/SESSION`, `#/s/SESSION/e/ENTRY`, `#/new`, `#/stats`, …
import { signal } from "../vendor/signals.js";

/** @typedef {{view: string, session: string, entry: number, query: URLSearchParams}} Route */

/** @param {string} fragment @returns {Route} */
export function routeOf(fragment) {
  const [path, query = ""] = fragment.replace(/^#/, "").split("?");
  const [, view = "", session = "", , entry = ""] = path.split("/");
  const known = ["s", "new", "stats", "agents", "models", "configuration", "permissions"].includes(view);
  return {
    view: known ? view : "",
    session: view === "s" ? decoded(session) : "",
    entry: Number(entry) || 0,
    query: new URLSearchParams(query),
  };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @type {{value: Route}} */
export const route = signal(routeOf(location.hash));
addEventListener("hashchange", () => (route.value = routeOf(location.hash)));

/** @param {string} path */
export function go(path) {
  location.hash = path;
}

/** @param {string} session */
export const sessionPath = (session) => `#/s/${encodeURIComponent(session)}`;
