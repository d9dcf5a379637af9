// One view per tool: a summary in one line, and what it shows when it is open.
import { html } from "../app/html.js";
import { go, sessionPath } from "../app/route.js";
import { duration, lastName, money, reasonWords, short, within } from "../app/words.js";
import { Code } from "./code.js";
import { changedLines, DiffLines, parsedDiff } from "./diff.js";
import { Markdown } from "./markdown.js";
import { OutputText } from "./output.js";
import { fileOf, isPicture, Picture } from "./picture.js";

/** @typedef {import("../app/session_model.js").Item} Item */
/** @typedef {{summary: (input: any, directory: string) => string, body: (item: Item, directory: string) => any, open: boolean}} ToolView */

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value));
/** @param {Item} item */
const output = (item) => item.output ?? item.live ?? "";
/** @param {Item} item */
const isFailed = (item) => item.state === "failed" || item.state === "refused";

/** @param {any} input @param {string} directory */
const path = (input, directory) => within(text(input?.filePath ?? input?.path), directory);

/** @param {string} name */
export function languageOf(name) {
  const end = lastName(name).split(".").pop() ?? "";
  return lastName(name).toLowerCase() === "dockerfile" ? "dockerfile" : end;
}

/** What a failed call said, below what it was to do. @param {Item} item */
const failure = (item) => (isFailed(item) && item.output ? html`<${OutputText} text=${item.output} last=${12} />` : null);

/** @param {Item} item @param {string} directory */
function shell(item, directory) {
  const { command, workdir } = item.input ?? {};
  return html`<div class="shell">
    <pre class="command" tabindex="0" role="group" aria-label="Command"><span class="sign" aria-hidden="true">$ </span>${text(command)}</pre>
    ${workdir && html`<p class="dim">in ${within(text(workdir), directory)}</p>`}
    ${item.live && item.isLate && html`<p class="dim">The output before this page was opened follows when the command ends.</p>`}
    ${output(item) && html`<${OutputText} text=${output(item)} last=${14} live=${item.state === "running"} />`}
  </div>`;
}

/** @param {Item} item @param {string} directory */
function edit(item, directory) {
  const { oldString = "", newString = "" } = item.input ?? {};
  return html`<${DiffLines} lines=${changedLines(text(oldString), text(newString))} most=${30} label=${path(item.input, directory)} />${failure(item)}`;
}

/** @param {Item} item @param {string} directory */
function write(item, directory) {
  return html`<${DiffLines} lines=${changedLines("", text(item.input?.content))} most=${20} label=${path(item.input, directory)} />${failure(item)}`;
}

/** @param {Item} item */
function patch(item) {
  const given = text(item.input?.patchText ?? item.input?.patch ?? item.input?.input);
  const files = parsedDiff(given);
  const lines = files.length
    ? files.flatMap((file) => file.lines)
    : given.split("\n").map((line) => ({
        kind: line[0] === "+" ? "add" : line[0] === "-" ? "del" : line.startsWith("***") ? "gap" : "same",
        text: line,
        number: "",
      }));
  return html`<${DiffLines} lines=${lines} most=${40} label="the patch" />${failure(item)}`;
}

/** @param {Item} item @param {string} directory */
function read(item, directory) {
  if (!isFailed(item) && isPicture(path(item.input, directory))) {
    return html`<${Picture} path=${path(item.input, directory)} read=${() => fileOf(directory, text(item.input?.filePath))} />`;
  }
  return isFailed(item)
    ? failure(item)
    : html`<${OutputText} text=${output(item)} last=${0} first=${30} lang=${languageOf(path(item.input, directory))} />`;
}

/** @param {Item} item */
const plain = (item) => html`<${OutputText} text=${output(item)} last=${0} first=${30} />`;

/** @param {{todos: {content: string, status: string}[]}} props */
export function TodoList({ todos }) {
  /** @type {Record<string, [string, string]>} */
  const signs = { completed: ["✓", "done"], in_progress: ["▸", "in progress"], cancelled: ["✕", "cancelled"], pending: ["○", "open"] };
  return html`<ul class="todos">
    ${todos.slice(0, 100).map((todo) => {
      const [sign, word] = signs[todo.status] ?? signs.pending;
      return html`<li class=${todo.status}><span class="sign" role="img" aria-label=${word}>${sign}</span><span>${text(todo.content)}</span></li>`;
    })}
  </ul>`;
}

