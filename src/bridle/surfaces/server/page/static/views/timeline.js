// `Timeline`: one turn as a picture: a bar for each model request and each call, at the time when it ran.
import { html } from "../app/html.js";
import { now } from "../app/store.js";
import { duration } from "../app/words.js";
import { viewOf } from "../rows/tools.js";

const MOST_BARS = 60;

/** The bars of a turn: requests and calls with their times. @param {any[]} items @param {number} turn */
export function barsOf(items, turn) {
  return items
    .filter((item) => item.turn === turn && (item.kind === "step" || item.kind === "call") && item.began)
    .map((item) => ({
      key: item.key,
      name: item.kind === "step" ? `Step ${item.number}` : item.tool,
      what: item.kind === "step" ? "model" : viewOf(item.tool).summary(item.input, ""),
      from: item.began,
      to: item.ended ?? 0,
      kind: item.kind === "step" ? (item.closing ? "closing" : "model") : item.child ? "child" : item.state,
    }));
}

/** @param {{model: any, turn: number}} props */
export function Timeline({ model, turn }) {
  model.changed.value;
  const all = barsOf(model.items, turn);
  const bars = all.slice(-MOST_BARS);
  if (!bars.length) return html`<p class="dim">No steps of turn ${turn} are loaded.</p>`;
  const isOpen = bars.some((bar) => !bar.to) && model.status.value.state !== "idle";
  const start = Math.min(...bars.map((bar) => bar.from));
  const end = Math.max(...bars.map((bar) => bar.to || bar.from), isOpen ? now.value : 0);
  const whole = Math.max(0.001, end - start);
  return html`<div class="timeline" role="img" aria-label=${`Timeline of turn ${turn}: ${all.length} bars over ${duration(whole)}`}>
    ${all.length > bars.length && html`<p class="dim">The last ${bars.length} of ${all.length}</p>`}
    ${bars.map((bar) => {
      const to = bar.to || (isOpen ? now.value : bar.from);
      const style = { marginLeft: `${((bar.from - start) / whole) * 100}%`, width: `${Math.max(0.6, ((to - bar.from) / whole) * 100)}%` };
      return html`<div class="lane" title=${`${bar.name} ${bar.what}: ${duration(to - bar.from)}`}>
        <span class="lane-name">${bar.name}</span><span class="lane-track"><span class=${`lane-bar ${bar.kind}`} style=${style}></span></span>
        <span class="lane-time">${duration(Math.max(0, to - bar.from))}</span>
      </div>`;
    })}
    <p class="legend"><span class="key model">model</span><span class="key done">call</span><span class="key child">subagent</span><span class="key failed">failed</span><span class="key closing">closing</span></p>
  </div>`;
}
