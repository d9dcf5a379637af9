// `Transcript`: the rows around what is visible; others leave the page, and older ones are fetched when they are reached.
import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { RowView } from "../rows/rows.js";
import { viewOf } from "../rows/tools.js";

const WEIGHT = 620;
const MOST_ROWS = 110;
const SHIFT = 25;
const NEAR = 500;
const MOST_NODES = 900;
/** @type {Record<string, number>} */
const WEIGHTS = { prompt: 9, turn: 3, step: 5, reasoning: 5, notice: 2, retry: 3, sentinel: 6, end: 6, patch: 14 };

/** About how many elements a row has. @param {any} item */
function weight(item) {
  if (item.kind === "text") return 8 + Math.min(120, item.text.length / 45);
  if (item.kind === "call") return ["edit", "write", "apply_patch"].includes(item.tool) ? 40 : viewOf(item.tool).open ? 20 : 8;
  return WEIGHTS[item.kind] ?? 8;
}

/** The first row so that the rows before `end` are few enough. @param {any[]} items @param {number} end */
function firstBefore(items, end) {
  let left = WEIGHT;
  let first = end;
  while (first > 0 && end - first < MOST_ROWS && left > 0) left -= weight(items[(first -= 1)]);
  return first;
}

/** @param {any[]} items @param {number} first */
function endAfter(items, first) {
  let left = WEIGHT;
  let end = first;
  while (end < items.length && end - first < MOST_ROWS && left > 0) left -= weight(items[(end += 1) - 1]);
  return end;
}

/** @param {{feed: import("../app/session_feed.js").SessionFeed, actions: any, directory: string, children?: any}} props */
export function Transcript({ feed, actions, directory, children }) {
  const { model } = feed;
  model.changed.value;
  const items = model.shown();
  const box = useRef(/** @type {any} */ (null));
  const anchor = useRef(/** @type {{key: string, top: number} | null} */ (null));
  const stuck = useRef(feed._entry <= 1);
  const last = useRef(0);
  /** When a person last used wheel, finger, pointer or keys here. */
  const touched = useRef(-1e9);
  const touch = () => (touched.current = performance.now());
  const direction = useRef(0);
  const [place, setPlace] = useState({ key: "", side: "end" });
  const [isAway, setAway] = useState(false);
  // Items come in before they are drawn.
  const count = items.length;
  const [first, end] = rangeOf(items, place, stuck.current && !feed.newer.value);

  const keepAnchor = () => {
    if (!box.current || stuck.current) return;
    const top = box.current.getBoundingClientRect().top;
    const rows = box.current.querySelectorAll(":scope > .rows > .row");
    const seen = [...rows].find((row) => row.getBoundingClientRect().bottom > top);
    anchor.current = seen ? { key: seen.dataset.key, top: seen.getBoundingClientRect().top } : null;
  };

  // What is drawn next must not move what is read.
  keepAnchor();

  const scrolled = () => {
    const view = box.current;
    const below = view.scrollHeight - view.scrollTop - view.clientHeight;
    // Only a person leaves the end: rows that shrink move the view too.
    const by = view.scrollTop - last.current;
    const isUp = by < -1 && performance.now() - touched.current < 1500;
    if (by) direction.current = by;
    last.current = view.scrollTop;
    const isEnd = end === count && !feed.newer.value;
    if (isUp && below >= 60) stuck.current = false;
    else if (below < 60) stuck.current = isEnd;
    setAway(!stuck.current);
    extend();
  };

  /** Draw more rows, or fetch them, where a person scrolls to. */
  const extend = () => {
    const view = box.current;
    if (!view || stuck.current) return;
    const isBack = direction.current < 0;
    const below = view.scrollHeight - view.scrollTop - view.clientHeight;
    if (isBack ? view.scrollTop >= NEAR : below >= NEAR) return;
    if (isBack ? first > 0 : end < items.length) {
      const next = isBack ? Math.max(0, first - SHIFT) : Math.min(items.length, end + SHIFT) - 1;
      setPlace({ key: items[next].key, side: isBack ? "start" : "end" });
    } else if (isBack && feed.older.value) {
      if (place.side !== "start") setPlace({ key: items[first]?.key ?? "", side: "start" });
      feed.readOlder();
    } else if (!isBack && feed.newer.value) {
      if (place.side !== "end") setPlace({ key: items[end - 1]?.key ?? "", side: "end" });
      feed.readNewer();
    }
  };
  // What was fetched meanwhile is drawn without another scroll.
  useEffect(extend, [model.changed.value, first, end]);

  useLayoutEffect(() => {
    const view = box.current;
    if (!view) return;
    if (stuck.current) {
      view.scrollTop = view.scrollHeight;
    } else if (anchor.current) {
      const row = view.querySelector(`[data-key="${CSS.escape(anchor.current.key)}"]`);
      if (row) view.scrollTop += row.getBoundingClientRect().top - anchor.current.top;
      anchor.current = null;
    }
    // What is moved here is no scrolling of a person.
    last.current = view.scrollTop;
  });

  useEffect(() => {
    const view = box.current;
    const follow = new ResizeObserver(() => {
      if (stuck.current) view.scrollTop = view.scrollHeight;
    });
    follow.observe(view.firstElementChild);
    follow.observe(view);
    return () => follow.disconnect();
  }, []);

  useEffect(() => {
    if (stuck.current) feed.trim();
    // Rows that were opened may hold more than was expected.
    const view = box.current;
    if (view && view.getElementsByTagName("*").length > MOST_NODES && end - first > 12 && stuck.current) {
      const keep = items[Math.min(items.length - 8, first + Math.ceil((end - first) / 3))];
      setPlace({ key: keep.key, side: "trim" });
    }
  });

  useEffect(() => {
    if (feed._entry <= 1) return;
    const target = [...box.current.querySelectorAll(".row")].find((row) => Number(row.id.split("-")[1]) >= feed._entry);
    target?.scrollIntoView({ block: "start" });
    target?.classList.add("linked");
  }, [feed.loading.value]);

  const toEnd = () => {
    if (feed.newer.value) return actions.reload();
    stuck.current = true;
    setAway(false);
    setPlace({ key: "", side: "end" });
  };
  actions.toEnd = toEnd;

  return html`<div class="transcript" ref=${box} onScroll=${scrolled} onWheel=${touch} onTouchMove=${touch} onPointerDown=${touch} onKeyDown=${touch} tabindex="0" role="log" aria-label="Transcript" aria-live="off">
    <div class="rows">
      ${first === 0 && !feed.older.value && !feed.loading.value && html`<p class="dim begin">Beginning of the session</p>`}
      ${items.slice(first, end).map((item) => html`<${RowView} key=${item.key} item=${item} model=${model} actions=${actions} directory=${directory} />`)}
      ${end === items.length && children}
    </div>
    ${isAway && html`<button class="to-end" onClick=${toEnd}>Latest ↓</button>`}
  </div>`;
}

/** The rows to draw. @param {any[]} items @param {{key: string, side: string}} place @param {boolean} isStuck @returns {[number, number]} */
function rangeOf(items, place, isStuck) {
  const known = place.key ? items.findIndex((item) => item.key === place.key) : -1;
  if (isStuck) {
    const first = firstBefore(items, items.length);
    return [place.side === "trim" && known > first ? known : first, items.length];
  }
  if (known < 0) return place.side === "start" ? [0, endAfter(items, 0)] : [firstBefore(items, items.length), items.length];
  if (place.side === "end") return [firstBefore(items, known + 1), known + 1];
  return [known, endAfter(items, known)];
}
