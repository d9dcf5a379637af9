// `Panel`: what stands beside a transcript: limits, tasks, subagents, changed files.
import { useEffect, useState } from "../vendor/hooks.js";
import { get, of } from "../app/api.js";
import { html } from "../app/html.js";
import { go, sessionPath } from "../app/route.js";
import { attempt } from "../app/store.js";
import { money } from "../app/words.js";
import { Diff, parsedDiff } from "../rows/diff.js";
import { TodoList } from "../rows/tools.js";
import { open } from "./dialogs.js";
import { Gauges } from "./limits.js";
import { Timeline } from "./timeline.js";

/** @param {{feed: any}} props */
export function Panel({ feed }) {
  const summary = feed.summary.value;
  const todos = feed.model.todos.value;
  if (!summary) return html`<aside class="panel" aria-label="Details"></aside>`;
  return html`<aside class="panel" aria-label="Details">
    <section><h2>Limits</h2><${Gauges} feed=${feed} /><p class="dim">Session cost ${money(summary.cost)}</p></section>
    ${todos.length > 0 && html`<section><h2>Tasks</h2><${TodoList} todos=${todos} /></section>`}
    ${summary.subagents.length > 0 && html`<section><h2>Subagents</h2><${Branches} branches=${summary.subagents} /></section>`}
    <section><h2>Changes</h2>
      <${ChangedFiles} feed=${feed} />
    </section>
    ${summary.turns > 0 && html`<section><h2>Turn ${feed.model.turn || summary.turns}</h2><${Timeline} model=${feed.model} turn=${feed.model.turn || summary.turns} /></section>`}
  </aside>`;
}

/** @param {{branches: any[]}} props */
function Branches({ branches }) {
  return html`<ul class="branches">
    ${branches.map((branch) => html`<li>
      <button class="quiet" onClick=${() => go(sessionPath(branch.session))}><span class=${`dot ${branch.state}`} aria-hidden="true"></span>${branch.agent}</button>
      <span class="dim">${branch.state} · step ${branch.steps}${branch.cap ? `/${branch.cap}` : ""}</span>
      <p class="dim clip">${String(branch.arguments?.description ?? "")}</p>
      ${branch.below.length > 0 && html`<${Branches} branches=${branch.below} />`}
    </li>`)}
  </ul>`;
}

/** @param {{feed: any}} props */
function ChangedFiles({ feed }) {
  const [files, setFiles] = useState(/** @type {any[] | null} */ (null));
  const patches = feed.model.items.filter((/** @type {any} */ item) => item.kind === "patch").length;
  const undone = feed.summary.value.undone;
  useEffect(() => {
    let wanted = true;
    attempt(async () => {
      const { diff } = await get(of(feed.id, "/diff"));
      if (wanted) setFiles(parsedDiff(diff));
    });
    return () => {
      wanted = false;
    };
  }, [patches, undone]);
  if (!files?.length) return html`<p class="dim">${files ? "No files changed" : "…"}</p>`;
  return html`<ul class="changed">
    ${files.slice(0, 30).map((file) => html`<li><span class="path" title=${file.path}>${file.path}</span> <span class="counts"><span class="plus">+${file.added}</span> <span class="minus">−${file.removed}</span></span></li>`)}
    ${files.length > 30 && html`<li class="dim">and ${files.length - 30} more</li>`}
  </ul>
  <button class="quiet" onClick=${() => showChanges(feed.id, 0)}>Show changes</button>`;
}

/** Show the changes of a turn, or of the whole session, in a dialog. @param {string} session @param {number} turn */
export async function showChanges(session, turn) {
  const answer = await attempt(() => get(of(session, `/diff?turn=${turn}`)));
  if (!answer) return;
  const body = answer.diff ? html`<${Diff} text=${answer.diff} most=${80} />` : html`<p class="dim">No files changed.</p>`;
  open(turn ? `Changes of turn ${turn}` : "Changes of this session", body, "wide");
}