/** @param {Item} item */
function todos(item) {
  const given = item.input?.todos;
  return Array.isArray(given) ? html`<${TodoList} todos=${given} />${failure(item)}` : plain(item);
}

/** @param {Item} item */
function web(item) {
  const url = text(item.input?.url);
  const link = /^https?:\/\//i.test(url) && html`<p><a href=${url} target="_blank" rel="noopener noreferrer">${url}</a></p>`;
  return html`${link}<${OutputText} text=${output(item)} last=${0} first=${20} />`;
}

/** @param {Item} item */
function subagent(item) {
  const { spent } = item;
  // The line before the report names the session for the model.
  const report = text(item.output).replace(/^\[(?:background )?subagent [^\]]*\]\s*/, "").slice(0, 20_000);
  return html`<div class="subagent">
    <p class="words">${text(item.input?.prompt).slice(0, 600)}</p>
    ${item.child &&
    html`<p class="child-facts">
      <button class="small" onClick=${() => go(sessionPath(item.child))}>Open subagent</button>
      ${item.reason && html` <span class="dim">${reasonWords(item.reason)}</span>`}
      ${spent && html` <span class="dim">${spent.steps ?? 0} steps, ${short(spent.tokens ?? 0)} tokens, ${money(spent.cost ?? 0)}, ${duration(spent.seconds ?? 0)}</span>`}
    </p>`}
    ${report && html`<${Markdown} text=${report} />`}
  </div>`;
}

/** @param {Item} item */
function question(item) {
  const asked = Array.isArray(item.input?.questions) ? item.input.questions : [];
  return html`<div class="question">
    ${asked.map((/** @type {any} */ each) => html`<p>${text(each?.question)}</p>
      <ul>${(Array.isArray(each?.options) ? each.options : []).map((/** @type {any} */ option) => html`<li>${text(option?.label ?? option)}</li>`)}</ul>`)}
    ${item.output && html`<p class="answer"><b>Answer</b></p><p class="words">${text(item.output).replace(/^The person answered: /, "")}</p>`}
  </div>`;
}

/** @param {Item} item */
function unknown(item) {
  const given = item.input === undefined ? item.raw ?? "" : JSON.stringify(item.input, null, 2);
  return html`${given && given !== "{}" && html`<${Code} text=${given.slice(0, 20000)} lang="json" label="Arguments" />`}
    ${output(item) && html`<${OutputText} text=${output(item)} last=${0} first=${24} />`}`;
}

/** @type {Record<string, ToolView>} */
const VIEWS = {
  bash: { summary: (input) => text(input?.description) || text(input?.command), body: shell, open: true },
  edit: { summary: path, body: edit, open: true },
  write: { summary: path, body: write, open: true },
  apply_patch: { summary: () => "several files", body: patch, open: true },
  read: { summary: path, body: read, open: false },
  list: { summary: (input, directory) => path(input, directory) || ".", body: plain, open: false },
  glob: { summary: (input) => text(input?.pattern), body: plain, open: false },
  grep: { summary: (input) => [text(input?.pattern), text(input?.include ?? input?.path)].filter(Boolean).join(" in "), body: plain, open: false },
  todowrite: { summary: (input) => `${Array.isArray(input?.todos) ? input.todos.length : 0} tasks`, body: todos, open: true },
  todoread: { summary: () => "", body: plain, open: false },
  webfetch: { summary: (input) => text(input?.url), body: web, open: false },
  task: { summary: (input) => [text(input?.subagent_type), text(input?.description)].filter(Boolean).join(": "), body: subagent, open: true },
  question: { summary: (input) => text(input?.questions?.[0]?.header ?? input?.questions?.[0]?.question), body: question, open: true },
  skill: { summary: (input) => text(input?.name), body: plain, open: false },
};

/** @param {string} tool @returns {ToolView} */
export function viewOf(tool) {
  return Object.hasOwn(VIEWS, tool)
    ? VIEWS[tool]
    : { summary: (input) => text(input && typeof input === "object" ? Object.values(input)[0] : ""), body: unknown, open: false };
}
