// `QuestionForm`: the questions of a model with their options, and a field for an answer in one's own words.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";

/** @typedef {{question: string, header: string, options: {label: string, description: string}[], multiple: boolean}} Question */

/** @param {unknown} value */
const text = (value) => (typeof value === "string" ? value : "");

/** The questions of a call; none if its arguments are not as the tool wants them. @param {any} input @returns {Question[]} */
export function questionsOf(input) {
  const asked = Array.isArray(input?.questions) ? input.questions : [];
  return asked.map((/** @type {any} */ each) => ({
    question: text(each?.question),
    header: text(each?.header),
    options: (Array.isArray(each?.options) ? each.options : []).map((/** @type {any} */ option) => ({ label: text(option?.label ?? option), description: text(option?.description) })),
    multiple: each?.multiple === true,
  }));
}

/** @param {{ask: any, send: (body: any) => void, sent: boolean}} props */
export function QuestionForm({ ask, send, sent }) {
  const questions = questionsOf(ask.input);
  const reply = (/** @type {string} */ words) => send({ choice: "once", feedback: words });
  const dismiss = html`<button type="button" class="bad" disabled=${sent} onClick=${() => send({ choice: "reject" })}>Dismiss</button>`;
  if (questions.length > 1 || questions[0]?.multiple) return html`<${Several} questions=${questions} reply=${reply} sent=${sent} dismiss=${dismiss} />`;
  const labels = ask.choices.filter((/** @type {string} */ each) => !["once", "always", "reject"].includes(each));
  const options = questions[0]?.options ?? labels.map((/** @type {string} */ label) => ({ label, description: "" }));
  return html`
    ${options.length > 0 && html`<ul class="options">${options.map((/** @type {any} */ option) => html`<li>
      <button type="button" class="option" disabled=${sent} onClick=${() => reply(option.label)}><b>${option.label}</b>${option.description && html` <span class="dim">${option.description}</span>`}</button></li>`)}</ul>`}
    <${OwnAnswer} reply=${reply} sent=${sent} dismiss=${dismiss} />`;
}

/** @param {{reply: (words: string) => void, sent: boolean, dismiss: any}} props */
function OwnAnswer({ reply, sent, dismiss }) {
  const [own, setOwn] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (own.trim()) reply(own);
  };
  return html`<form class="own" onSubmit=${submit}>
    <label class="grow"><span class="hidden">Own answer</span><input type="text" placeholder="Answer in your own words" value=${own} onInput=${(/** @type {any} */ event) => setOwn(event.target.value)} /></label>
    <button class="main" disabled=${sent || !own.trim()}>Answer</button>
    ${dismiss}
  </form>`;
}

/** Several questions, or one with several answers. @param {{questions: Question[], reply: (words: string) => void, sent: boolean, dismiss: any}} props */
function Several({ questions, reply, sent, dismiss }) {
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    const answers = questions.map((each, place) => given.getAll(`${place}`).map(String).filter((words) => words.trim()).join(", "));
    if (answers.every((words) => !words)) return;
    reply(answers.length === 1 ? answers[0] : answers.map((words, place) => `${place + 1}. ${words || "(no answer)"}`).join("\n"));
  };
  return html`<form class="several" onSubmit=${submit}>
    ${questions.map((each, place) => html`<fieldset>
      <legend>${each.header && html`<span class="dim">${each.header}</span> `}${each.question}</legend>
      ${each.options.map((option) => html`<label class="tick"><input type=${each.multiple ? "checkbox" : "radio"} name=${`${place}`} value=${option.label} /> <span>${option.label}${option.description && html` <span class="dim">${option.description}</span>`}</span></label>`)}
      <input type="text" name=${`${place}`} aria-label=${`Own answer: ${each.question}`} placeholder="Answer in your own words" />
    </fieldset>`)}
    <p class="buttons"><button class="main" disabled=${sent}>Answer</button>${dismiss}</p>
  </form>`;
}
