// `AskCard`: what a session asks a person, with the change it would make, and the answers.
import { useState } from "../vendor/hooks.js";
import { ApiError, of, post } from "../app/api.js";
import { html } from "../app/html.js";
import { isReadOnly, tell } from "../app/store.js";
import { Diff } from "../rows/diff.js";
import { viewOf } from "../rows/tools.js";
import { QuestionForm, questionsOf } from "./question.js";

/** Answer an ask; the first answer counts. @param {string} session @param {any} body */
export async function answer(session, body) {
  try {
    await post(of(session, "/answers"), body);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const won = error.body?.answer?.choice;
    tell(error.status === 409 ? `It was answered already${won ? `: ${won}` : ""}.` : error.message, "bad");
    return error.status === 409;
  }
}

/** @param {{ask: any, session: string, directory: string, isShort?: boolean, isInCall?: boolean}} props */
export function AskCard({ ask, session, directory, isShort = false, isInCall = false }) {
  const [feedback, setFeedback] = useState("");
  const [rejecting, setRejecting] = useState(false);
  const [sent, setSent] = useState(false);
  const send = async (/** @type {any} */ body) => {
    setSent(true);
    if (!(await answer(session, { ask: ask.id, ...body }))) setSent(false);
  };
  const isOther = ask.session && ask.session !== session;
  const kind = ask.kind === "question" ? "Question" : ask.kind === "deferred" ? "Waits for a result" : "Permission";
  return html`<section class="ask" aria-label=${`${kind}: ${ask.text}`.slice(0, 200)}>
    <p class="ask-head"><span class="badge warn">${kind}</span>${isOther && html` <span class="dim">from a subagent</span>`}</p>
    <${About} ask=${ask} directory=${directory} isInCall=${isInCall} />
    ${ask.diff && html`<div class="ask-diff"><${Diff} text=${ask.diff} most=${isShort ? 8 : 60} /></div>`}
    ${isReadOnly.value
      ? html`<p class="dim">This login may only view.</p>`
      : ask.kind === "question"
        ? html`<${QuestionForm} ask=${ask} send=${send} sent=${sent} />`
        : html`<${Choices} ask=${ask} send=${send} sent=${sent} rejecting=${rejecting} setRejecting=${setRejecting} feedback=${feedback} setFeedback=${setFeedback} />`}
  </section>`;
}

/** What is asked; not what the head of its call or the form says already. @param {{ask: any, directory: string, isInCall: boolean}} props */
function About({ ask, directory, isInCall }) {
  const questions = ask.kind === "question" ? questionsOf(ask.input) : [];
  if (questions.length) return questions.length === 1 && !questions[0].multiple ? html`<p class="ask-text">${questions[0].question}</p>` : null;
  // The choices stand below as buttons.
  if (ask.kind === "question" && ask.choices.length) return html`<p class="ask-text">${ask.text.split("\n   1) ")[0]}</p>`;
  if (isInCall && ask.kind === "permission" && ask.diff) return null;
  if (ask.tool === "bash" && ask.input?.command) {
    return html`<pre class="command" tabindex="0" role="group" aria-label="Command"><span class="sign" aria-hidden="true">$ </span>${String(ask.input.command)}</pre>`;
  }
  const summary = ask.tool && ask.input ? viewOf(ask.tool).summary(ask.input, directory) : "";
  return html`<p class="ask-text">${ask.kind === "question" || !summary ? ask.text : html`<b>${ask.tool}</b> ${summary}`}</p>`;
}

/** @param {any} props */
function Choices({ ask, send, sent, rejecting, setRejecting, feedback, setFeedback }) {
  const can = (/** @type {string} */ choice) => ask.choices.includes(choice);
  if (rejecting) {
    const reject = (/** @type {Event} */ event) => {
      event.preventDefault();
      send({ choice: "reject", feedback });
    };
    return html`<form onSubmit=${reject}>
      <label>What should it do instead? <span class="dim">Empty ends the turn.</span>
        <textarea rows="2" value=${feedback} onInput=${(/** @type {any} */ event) => setFeedback(event.target.value)}></textarea></label>
      <p class="buttons"><button class="bad" disabled=${sent}>Reject</button><button type="button" onClick=${() => setRejecting(false)}>Back</button></p>
    </form>`;
  }
  const covers = (ask.always ?? []).join(", ");
  return html`<p class="buttons">
      ${can("once") && html`<button class="main" disabled=${sent} onClick=${() => send({ choice: "once" })}>Allow once</button>`}
      ${can("always") && html`<button disabled=${sent} onClick=${() => send({ choice: "always" })}>Always${covers ? " allow" : ""}</button>`}
      ${can("reject") && html`<button class="bad" disabled=${sent} onClick=${() => setRejecting(true)}>Reject…</button>`}
    </p>
    ${can("always") && covers && html`<p class="dim covers">Always covers <code>${covers}</code></p>`}`;
}
