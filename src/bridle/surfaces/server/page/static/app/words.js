// Numbers, times and reasons in words for people.

/** @param {number} value */
export const money = (value) => (value === 0 ? "$0" : value < 0.01 ? "<$0.01" : `$${value.toFixed(2)}`);

/** @param {number} value */
export function short(value) {
  if (value >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  return value >= 1000 ? `${+(value / 1000).toPrecision(3)}k` : `${Math.round(value)}`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 0.95) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** How long ago a time was. @param {number} at @param {number} now */
export function age(at, now) {
  const seconds = Math.max(0, now - at);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return seconds < 30 * 86400 ? `${Math.floor(seconds / 86400)} d` : new Date(at * 1000).toLocaleDateString();
}

/** @param {number} number @param {string} noun */
export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** @type {Record<string, string>} */
const REASONS = {
  answered: "Answered", synthesized: "Answered", step_cap: "Step limit reached", tool_budget: "Tool budget exhausted",
  token_budget: "Token budget exhausted", cost_budget: "Cost budget exhausted", time_budget: "Time budget exhausted",
  tree_budget: "Tree budget exhausted", doom_loop: "Stopped in a loop", context_full: "Context window full",
  denied: "Denied", empty: "No answer from the model", error: "Failed", aborted: "Aborted",
};
/** @param {string} reason */
export const reasonWords = (reason) => REASONS[reason] ?? reason;

/** @type {Record<string, string>} */
const REFUSALS = {
  denied: "Denied by a rule", unasked: "No person to ask", rejected: "Rejected", hook: "Refused by a hook",
  doom_loop: "Not run: repeats itself", limit: "Not run: limit reached", tools_off: "Not run: tools are off",
  invalid: "Invalid call", aborted: "Aborted", unknown_outcome: "Outcome unknown", superseded: "Superseded",
};
/** @param {string} refusal */
export const refusalWords = (refusal) => REFUSALS[refusal] ?? refusal;

/** @type {Record<string, string>} */
const STATES = {
  idle: "Idle", busy: "Working", retry: "Retrying", paused: "Waits for you", interrupted: "Interrupted", damaged: "Damaged",
};
/** @param {string} state */
export const stateWords = (state) => STATES[state] ?? state;

/** The last part of a path. @param {string} path */
export const lastName = (path) => path.split("/").filter(Boolean).pop() ?? path;

/** A path as it reads inside its project. @param {string} path @param {string} directory */
export function within(path, directory) {
  return directory && path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : path;
}

/** The model's name without its provider. @param {string} reference */
export function modelName(reference) {
  const name = reference.startsWith("scripted:") ? `scripted: ${lastName(reference)}` : reference;
  return name.includes("/") && !name.startsWith("scripted") ? name.slice(name.indexOf("/") + 1) : name;
}
