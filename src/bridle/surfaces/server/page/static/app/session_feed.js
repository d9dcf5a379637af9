// `SessionFeed`: loads a session page by page, follows it by entry number, and catches up after every break.
import { signal } from "../vendor/signals.js";
import { ApiError, follow, get, of, serverTime } from "./api.js";
import { SessionModel } from "./session_model.js";

const PAGE = 120;
const MOST_KEPT = 900;
const KEPT = 500;
const SUMMARY_PAUSE = 250;
/** Events after which the summary is read again. */
const TELLING = new Set([
  "status", "turn_start", "turn_finish", "step_finish", "tool_use", "ask", "ask_end", "notice", "sentinel", "prompt",
  "withdrawn", "subagent", "title", "undo", "redo", "retry", "step_start",
]);

export class SessionFeed {
  /** @param {string} id @param {number} entry the entry to show, 0 for the newest */
  constructor(id, entry) {
    this.id = id;
    this.model = new SessionModel(id, serverTime);
    /** @type {{value: any}} */
    this.summary = signal(null);
    this.older = signal(false);
    this.newer = signal(false);
    this.loading = signal(true);
    /** Why nothing can be shown. */
    this.problem = signal("");
    this.following = signal(false);
    this._first = 1;
    this._abort = new AbortController();
    this._frame = 0;
    this._summaryTimer = 0;
    this._entry = entry;
  }

  async start() {
    for (let tries = 0; !this._abort.signal.aborted; tries += 1) {
      try {
        if (!this.model.sequence) await this._begin();
        this.problem.value = "";
        await Promise.all([this._readSummary(), this._follow()]);
        tries = 0;
      } catch (error) {
        if (this._abort.signal.aborted) return;
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404 || error.status === 401 || error.status === 403) {
          this.problem.value = error.message;
          this.loading.value = false;
          return;
        }
      }
      this.following.value = false;
      await new Promise((wake) => setTimeout(wake, Math.min(4000, 250 * 2 ** Math.min(tries, 4))));
    }
  }

  stop() {
    this._abort.abort();
    clearTimeout(this._summaryTimer);
  }

  async _begin() {
    const query = this._entry > 1 ? `after=${Math.max(0, this._entry - 12)}` : "";
    const page = await this._page(query);
    for (const entry of page.entries) this.model.takeEntry(entry);
    for (const event of page.open) this.model.take(event);
    this._first = page.entries.length ? page.entries[0].sequence : 1;
    this.older.value = page.older;
    this.newer.value = page.newer;
    if (!page.newer) this.model.seen(page.sequence);
    this.model.flush();
    this.loading.value = false;
  }

  /** @param {string} query */
  _page(query) {
    return get(of(this.id, `/history?limit=${PAGE}${query && `&${query}`}`), this._abort.signal);
  }

  /** Fetch the page before the first item. */
  async readOlder() {
    if (!this.older.value || this._reading) return;
    this._reading = true;
    try {
      const page = await this._page(`before=${this._first}`);
      const older = new SessionModel(this.id, this.model.clock);
      for (const entry of page.entries) older.takeEntry(entry);
      this._first = page.entries.length ? page.entries[0].sequence : 1;
      this.older.value = page.older;
      this.model.prepend(older);
    } finally {
      this._reading = false;
    }
  }

  /** Fetch the page after the last item, of a session that is shown from its middle. */
  async readNewer() {
    if (!this.newer.value || this._reading) return;
    this._reading = true;
    try {
      const page = await this._page(`after=${this.model.sequence}`);
      for (const entry of page.entries) this.model.takeEntry(entry);
      for (const event of page.open) this.model.take(event);
      this.newer.value = page.newer;
      this.model.flush();
    } finally {
      this._reading = false;
    }
  }

  /** Forget old items while the newest are shown. */
  trim() {
    if (this.model.items.length <= MOST_KEPT || this._reading) return;
    this._first = this.model.forget(KEPT);
    this.older.value = true;
  }

  async _follow() {
    const path = of(this.id, `/events?after=${this.newer.value ? await this._newest() : this.model.sequence}`);
    this.following.value = true;
    for await (const { id, data } of follow(path, this._abort.signal)) {
      // Of a session that is shown from its middle, the end is not known: only what stands beside it follows.
      const isHead = data.type === "status" || data.type === "ask" || data.type === "ask_end" || data.type === "title";
      if (!this.newer.value || isHead) this.model.take(data);
      if (id !== null && !this.newer.value) this.model.seen(id);
      if (TELLING.has(data.type)) this._wantSummary();
      this._draw();
    }
  }

  async _newest() {
    return (await get(of(this.id, "/summary"), this._abort.signal)).sequence;
  }

  _draw() {
    if (this._frame) return;
    this._frame = 1;
    const done = () => {
      this._frame = 0;
      this.model.flush();
    };
    // Frames do not come while the page is hidden.
    if (document.hidden) setTimeout(done, 200);
    else requestAnimationFrame(done);
  }

  _wantSummary() {
    if (this._summaryTimer) return;
    this._summaryTimer = setTimeout(() => {
      this._summaryTimer = 0;
      // The stream tells when the server is away.
      this._readSummary().catch((error) => {
        if (!(error instanceof ApiError) && !this._abort.signal.aborted) throw error;
      });
    }, SUMMARY_PAUSE);
  }

  /** Read the summary now, after something was changed. */
  async refresh() {
    await this._readSummary();
  }

  async _readSummary() {
    const summary = await get(of(this.id, "/summary"), this._abort.signal);
    this.summary.value = summary;
    this.model.title.value = summary.title;
    this.model.todos.value = summary.todos;
    this.model.asks.value = new Map(summary.asks.map((/** @type {any} */ each) => [each.ask.id, { ...each.ask, tool: each.tool, input: each.input }]));
    for (const { ask, input } of summary.asks) this.model.setInput(ask.call, input);
    const { status } = summary;
    const active = summary.limits.find((/** @type {any} */ use) => use.name === "seconds" && use.scope === "turn");
    if (status.state === "retry" && active) this.model.setWait(Math.max(0, status.next - active.used));
    if (status.state !== this.model.status.value.state) this.model.status.value = { ...status, since: this.model.clock() };
  }
}
