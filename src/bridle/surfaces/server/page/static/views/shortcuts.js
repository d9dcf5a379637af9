// Keys for everything: what each does, and the list of them.
import { html } from "../app/html.js";
import { go, route, sessionPath } from "../app/route.js";
import { isReadOnly, rows, setTheme, theme } from "../app/store.js";
import { open } from "./dialogs.js";
import { fitting } from "./overview.js";
import { current } from "./session.js";

/** @type {[string, string][]} */
const KEYS = [
  ["?", "Show this list"], ["o", "All sessions"], ["n", "New session"], ["j / k", "Next / previous session"], ["/", "Search, or write a prompt"],
  ["a", "Go to what waits for you"], ["d", "Details of the session"], ["e", "Newest part of the transcript"], ["c", "Changes of the session"],
  [".", "Stop the running turn"], ["z / y", "Undo / redo the last turn"], ["t", "Light, dark or the system's colors"],
  ["Enter", "Send"], ["Shift Enter", "New line"], ["Alt Enter", "Queue behind the running turn"], ["Esc", "Leave a field or a dialog"],
];

export function showKeys() {
  open("Keyboard shortcuts", html`<dl class="keys">${KEYS.map(([key, words]) => html`<div><dt>${key.split(" / ").map((each) => html`<kbd>${each}</kbd>`)}</dt><dd>${words}</dd></div>`)}</dl>`);
}

export function nextTheme() {
  const order = ["auto", "light", "dark"];
  setTheme(order[(order.indexOf(theme.value) + 1) % 3]);
}

/** @param {number} by */
function step(by) {
  const list = fitting([...rows.value.values()], "", "all");
  const at = list.findIndex((row) => row.session === route.value.session);
  const next = list[at < 0 ? 0 : at + by];
  if (next) go(sessionPath(next.session));
}

function toField() {
  const field = document.getElementById("prompt") ?? document.getElementById("search");
  /** @type {any} */ (field)?.focus();
}

function toAsk() {
  const button = /** @type {any} */ (document.querySelector(".ask button"));
  if (button) {
    button.scrollIntoView({ block: "center" });
    button.focus();
    return;
  }
  const row = [...rows.value.values()].find((each) => each.state === "paused");
  if (row) go(sessionPath(row.session));
}

/** @type {Record<string, () => void>} */
const ACTS = { "?": showKeys, o: () => go("#/"), n: () => go("#/new"), j: () => step(1), k: () => step(-1), "/": toField, a: toAsk, t: nextTheme };
/** @type {Record<string, string>} */
const OF_SESSION = { d: "details", e: "toEnd", c: "changes" };
/** @type {Record<string, string>} */
const OF_DRIVER = { ".": "abort", z: "undo", y: "redo" };

addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && target.matches?.("input, textarea, select")) return target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, textarea, select, dialog")) return;
  const actions = route.value.view === "s" ? current.value : null;
  const name = OF_SESSION[event.key] ?? (isReadOnly.value ? "" : OF_DRIVER[event.key]);
  if (ACTS[event.key]) ACTS[event.key]();
  else if (name && actions?.[name]) actions[name](...(event.key === "c" ? [0] : []));
  else return;
  event.preventDefault();
});
