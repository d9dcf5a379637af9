// `RowView`: one row of a transcript by its kind: prompt, turn, step, text, thought, call, notice, ending.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { isReadOnly, now } from "../app/store.js";
import { counted, duration, modelName, money, reasonWords, refusalWords, short } from "../app/words.js";
import { AskCard } from "../views/asks.js";
import { Counts } from "./diff.js";
import { Markdown } from "./markdown.js";
import { isPicture, Picture, promptFile } from "./picture.js";
import { RowMenu } from "./row_menu.js";
import { viewOf } from "./tools.js";

/** @typedef {import("../app/session_model.js").Item} Item */
/** @typedef {{item: Item, model: import("../app/session_model.js").SessionModel, actions: any, directory: string, rev?: number}} RowProps */

/** @param {RowProps} props */
export function RowView(props) {
  const { item } = props;
  const View = VIEWS[item.kind];
  // The item stays the same object: only its number tells the views that it has changed.
  return html`<div class=${`row row-${item.kind}`} data-key=${item.key} id=${`row-${item.after + 1}-${item.kind}`}><${View} ...${props} rev=${item.rev.value} /></div>`;
}

/** @param {RowProps} props */
function PromptRow({ item, model, actions }) {
  return html`<article class="prompt" aria-label="Prompt">
    <p class="words">${item.text}</p>
    ${item.files.length > 0 && html`<p class="files">${item.files.map((/** @type {string} */ path, /** @type {number} */ place) => (isPicture(path) ? html`<${Picture} path=${path} read=${() => promptFile(model.id, item.id, place)} />` : html`<span class="chip">${path}</span>`))}</p>`}
    <${RowMenu} item=${item} actions=${actions} text=${item.text} />
  </article>`;
}

/** @param {RowProps} props */
function TurnRow({ item }) {
  return html`<p class="turn-line"><span>Turn ${item.number}</span> <span class="dim">${item.agent} · ${modelName(item.model)}</span></p>`;
}

/** @param {RowProps} props */
function StepRow({ item, actions }) {
  const used = item.usage ? (item.usage.input ?? 0) + (item.usage.cached ?? 0) + (item.usage.output ?? 0) : 0;
  const cap = item.cap ? `/${item.cap}` : "";
  return html`<p class="step-line">
    <button class="step-number" title="Copy a link to this step" onClick=${() => actions.link(item)}>Step ${item.number}${cap}</button>
    ${item.closing && html`<span class="badge warn">closing</span>`}
    ${item.ended && html`<span class="dim">${duration(item.ended - item.began)}${used ? ` · ${short(used)} tokens` : ""}${item.cost ? ` · ${money(item.cost)}` : ""}</span>`}
  </p>`;
}

/** @param {RowProps} props */
function TextRow({ item, actions }) {
  if (!item.text) return null;
  return html`<article class=${`reply ${item.growing ? "growing" : ""}`} aria-label="Reply">
    ${item.by === "bridle" && html`<p class="dim">Written by Bridle, because the model gave no answer</p>`}
    <${Markdown} text=${item.text} growing=${item.growing} />
    ${!item.growing && html`<${RowMenu} item=${item} actions=${actions} text=${item.text} />`}
  </article>`;
}

/** @param {RowProps} props */
function ReasoningRow({ item }) {
  const [open, setOpen] = useState(false);
  if (!item.text) return null;
  const first = item.text.trim().split("\n")[0].slice(0, 110);
  return html`<div class="reasoning">
    <button class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="arrow" aria-hidden="true">${open ? "▾" : "▸"}</span> ${item.growing ? "Thinking" : "Thought"}
      ${!open && html` <span class="dim">${first}</span>`}
    </button>
    ${open && html`<div class="thought"><${Markdown} text=${item.text} growing=${item.growing} /></div>`}
  </div>`;
}

/** @type {Record<string, [string, string]>} */
const SIGNS = { pending: ["◌", "preparing"], running: ["◐", "running"], waiting: ["◐", "waits for its subagent"], done: ["✓", "done"], failed: ["✕", "failed"], refused: ["⊘", "not run"] };

