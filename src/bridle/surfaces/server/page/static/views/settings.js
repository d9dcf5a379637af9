// Views of a directory: agents, models and configuration, which are only read, and permissions, which can be revoked.
import { useEffect, useState } from "../vendor/hooks.js";
import { get, request } from "../app/api.js";
import { html } from "../app/html.js";
import { attempt, isReadOnly, server, tell } from "../app/store.js";
import { counted, lastName, modelName, money, short } from "../app/words.js";
import { Copy } from "../rows/copy.js";

/** What an address answers, read anew when it changes; null until then. @param {string} path */
export function useAnswer(path) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  useEffect(() => {
    let wanted = true;
    setAnswer(null);
    attempt(async () => {
      const told = await get(path);
      if (wanted) setAnswer(told);
    });
    return () => {
      wanted = false;
    };
  }, [path]);
  return answer;
}

/** @param {{title: string, children: (directory: string) => any, tools?: any}} props */
export function OfDirectory({ title, children, tools }) {
  const offered = server.value?.directories ?? [];
  const [directory, setDirectory] = useState("");
  const chosen = directory || offered[0] || "";
  return html`<main class="reading">
    <header class="page-head"><h1>${title}</h1><span class="head-tools">${tools}
      ${offered.length > 1 && html`<label><span class="hidden">Directory</span><select value=${chosen} onChange=${(/** @type {any} */ event) => setDirectory(event.target.value)}>${offered.map((each) => html`<option value=${each}>${lastName(each)}</option>`)}</select></label>`}</span>
    </header>
    ${chosen && children(encodeURIComponent(chosen))}
  </main>`;
}

export const Loading = () => html`<p class="dim" role="status">Loading…</p>`;

export function AgentsView() {
  return html`<${OfDirectory} title="Agents" children=${(/** @type {string} */ directory) => html`<${Agents} directory=${directory} />`} />`;
}

/** @param {{directory: string}} props */
function Agents({ directory }) {
  const answer = useAnswer(`/agents?directory=${directory}`);
  if (!answer) return html`<${Loading} />`;
  return html`<ul class="cards">${answer.agents.filter((/** @type {any} */ each) => !each.hidden).map((/** @type {any} */ agent) => html`<li class="card plain">
    <h2>${agent.name} ${agent.name === answer.default && html`<span class="badge">default</span>`} <span class="badge">${agent.mode}</span></h2>
    <p>${agent.description}</p>
    <p class="dim">${agent.model ? modelName(agent.model) : "Model of the prompt"} · ${limitWords(agent.limits)}</p></li>`)}</ul>`;
}

/** @param {any} limits */
const limitWords = (limits) =>
  [limits.steps && counted(limits.steps, "step"), limits.tool_calls && counted(limits.tool_calls, "tool call"), limits.tokens && `${short(limits.tokens)} tokens`, limits.cost && money(limits.cost), limits.seconds && `${limits.seconds} s`].filter(Boolean).join(", ") || "no limits of its own";

export function ModelsView() {
  return html`<${OfDirectory} title="Models" children=${(/** @type {string} */ directory) => html`<${Models} directory=${directory} />`} />`;
}

/** @param {{directory: string}} props */
function Models({ directory }) {
  const found = useAnswer(`/models?directory=${directory}`);
  const rows = useAnswer(`/models/rows?directory=${directory}`);
  if (!found || !rows) return html`<${Loading} />`;
  if (!rows.length) return html`<p>No model is reachable. ${found.why} <code>bridle auth login</code> adds a key.</p>`;
  return html`<p class="dim">Default: ${found.default || "none"} (${found.why})</p>
    <div class="scroll sheet" tabindex="0" role="group" aria-label="Models"><table><thead><tr><th scope="col">Model</th><th scope="col">Window</th><th scope="col">Input</th><th scope="col">Output</th><th scope="col">Variants</th></tr></thead>
    <tbody>${rows.slice(0, 200).map(({ info }) => html`<tr><th scope="row">${info.ref}</th><td>${short(info.context_window ?? 128000)}</td>
      <td>${info.price ? `$${info.price.input ?? 0}` : "–"}</td><td>${info.price ? `$${info.price.output ?? 0}` : "–"}</td><td>${Object.keys(info.variants ?? {}).join(", ")}</td></tr>`)}</tbody></table></div>`;
}

export function ConfigurationView() {
  return html`<${OfDirectory} title="Configuration" children=${(/** @type {string} */ directory) => html`<${Configuration} directory=${directory} />`} />`;
}

/** @param {{directory: string}} props */
function Configuration({ directory }) {
  const settings = useAnswer(`/configuration?directory=${directory}`);
  if (!settings) return html`<${Loading} />`;
  // Those that a file, a variable or the command line sets come first.
  const sorted = [...settings].sort((one, other) => Number(one.origin === "default") - Number(other.origin === "default"));
  return html`<p class="dim">Settings are changed in files on the server's machine. Secrets are hidden.</p>
    <div class="scroll sheet" tabindex="0" role="group" aria-label="Settings"><table class="settings"><thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">From</th></tr></thead>
    <tbody>${sorted.map((/** @type {any} */ each) => html`<tr class=${each.origin === "default" ? "dim" : ""}><th scope="row"><code>${each.key}</code></th><td>${each.value === "null" ? "–" : html`<code>${each.value}</code>`}</td><td class="dim">${each.origin}</td></tr>`)}</tbody></table></div>`;
}

export function PermissionsView() {
  return html`<${OfDirectory} title="Permissions" children=${(/** @type {string} */ directory) => html`<${Permissions} directory=${directory} />`} />`;
}

/** @param {{directory: string}} props */
function Permissions({ directory }) {
  const found = useAnswer(`/approvals?directory=${directory}`);
  const [left, setLeft] = useState(/** @type {string[] | null} */ (null));
  useEffect(() => setLeft(null), [directory]);
  const approvals = left ?? found;
  const revoke = async (/** @type {number} */ number, /** @type {string} */ words) => {
    const rest = await attempt(() => request("DELETE", `/approvals?directory=${directory}&number=${number}&words=${encodeURIComponent(words)}`));
    if (!rest) return;
    setLeft(rest);
    tell(`Revoked: ${words}`);
  };
  const trust = useAnswer(`/trust?directory=${directory}`);
  if (!approvals || !trust) return html`<${Loading} />`;
  /** @type {Record<string, string>} */
  const words = { trusted: "This project's files are trusted.", changed: "This project's files changed since they were trusted.", declined: "This project's files are not trusted.", unknown: "This project's files are not trusted yet." };
  return html`<section><h2>Trust</h2><p>${words[trust.state]}</p>
      ${trust.ignored.length > 0 && html`<p>Ignored until then:</p><ul>${trust.ignored.map((/** @type {string} */ each) => html`<li>${each}</li>`)}</ul><${Command} text=${trust.command} />`}</section>
    <section><h2>Always allowed</h2>
      ${approvals.length ? html`<ol class="approvals">${approvals.map((/** @type {string} */ each, /** @type {number} */ place) => html`<li><code>${each}</code>
        ${!isReadOnly.value && html`<button class="small" aria-label=${`Revoke ${each}`} onClick=${() => revoke(place + 1, each)}>Revoke</button>`}</li>`)}</ol>` : html`<p class="dim">Nothing is allowed permanently in this project.</p>`}</section>`;
}

/** A command for the server's machine. @param {{text: string}} props */
function Command({ text }) {
  return html`<span class="inline-command"><code>${text}</code> <${Copy} text=${text} /></span>`;
}
