// What all views share: the rows of all sessions as they change, the server, messages, theme and notifications.
import { computed, signal } from "../vendor/signals.js";
import { ApiError, follow, get, remember, remembered, right, serverTime, unreachable } from "./api.js";

/** @typedef {{name: string, scope: string, label: string, words: string, used: number, allowed: number | null, extension: number}} LimitUse */
/** @typedef {{id: string, session: string, kind: string, text: string, choices: string[]}} OpenAsk */
/**
 * @typedef {{session: string, directory: string, title: string, state: string, cost: number, asks: OpenAsk[],
 *   sequence: number, created: number, updated: number, agent: string, model: string, pinned: boolean,
 *   limit: LimitUse | null, reason: string}} Row
 */

/** @type {{value: Map<string, Row>}} */
export const rows = signal(new Map());
export const loaded = signal(false);
/** @type {{value: {version: string, directories: string[], address: string, sandbox: string} | null}} */
export const server = signal(null);
/** @type {{value: {text: string, kind: string, id: number}[]}} */
export const messages = signal([]);
export const now = signal(serverTime());
export const theme = signal(remembered("bridle-theme") || "auto");
/** The dialog that is open. @type {{value: any}} */
export const dialog = signal(null);
export const isReadOnly = computed(() => right.value === "view");
export const waiting = computed(() => [...rows.value.values()].filter((row) => row.state === "paused"));

setInterval(() => (now.value = serverTime()), 1000);

let lastMessage = 0;

/** Show a message for a while. @param {string} text @param {string} [kind] */
export function tell(text, kind = "info") {
  const id = (lastMessage += 1);
  messages.value = [...messages.value, { text, kind, id }].slice(-4);
  setTimeout(() => (messages.value = messages.value.filter((each) => each.id !== id)), 6000);
}

/** Do something that a person asked for, and tell them if it fails. @param {() => Promise<any>} work */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    tell(error.message, "bad");
    return null;
  }
}

/** @param {string} chosen */
export function setTheme(chosen) {
  theme.value = chosen;
  remember("bridle-theme", chosen === "auto" ? "" : chosen);
  if (chosen === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = chosen;
}

export async function readServer() {
  const told = await get("/server");
  server.value = told;
  right.value = told.right;
}

/** Keep the rows current until the page closes or logs out. @param {AbortSignal} abort */
export async function keepRows(abort) {
  for (let tries = 0; !abort.aborted; tries += 1) {
    try {
      for await (const { kind, data } of follow("/events", abort)) {
        tries = 0;
        take(kind, data);
      }
    } catch (error) {
      if (abort.aborted || !(error instanceof ApiError)) return;
      if (error.status === 401) return;
      unreachable.value = error.message;
    }
    await new Promise((wake) => setTimeout(wake, Math.min(5000, 300 * 2 ** Math.min(tries, 4))));
  }
}

/** @param {string} kind @param {any} data */
function take(kind, data) {
  const known = rows.value;
  if (kind === "snapshot") {
    rows.value = new Map(data.sessions.map((/** @type {Row} */ row) => [row.session, row]));
    loaded.value = true;
    return;
  }
  const next = new Map(known);
  if (kind === "gone") next.delete(data.session);
  else if (kind === "row") {
    notify(known.get(data.session), data);
    next.set(data.session, data);
  }
  rows.value = next;
}

export const notifies = signal(remembered("bridle-notify") === "yes");

/** Ask the browser for notifications, or stop them. */
export async function toggleNotifications() {
  const wanted = !notifies.value;
  if (wanted && (!("Notification" in globalThis) || (await Notification.requestPermission()) !== "granted")) {
    tell("The browser does not allow notifications from this page.", "bad");
    return;
  }
  notifies.value = wanted;
  remember("bridle-notify", wanted ? "yes" : "");
  tell(wanted ? "You are told when a session waits or ends." : "Notifications are off.");
}

/** @param {Row | undefined} before @param {Row} row */
function notify(before, row) {
  if (!before || before.state === row.state) return;
  const ended = row.state === "idle" && before.state !== "idle";
  if (row.state !== "paused" && !ended) return;
  const text = ended ? "has ended" : "waits for you";
  if (notifies.value && document.hidden && "Notification" in globalThis) {
    const shown = new Notification(row.title || "Session", { body: text, tag: row.session });
    shown.onclick = () => {
      window.focus();
      location.hash = `#/s/${encodeURIComponent(row.session)}`;
    };
  }
}
