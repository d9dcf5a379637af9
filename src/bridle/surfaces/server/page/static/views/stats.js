// `StatsView`: what the last days have cost, by day, project, model and agent.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { now } from "../app/store.js";
import { lastName, modelName, money, reasonWords, short } from "../app/words.js";
import { Loading, useAnswer } from "./settings.js";

/** @typedef {{turns: number, spent: Record<string, number>, endings: Record<string, number>}} Use */
/** @typedef {Record<string, Use>} Uses */

/** @param {Uses} uses @param {string} unit */
const total = (uses, unit) => Object.values(uses).reduce((all, use) => all + (use.spent[unit] ?? 0), 0);

export function StatsView() {
  const [days, setDays] = useState(14);
  const stats = useAnswer(`/stats?days=${days}`);
  return html`<main class="reading">
    <header class="page-head"><h1>Usage</h1>
      <span class="segments" role="group" aria-label="Days">${[1, 7, 14, 30, 90].map((each) => html`<button aria-pressed=${days === each} onClick=${() => setDays(each)}>${each === 1 ? "Today" : `${each} days`}</button>`)}</span>
    </header>
    ${stats ? html`<${Stats} stats=${stats} days=${days} />` : html`<${Loading} />`}
  </main>`;
}

/** @param {{stats: any, days: number}} props */
function Stats({ stats, days }) {
  const turns = Object.values(stats.days).reduce((all, use) => all + use.turns, 0);
  return html`
    <dl class="facts">
      <div><dt>Cost</dt><dd>${money(total(stats.days, "cost"))}</dd></div><div><dt>Tokens</dt><dd>${short(total(stats.days, "tokens"))}</dd></div>
      <div><dt>Steps</dt><dd>${short(total(stats.days, "steps"))}</dd></div><div><dt>Turns</dt><dd>${turns}</dd></div>
    </dl>
    <section><h2>By day</h2><${Bars} uses=${stats.days} days=${days} /></section>
    <section><h2>By model</h2><${Table} uses=${stats.models} name=${modelName} /></section>
    <section><h2>By project</h2><${Table} uses=${stats.projects} name=${lastName} /></section>
    <section><h2>By agent</h2><${Table} uses=${stats.agents} name=${(/** @type {string} */ each) => each} /></section>`;
}

/** The unit that tells more: cost, or tokens where nothing has a price. @param {Uses} uses @returns {["cost" | "tokens", (value: number) => string]} */
const unitOf = (uses) => (Object.values(uses).some((use) => (use.spent.cost ?? 0) > 0) ? ["cost", money] : ["tokens", short]);

/** Columns by day, days without a turn included. @param {{uses: Uses, days: number}} props */
function Bars({ uses, days }) {
  const [unit, words] = unitOf(uses);
  const listed = Array.from({ length: days }, (each, place) => new Date((now.peek() - (days - 1 - place) * 86_400) * 1000).toISOString().slice(0, 10));
  const all = [...new Set([...Object.keys(uses), ...listed])].sort();
  const value = (/** @type {string} */ day) => uses[day]?.spent[unit] ?? 0;
  const top = Math.max(...all.map(value));
  if (!top) return html`<p class="dim">No turns in these days.</p>`;
  const every = Math.ceil(all.length / (innerWidth < 640 ? 4 : 15));
  return html`<figure class="bars"><figcaption class="dim">${unit === "cost" ? "US dollars" : "Tokens"} per day, at most ${words(top)}</figcaption>
    <ol>${all.map((day, place) => html`<li title=${`${day}: ${words(value(day))}`}><span class="column" style=${{ height: `${(value(day) / top) * 100}%` }}></span>
      <span class="day">${(all.length - 1 - place) % every ? "" : day.slice(5)}</span><span class="hidden">${day}: ${words(value(day))}</span></li>`)}</ol></figure>`;
}

/** @param {{uses: Uses, name: (key: string) => string}} props */
function Table({ uses, name }) {
  const [unit] = unitOf(uses);
  const value = (/** @type {Use} */ use) => use.spent[unit] ?? 0;
  const rows = Object.entries(uses).filter(([, use]) => use.turns > 0).sort(([, one], [, other]) => value(other) - value(one));
  if (!rows.length) return html`<p class="dim">Nothing yet.</p>`;
  const top = Math.max(...rows.map(([, use]) => value(use)), 1e-9);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Usage"><table class="uses"><thead><tr><th scope="col">Name</th><th scope="col"><span class="hidden">Share</span></th><th scope="col" class="to-right">Cost</th><th scope="col" class="to-right">Tokens</th><th scope="col" class="to-right">Steps</th><th scope="col" class="to-right">Turns</th><th scope="col">Endings</th></tr></thead>
    <tbody>${rows.map(([key, use]) => html`<tr><th scope="row" title=${key}>${name(key)}</th>
      <td class="share"><span class="bar" aria-hidden="true"><span class="fill" style=${{ width: `${(value(use) / top) * 100}%` }}></span></span></td>
      <td class="to-right">${money(use.spent.cost ?? 0)}</td><td class="to-right">${short(use.spent.tokens ?? 0)}</td><td class="to-right">${use.spent.steps ?? 0}</td><td class="to-right">${use.turns}</td>
      <td class="dim">${Object.entries(use.endings ?? {}).map(([reason, number]) => `${reasonWords(reason)} ${number}`).join(", ")}</td></tr>`)}</tbody></table></div>`;
}
