// `NewSession`: the first prompt of a session, in any directory that the server offers; it is made when the prompt is sent.
import { useState } from "../vendor/hooks.js";
import { of, post, remember, remembered } from "../app/api.js";
import { html } from "../app/html.js";
import { go, sessionPath } from "../app/route.js";
import { attempt, rows, server } from "../app/store.js";
import { Composer } from "./composer.js";
import { expanded } from "./session.js";

export function NewSession() {
  const offered = server.value?.directories ?? [];
  const [isOther, setOther] = useState(false);
  const [directory, setDirectory] = useState(remembered("bridle-directory"));
  const isOffered = offered.some((each) => directory === each || directory.startsWith(`${each}/`));
  // What another server offered is remembered too.
  const chosen = isOther || isOffered ? directory : offered[0] ?? "";
  const change = (/** @type {any} */ event) => {
    setDirectory(event.target.value);
    remember("bridle-directory", event.target.value);
  };
  const known = [...new Set([...offered, ...[...rows.value.values()].map((row) => row.directory), ...(chosen && !isOther ? [chosen] : [])])];
  const pick = (/** @type {any} */ event) => {
    setOther(!event.target.value);
    if (event.target.value) change(event);
  };
  const send = async (/** @type {any} */ body) => {
    const { expand, ...prompt } = body;
    const made = await expanded(prompt, "", chosen);
    if (!made) return false;
    const session = await attempt(() => post("/sessions", { directory: chosen, first: { text: made.text, options: made.options } }));
    const sent = session && (await attempt(() => post(of(session.id, "/prompts"), made)));
    if (sent) go(sessionPath(session.id));
    return Boolean(sent);
  };
  return html`<main class="new-session">
    <header class="page-head"><h1>New session</h1></header>
    <label class="field">Directory
      <select value=${isOther ? "" : chosen} onChange=${pick}>
        ${known.map((each) => html`<option value=${each}>${each}</option>`)}
        <option value="">Another folder below these…</option>
      </select>
    </label>
    ${isOther && html`<label class="field">Path of the folder<input value=${chosen} onChange=${change} spellcheck="false" /></label>`}
    <${Composer} draftKey="new" directory=${chosen} busy=${false} agent="" model="" send=${send} />
  </main>`;
}
