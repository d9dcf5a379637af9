// `SessionModel`: the rows of a transcript, built from public events alone; it fetches and draws nothing.
import { batch, signal } from "../vendor/signals.js";
import { characters, firstCharacters } from "./safe_text.js";
import { UndoneTurns } from "./undone.js";

/**
 * A row of the transcript. `rev` counts its changes.
 * @typedef {{key: string, kind: string, after: number, turn: number, at: number, rev: {value: number}, [field: string]: any}} Item
 */

const MOST_OUTPUT = 40_000;

export class SessionModel {
  /** @param {string} id @param {() => number} clock */
  constructor(id, clock) {
    this.id = id;
    this.clock = clock;
    /** @type {Item[]} */
    this.items = [];
    /** @type {Map<string, Item>} */
    this.byKey = new Map();
    /** The list of items changed. */
    this.changed = signal(0);
    /** The number of the last entry that is known. */
    this.sequence = 0;
    this.turn = 0;
    this.title = signal("");
    /** @type {{value: any}} */
    this.status = signal({ state: "idle" });
    /** @type {{value: any[]}} */
    this.todos = signal([]);
    /** Open asks by id. @type {{value: Map<string, any>}} */
    this.asks = signal(new Map());
    this.undone = new UndoneTurns();
    /** @type {Set<Item>} */
    this._dirty = new Set();
    this._added = false;
    this._told = 0;
    this._stepKey = "";
  }

  /** Apply the events of one entry of the past. @param {any} entry */
  takeEntry(entry) {
    this.turn = entry.turn || this.turn;
    for (const event of entry.events) this.take(event, entry.at);
    this.sequence = Math.max(this.sequence, entry.sequence);
    this._told = 0;
  }

  /** Apply one event. @param {any} event @param {number} [at] */
  take(event, at = this.clock()) {
    const act = /** @type {any} */ (this)[`on_${event.type}`];
    if (act) act.call(this, event, at);
  }

  /** An entry is complete: the next events belong to a later one. @param {number} sequence */
  seen(sequence) {
    this.sequence = Math.max(this.sequence, sequence);
    this._told = 0;
  }

  /** Show what changed since the last call. */
  flush() {
    if (!this._dirty.size && !this._added) return;
    const dirty = this._dirty;
    this._dirty = new Set();
    batch(() => {
      for (const item of dirty) item.rev.value += 1;
      if (this._added) this.changed.value += 1;
      this._added = false;
    });
  }

  /** The items that are not undone. */
  shown() {
    return this.undone.ranges.length ? this.items.filter((item) => !this.undone.hides(item)) : this.items;
  }

  /** Put the items of an older page before these. @param {SessionModel} older */
  prepend(older) {
    const known = this.byKey;
    const fresh = older.items.filter((item) => !known.has(item.key));
    for (const item of fresh) known.set(item.key, item);
    this.items = [...fresh, ...this.items];
    this.undone.prepend(older.undone);
    this.changed.value += 1;
  }

  /** Forget the oldest items, which can be fetched again; returns the entry before which they are. @param {number} keep */
  forget(keep) {
    const gone = this.items.slice(0, this.items.length - keep);
    for (const item of gone) this.byKey.delete(item.key);
    this.items = this.items.slice(-keep);
    this.changed.value += 1;
    return this.items[0].after + 1;
  }

  /** @param {string} key @param {string} kind @param {number} at @param {Record<string, any>} fields */
  _put(key, kind, at, fields) {
    const known = this.byKey.get(key);
    if (known) {
      Object.assign(known, fields);
      this._dirty.add(known);
      return known;
    }
    const item = { key, kind, at, after: this.sequence, turn: this.turn, rev: signal(0), ...fields };
    this.byKey.set(key, item);
    this.items.push(item);
    this._added = true;
    return item;
  }

  /** A key for events that have no id: their place in the record. @param {string} kind */
  _place(kind) {
    return `${kind}-${this.sequence}-${(this._told += 1)}`;
  }

  /** @param {any} event */
  on_status(event) {
    const { type, session, sequence, ...status } = event;
    this.status.value = { ...status, since: this.clock() };
  }

  /** @param {any} event @param {number} at */
  on_turn_start(event, at) {
    this.turn = event.number;
    this._put(`turn-${event.number}`, "turn", at, { number: event.number, agent: event.agent, model: event.model });
  }

  /** @param {any} event @param {number} at */
  on_turn_finish(event, at) {
    const { number, reason, detail, spent } = event;
    this._put(`end-${number}`, "end", at, { number, reason, detail, spent });
  }

  /** @param {any} event @param {number} at */
  on_prompt(event, at) {
    this._put(event.id, "prompt", at, { id: event.id, text: event.text, files: event.files, taken: event.turn });
  }

  /** @param {any} event @param {number} at */
  on_step_start(event, at) {
    this._stepKey = `step-${this.turn}-${event.number}`;
    const { number, cap, closing } = event;
    this._put(this._stepKey, "step", at, { number, cap, closing, began: at });
  }

