// `Overview`: all sessions by project; those that wait for a person come first.
import { useEffect, useState } from "../vendor/hooks.js";
import { post } from "../app/api.js";
import { html } from "../app/html.js";
import { Pin } from "../app/icons.js";
import { sessionPath } from "../app/route.js";
import { attempt, isReadOnly, loaded, now, rows, server } from "../app/store.js";
import { age, lastName, modelName, money, reasonWords, stateWords } from "../app/words.js";
import { AskCard } from "./asks.js";
import { Gauge, share } from "./limits.js";

/** @typedef {import("../app/store.js").Row} Row */

const MOST_ROWS = 40;
const MOST_CARDS = 12;
/** @type {Record<string, string>} */
const SORTS = { newest: "Newest first", cost: "Highest cost first", limit: "Nearest limit first" };
const FILTERS = { all: "All", waits: "Waiting", works: "Working", pinned: "Pinned", archived: "Archived" };

/** @param {Row} row */
const order = (row) => (row.state === "paused" ? 0 : row.pinned ? 1 : row.state === "busy" || row.state === "retry" ? 2 : row.state === "interrupted" ? 3 : 4);

/** @param {Row[]} all @param {string} text @param {string} filter */
export function fitting(all, text, filter) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((row) => {
      const whole = `${row.title} ${row.directory} ${row.agent} ${row.model}`.toLowerCase();
      if (!words.every((word) => whole.includes(word))) return false;
      if (filter === "waits") return row.state === "paused";
      if (filter === "works") return row.state === "busy" || row.state === "retry";
      return filter !== "pinned" || row.pinned;
    })
    .sort((one, other) => order(one) - order(other) || other.updated - one.updated);
}

/** The sessions that were put aside, as rows. @param {boolean} wanted */
function useArchived(wanted) {
  const [found, setFound] = useState(/** @type {Row[]} */ ([]));
  useEffect(() => {
    if (!wanted) return;
    attempt(async () => {
      const list = await post("/sessions/query", { archived: "only", roots: true, limit: 100 });
      setFound(list.map((/** @type {any} */ each) => {
        const { info, sequence, updated } = Array.isArray(each) ? { info: each[0], sequence: each[1], updated: each[2] } : each;
        return { session: info.id, directory: info.directory, title: info.title || "Session", state: "idle", cost: 0, asks: [], sequence, created: info.created ?? 0, updated, agent: info.agent ?? "", model: info.model ?? "", pinned: false, limit: null, reason: "" };
      }));
    });
  }, [wanted]);
  return found;
}

export function Overview() {
  const [text, setText] = useState("");
  const [filter, setFilter] = useState("all");
  const [sort, setSort] = useState("newest");
  const [most, setMost] = useState(MOST_ROWS);
  const archived = useArchived(filter === "archived");
  const all = filter === "archived" ? archived : [...rows.value.values()];
  const found = fitting(all, text, filter);
  if (sort === "cost") found.sort((one, other) => other.cost - one.cost);
  if (sort === "limit") found.sort((one, other) => (other.limit ? share(other.limit) : 0) - (one.limit ? share(one.limit) : 0));
  const waits = sort === "newest" ? found.filter((row) => row.asks.length > 0) : [];
  const groups = new Map();
  for (const row of found.filter((each) => !waits.includes(each)).slice(0, most)) {
    // Sorted by another order, all projects are one list.
    const group = sort === "newest" ? row.directory : "All projects";
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(row);
  }
  const left = found.length - waits.length - most;
  return html`<main class="overview">
    <header class="page-head">
      <h1>Sessions</h1>
      ${!isReadOnly.value && html`<a class="button main" href="#/new">New session</a>`}
    </header>
    <div class="filters">
      <label class="grow"><span class="hidden">Search</span><input id="search" type="search" placeholder="Search sessions" value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} /></label>
      <div class="segments" role="group" aria-label="Filter">
        ${Object.entries(FILTERS).map(([name, words]) => html`<button aria-pressed=${filter === name} onClick=${() => setFilter(name)}>${words}</button>`)}
      </div>
      <label><span class="hidden">Order</span><select class="order" value=${sort} onChange=${(/** @type {any} */ event) => setSort(event.target.value)}>
        ${Object.entries(SORTS).map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select></label>
    </div>
    ${!loaded.value && html`<p class="dim" role="status">Loading sessions…</p>`}
    ${loaded.value && !found.length && html`<${Nothing} isFiltered=${Boolean(text) || filter !== "all"} />`}
    ${waits.length > 0 && html`<section class="project"><h2>Waiting for you <span class="dim">${waits.length}</span></h2>
      <ul class="cards">${waits.slice(0, MOST_CARDS).map((row) => html`<${Card} key=${row.session} row=${row} />`)}</ul>
      ${waits.length > MOST_CARDS && html`<ul class="list">${waits.slice(MOST_CARDS).map((row) => html`<${Line} key=${row.session} row=${row} />`)}</ul>`}
    </section>`}
    ${[...groups].map(([directory, list]) => html`<section key=${directory} class="project">
      <h2 title=${directory}>${lastName(directory)} <span class="dim">${directory.startsWith("/") && directory}</span></h2>
      <ul class="list">${list.map((/** @type {Row} */ row) => html`<${Line} key=${row.session} row=${row} />`)}</ul>
    </section>`)}
    ${left > 0 && html`<p><button onClick=${() => setMost(most + MOST_ROWS)}>Show ${Math.min(MOST_ROWS, left)} more of ${found.length}</button></p>`}
  </main>`;
}