/** @param {RowProps} props */
function CallRow({ item, model, directory }) {
  const view = viewOf(item.tool);
  const [chosen, setOpen] = useState(/** @type {boolean | null} */ (null));
  const asks = [...model.asks.value.values()].filter((ask) => ask.call === item.key);
  const isAsked = asks.some((ask) => ask.session === model.id);
  const open = chosen ?? ((view.open || item.state === "failed") && !isAsked);
  const [sign, word] = isAsked ? ["?", "waits for you"] : SIGNS[item.state] ?? SIGNS.pending;
  const took = item.ended && item.began ? duration(item.ended - item.began) : "";
  const live = item.state === "running" && item.began ? html`<${Running} since=${item.began} />` : null;
  return html`<article class=${`call ${isAsked ? "asked" : item.state}`} aria-label=${`Call of ${item.tool}`}>
    <button class="call-head" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="sign" role="img" aria-label=${word}>${sign}</span>
      <span class="tool">${item.tool}</span>
      <span class="what">${view.summary(item.input, directory).slice(0, 300)}</span>
      <span class="dim when">${item.refusal ? refusalWords(item.refusal) : live ?? took}</span>
    </button>
    ${open && html`<div class="call-body">${view.body(item, directory)}</div>`}
    ${asks.map((ask) => html`<${AskCard} key=${ask.id} ask=${{ tool: item.tool, input: item.input, ...ask }} session=${model.id} directory=${directory} isInCall=${true} />`)}
  </article>`;
}

/** @param {{since: number}} props */
function Running({ since }) {
  return html`<span>${duration(Math.max(0, now.value - since))}</span>`;
}

/** @param {RowProps} props */
function NoticeRow({ item }) {
  return html`<p class="notice" role="note">${item.text}</p>`;
}

/** @param {RowProps} props */
function RetryRow({ item }) {
  const left = Math.ceil((item.until ?? 0) - now.value);
  const words = item.model ? `Asks ${modelName(item.model)} instead` : left > 0 ? `Next try in ${left} s` : "Tries again";
  return html`<p class="notice warn" role="note"><b>${words}</b> · attempt ${item.attempt} failed: ${item.message}</p>`;
}

/** @param {RowProps} props */
function SentinelRow({ item, actions }) {
  const isLimit = item.reason.endsWith("_cap") || item.reason.endsWith("_budget");
  return html`<div class="sentinel" role="group" aria-label="Why the turn ended">
    <p><b>${item.text || reasonWords(item.reason)}</b></p>
    ${!isReadOnly.value &&
    actions.isLast(item) &&
    html`<p class="buttons">
      <button class="main" onClick=${() => actions.continue({})}>Continue</button>
      ${isLimit && html`<button onClick=${() => actions.continueWithMore(item)}>Continue with twice the limit</button>`}
    </p>`}
  </div>`;
}

/** @param {RowProps} props */
function EndRow({ item, model, actions }) {
  const { spent, detail } = item;
  const isTold = !detail || model.items.some((each) => each.kind === "sentinel" && each.turn === item.turn && each.text.includes(detail));
  const facts = [counted(spent.steps ?? 0, "step"), counted(spent.tool_calls ?? 0, "call"), `${short(spent.tokens ?? 0)} tokens`, money(spent.cost ?? 0), duration(spent.seconds ?? 0)];
  return html`<div class="end-line">
    <p class=${`dim ${item.reason === "error" ? "bad" : ""}`}>${reasonWords(item.reason)} · ${facts.join(" · ")}</p>
    ${!isTold && html`<p class="detail">${detail}</p>`}
    <p class="row-actions"><button class="quiet small" onClick=${() => actions.timeline(item.number)}>Timeline</button></p>
  </div>`;
}

/** @param {RowProps} props */
function PatchRow({ item, actions }) {
  const files = item.files.slice(0, 12);
  return html`<div class="patch"><span class="dim">Changed</span>
    ${files.map((/** @type {any} */ file) => html`<span class="chip">${file.path} <${Counts} added=${file.added ?? 0} removed=${file.removed ?? 0} /></span>`)}
    ${item.files.length + item.more > files.length && html`<span class="dim">and ${item.files.length + item.more - files.length} more</span>`}
    <button class="quiet small" onClick=${() => actions.changes(item.turn)}>Show changes</button>
  </div>`;
}

/** @type {Record<string, (props: RowProps) => any>} */
const VIEWS = {
  prompt: PromptRow, turn: TurnRow, step: StepRow, text: TextRow, reasoning: ReasoningRow, call: CallRow,
  notice: NoticeRow, retry: RetryRow, sentinel: SentinelRow, end: EndRow, patch: PatchRow,
};
