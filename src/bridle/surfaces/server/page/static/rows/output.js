// `OutputText`: the output of a tool: its first or last lines, the whole on demand.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { Code } from "./code.js";
import { Copy } from "./copy.js";

const MOST = 200_000;

/** @param {{text: string, first?: number, last?: number, live?: boolean, lang?: string}} props */
export function OutputText({ text, first = 0, last = 0, live = false, lang = "" }) {
  const [whole, setWhole] = useState(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const most = last || first || 20;
  const shown = whole ? lines : last ? lines.slice(-most) : lines.slice(0, most);
  const words = clipped(shown.join("\n"), whole ? MOST : 8000);
  const hidden = lines.length - shown.length;
  const isClipped = hidden > 0 || words.length < shown.join("\n").length;
  return html`<div class="output-box">
    ${hidden > 0 && last > 0 && html`<p class="dim">${hidden} earlier lines</p>`}
    ${lang && whole
      ? html`<${Code} text=${words} lang=${lang} />`
      : html`<pre class="output" tabindex="0" role="group" aria-label="Output" aria-live=${live ? "off" : undefined}>${words}</pre>`}
    <p class="row-actions">
      ${isClipped && !whole && html`<button class="quiet small" onClick=${() => setWhole(true)}>Show all ${lines.length} lines</button>`}
      ${whole && html`<button class="quiet small" onClick=${() => setWhole(false)}>Show less</button>`}
      ${!live && html`<${Copy} text=${text} label="Copy output" />`}
    </p>
  </div>`;
}

/** @param {string} text @param {number} most */
const clipped = (text, most) => (text.length > most ? text.slice(0, most) : text);
