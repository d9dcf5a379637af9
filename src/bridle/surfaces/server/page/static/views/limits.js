// `Gauges`: the limits of a turn as bars, with buttons that raise them while it runs.
import { of, post } from "../app/api.js";
import { get } from "../app/api.js";
import { html } from "../app/html.js";
import { attempt, isReadOnly, tell } from "../app/store.js";

/** @typedef {import("../app/store.js").LimitUse} LimitUse */

/** @param {LimitUse} use */
export const share = (use) => (use.allowed ? Math.min(1, use.used / use.allowed) : 0);
/** @param {number} value */
export const level = (value) => (value >= 1 ? "full" : value >= 0.8 ? "near" : "calm");

/** @param {{use: LimitUse, small?: boolean}} props */
export function Gauge({ use, small = false }) {
  const part = share(use);
  const name = `${use.scope === "turn" ? "" : `${use.scope} `}${use.label}`;
  return html`<span class=${`gauge ${level(part)} ${small ? "is-small" : ""}`}>
    <span class="gauge-name">${name}</span>
    <span class="gauge-words">${use.words}</span>
    ${use.allowed !== null &&
    html`<span class="bar" role="meter" aria-label=${name} aria-valuemin="0" aria-valuemax=${use.allowed} aria-valuenow=${Math.min(use.used, use.allowed)} aria-valuetext=${use.words}>
      <span class="fill" style=${{ width: `${part * 100}%` }}></span>
    </span>`}
  </span>`;
}

/** @param {{feed: any}} props */
export function Gauges({ feed }) {
  const summary = feed.summary.value;
  const limits = /** @type {LimitUse[]} */ (summary?.limits ?? []);
  const runs = summary && summary.status.state !== "idle" && !isReadOnly.value;
  return html`<ul class="gauges">
    ${limits.map(
      (use) => html`<li>
        <${Gauge} use=${use} />
        ${runs && use.allowed !== null && use.scope === "turn" &&
        html`<button class="quiet small" aria-label=${`Raise ${use.label} by ${amount(use)}`} onClick=${() => extend(feed, use)}>+${amount(use)}</button>`}
      </li>`,
    )}
  </ul>`;
}

/** @param {LimitUse} use */
const amount = (use) => (use.name === "cost" ? `$${use.extension}` : use.name === "seconds" ? `${use.extension} s` : `${use.extension}`);

/** Raise a limit, and tell the outcome. @param {any} feed @param {LimitUse} use */
export async function extend(feed, use) {
  const done = await attempt(() => post(of(feed.id, "/extensions"), { limit: use.name, by: use.extension }));
  if (!done) return;
  tell(`${use.label}: +${amount(use)} is on its way; the turn takes it between its steps.`);
  for (let tries = 0; tries < 40; tries += 1) {
    const outcome = await attempt(() => get(of(feed.id, `/extensions/${encodeURIComponent(done.id)}`)));
    if (!outcome) return;
    if (outcome.state === "refused") return tell(outcome.text, "bad");
    if (outcome.state === "extended") return feed.refresh();
    await new Promise((wake) => setTimeout(wake, 250));
  }
}