  /** @param {any} event @param {number} at */
  on_step_finish(event, at) {
    const { number, calls, usage, cost, finish } = event;
    const step = this.byKey.get(`step-${this.turn}-${number}`);
    this.byKey.get("retry")?.key && this._remove("retry");
    if (step) this._put(step.key, "step", at, { calls, usage, cost, finish, ended: at });
  }

  /** @param {any} event @param {number} at */
  on_delta(event, at) {
    if (event.kind === "output" || event.kind === "arguments") {
      const call = this.byKey.get(event.part);
      if (!call) return;
      const field = event.kind === "output" ? "live" : "raw";
      // What was said before this page looked comes with the end of the call.
      const isLate = call.isLate || (!call[field] && event.offset > 0);
      this._put(call.key, "call", at, { isLate, [field]: ((call[field] ?? "") + event.text).slice(-MOST_OUTPUT) });
      return;
    }
    const known = this.byKey.get(event.part);
    const length = known ? known.length : 0;
    // The record will repeat what lies between.
    if (event.offset > length || (known && !known.growing)) return;
    const end = event.offset + characters(event.text);
    if (known && end <= length) return;
    const kept = known ? firstCharacters(known.text, event.offset) : "";
    this._put(event.part, event.kind, at, { text: kept + event.text, length: end, growing: true });
  }

  /** @param {any} event @param {number} at */
  on_text(event, at) {
    this._put(event.part, "text", at, { text: event.text, length: characters(event.text), growing: false, by: event.by });
  }

  /** @param {any} event @param {number} at */
  on_reasoning(event, at) {
    this._put(event.part, "reasoning", at, { text: event.text, length: characters(event.text), growing: false });
  }

  /** @param {any} event @param {number} at */
  on_tool_start(event, at) {
    this._put(event.id, "call", at, { id: event.id, tool: event.tool, input: event.input, state: "running", began: at });
  }

  /** @param {any} event @param {number} at */
  on_tool_use(event, at) {
    const { id, tool, input, state, refusal, limit, output, child } = event;
    const known = this.byKey.get(id);
    if (state === "pending" && known && known.state !== "pending") return;
    const ended = state === "pending" || state === "waiting" ? undefined : at;
    // Calls of subagents do not start: they wait.
    const began = known?.began ?? (state === "waiting" ? at : undefined);
    /** @type {Record<string, any>} */
    const fields = { id, tool, state, refusal, limit, output, child: child ?? known?.child, began, ended, live: ended ? "" : known?.live };
    if (input !== null) fields.input = input;
    this._put(id, "call", at, fields);
  }

  /** @param {any} event @param {number} at */
  on_subagent(event, at) {
    const { call, child, state, background, reason, spent } = event;
    if (this.byKey.has(call)) this._put(call, "call", at, { child, childState: state, background, reason, spent });
  }

  /** @param {any} event */
  on_ask(event) {
    this.asks.value = new Map(this.asks.value).set(event.id, event);
  }

  /** @param {any} event */
  on_ask_end(event) {
    const next = new Map(this.asks.value);
    next.delete(event.id);
    this.asks.value = next;
  }

  /** @param {any} event @param {number} at */
  on_notice(event, at) {
    // The closing step says it in words for a person, and this one is for the model.
    if (event.about === "closing") return;
    this._put(this._place("notice"), "notice", at, { about: event.about, text: event.text });
  }

  /** @param {any} event @param {number} at */
  on_retry(event, at) {
    const { attempt, message, status, next, model } = event;
    this._remove("retry");
    this._put("retry", "retry", at, { attempt, message, status, next, model });
  }

  /** Tell what a call wants that waits for a person: the stream tells it once the call runs. @param {string} call @param {any} input */
  setInput(call, input) {
    const item = this.byKey.get(call);
    if (item && input !== null) this._put(call, "call", item.at, { input: item.input ?? input });
    this.flush();
  }

  /** Tell when the next try begins, in seconds after the retry was recorded. @param {number} seconds */
  setWait(seconds) {
    const retry = this.byKey.get("retry");
    if (!retry || retry.until) return;
    retry.until = retry.at + seconds;
    this._dirty.add(retry);
    this.flush();
  }

  /** @param {any} event @param {number} at */
  on_sentinel(event, at) {
    this._put(this._place("sentinel"), "sentinel", at, { reason: event.reason, text: event.text });
  }

  /** @param {any} event @param {number} at */
  on_patch(event, at) {
    this._put(this._place("patch"), "patch", at, { files: event.files, more: event.more });
  }

  /** @param {any} event */
  on_todos(event) {
    this.todos.value = event.todos;
  }

  /** @param {any} event */
  on_title(event) {
    this.title.value = event.title;
  }

  /** @param {any} event */
  on_undo(event) {
    this.undone.undo(event, this.sequence);
    this._added = true;
  }

  /** @param {any} event */
  on_redo(event) {
    this.undone.redo(event);
    this._added = true;
  }

  /** @param {any} event */
  on_removed(event) {
    for (const part of event.parts) this._remove(part);
  }

  /** @param {string} key */
  _remove(key) {
    const item = this.byKey.get(key);
    if (!item) return;
    this.byKey.delete(key);
    this.items = this.items.filter((each) => each !== item);
    this._added = true;
  }
}
