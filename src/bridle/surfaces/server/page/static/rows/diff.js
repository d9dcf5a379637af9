// `Diff`: a unified diff as colored lines, file by file; long ones open on demand.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";

/** @typedef {{kind: string, text: string, number: number | string}} Line */
/** @typedef {{path: string, added: number, removed: number, lines: Line[]}} FileDiff */

/** @param {string} text @returns {FileDiff[]} */
export function parsedDiff(text) {
  /** @type {FileDiff[]} */
  const files = [];
  /** @type {FileDiff | null} */
  let file = null;
  let old = 0, fresh = 0, left = 0, right = 0;
  for (const line of text.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)/.exec(line);
    if (hunk && file) {
      old = Number(hunk[1]);
      fresh = Number(hunk[3]);
      left = Number(hunk[2] ?? 1);
      right = Number(hunk[4] ?? 1);
      if (file.lines.length) file.lines.push({ kind: "gap", text: hunk[5].trim(), number: "" });
    } else if (file && (left > 0 || right > 0) && /^[ +-]/.test(line)) {
      const kind = line[0] === "+" ? "add" : line[0] === "-" ? "del" : "same";
      file.lines.push({ kind, text: line.slice(1), number: kind === "del" ? old : fresh });
      if (kind !== "add") (old += 1), (left -= 1);
      if (kind !== "del") (fresh += 1), (right -= 1);
      if (kind === "add") file.added += 1;
      if (kind === "del") file.removed += 1;
    } else if (line.startsWith("--- ") && left <= 0 && right <= 0) {
      file = { path: pathOf(line.slice(4)), added: 0, removed: 0, lines: [] };
      files.push(file);
    } else if (line.startsWith("+++ ") && file && !file.lines.length) {
      const path = pathOf(line.slice(4));
      if (path !== "/dev/null") file.path = path;
    }
  }
  return files;
}

/** @param {string} name */
const pathOf = (name) => name.replace(/\t.*$/, "").replace(/^"?[ab]\//, "").replace(/"$/, "");

/** The change of a text as lines: what both have at the start and the end stays. @param {string} before @param {string} after @returns {Line[]} */
export function changedLines(before, after) {
  const old = before === "" ? [] : before.split("\n"), fresh = after === "" ? [] : after.split("\n");
  let start = 0, end = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  /** @param {string[]} lines @param {string} kind */
  const as = (lines, kind) => lines.map((text) => ({ kind, text, number: "" }));
  return [
    ...as(old.slice(Math.max(0, start - 3), start), "same"),
    ...as(old.slice(start, old.length - end), "del"),
    ...as(fresh.slice(start, fresh.length - end), "add"),
    ...as(end ? fresh.slice(fresh.length - end, fresh.length - end + 3) : [], "same"),
  ];
}

/** @param {{lines: Line[], most?: number, label: string}} props */
export function DiffLines({ lines, most = 40, label }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? lines.slice(0, 5000) : lines.slice(0, most);
  return html`<div class="diff" tabindex="0" role="group" aria-label=${`Changes of ${label}`}>
    <div class="diff-lines">
      ${shown.map((line) => html`<div class=${`line ${line.kind}`} data-n=${line.number}>${line.text || " "}</div>`)}
    </div>
    ${lines.length > shown.length &&
    html`<button class="quiet small" onClick=${() => setWhole(true)}>Show all ${lines.length} lines</button>`}
  </div>`;
}

/** @param {{text: string, most?: number, open?: boolean}} props */
export function Diff({ text, most = 40, open = true }) {
  const files = parsedDiff(text);
  if (!files.length) return html`<pre class="output">${text}</pre>`;
  return html`<div class="diffs">
    ${files.map(
      (file) => html`<details class="file" open=${open}>
        <summary><span class="path">${file.path}</span> <${Counts} added=${file.added} removed=${file.removed} /></summary>
        <${DiffLines} lines=${file.lines} most=${most} label=${file.path} />
      </details>`,
    )}
  </div>`;
}

/** @param {{added: number, removed: number}} props */
export function Counts({ added, removed }) {
  return html`<span class="counts"><span class="plus">+${added}</span> <span class="minus">−${removed}</span></span>`;
}