/** @param {{isFiltered: boolean}} props */
function Nothing({ isFiltered }) {
  return html`<div class="empty">${isFiltered ? html`<p>No session fits.</p>` : html`<p>No sessions in ${(server.value?.directories ?? []).map(lastName).join(", ")} yet.</p>`}</div>`;
}

/** A session that waits, with what it asks. @param {{row: Row}} props */
function Card({ row }) {
  const [ask] = row.asks;
  return html`<li class=${`card ${row.state}`}>
    <a class="card-link" href=${sessionPath(row.session)}>
      <span class="card-top"><span class=${`dot ${row.state}`} aria-hidden="true"></span><span class="card-title">${row.title || "Untitled"}</span>${row.pinned && html`<${Pin} />`}<span class="dim when">${age(row.updated, now.value)}</span></span>
      <span class="card-facts"><span class=${`state ${row.state}`}>${stateWords(row.state)}</span><span>${lastName(row.directory)}</span><span>${row.agent}</span><span class="clip">${modelName(row.model)}</span>${row.limit && html`<span>${row.limit.label} ${row.limit.words}</span>`}<span>${money(row.cost)}</span></span>
    </a>
    ${ask && html`<${AskCard} ask=${ask} session=${row.session} directory=${row.directory} isShort=${true} />`}
    ${row.asks.length > 1 && html`<p class="dim">and ${row.asks.length - 1} more</p>`}
  </li>`;
}

/** Any other session, in one line. @param {{row: Row}} props */
function Line({ row }) {
  const ended = row.state === "idle" && row.reason && row.reason !== "answered" ? reasonWords(row.reason) : stateWords(row.state);
  const bad = row.state === "idle" && ["error", "empty"].includes(row.reason);
  return html`<li><a class="line-link" href=${sessionPath(row.session)}>
    <span class="line-title"><span class=${`dot ${row.state}`} aria-hidden="true"></span><span class="clip">${row.title || "Untitled"}</span>${row.pinned && html`<${Pin} />`}</span>
    <span class=${`line-state clip state ${row.state} ${bad ? "bad" : ""}`}>${ended}</span>
    <span class="line-by clip dim">${row.agent} · ${modelName(row.model)}</span>
    <span class="line-limit">${row.limit && html`<${Gauge} use=${row.limit} small=${true} />`}</span>
    <span class="line-cost">${money(row.cost)}</span>
    <span class="line-age dim">${age(row.updated, now.value)}</span>
  </a></li>`;
}

/** The sessions beside an open one. @param {{open: string}} props */
export function Sidebar({ open }) {
  const found = fitting([...rows.value.values()], "", "all").slice(0, 30);
  return html`<nav class="sidebar" aria-label="Sessions">
    <p class="sidebar-head"><a href="#/">All sessions</a>${!isReadOnly.value && html`<a class="button quiet small" href="#/new">New</a>`}</p>
    <ul>${found.map((row) => html`<li key=${row.session}><a href=${sessionPath(row.session)} aria-current=${row.session === open ? "page" : undefined}>
      <span class=${`dot ${row.state}`} role="img" aria-label=${stateWords(row.state)}></span><span class="clip">${row.title || "Untitled"}</span><span class="dim">${age(row.updated, now.value)}</span></a></li>`)}</ul>
  </nav>`;
}
