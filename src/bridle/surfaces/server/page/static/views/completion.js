// `Completion`: choices for `/command` and `@file` below the caret's word.
import { get } from "../app/api.js";
import { html } from "../app/html.js";

/** @typedef {{value: string, note: string}} Choice */

/** The word before the caret that can be completed. @param {string} text @param {number} caret */
export function wordAt(text, caret) {
  const before = text.slice(0, caret);
  const command = /^\/([\w:.-]*)$/.exec(before);
  if (command) return { sign: "/", word: command[1], start: 0 };
  const file = /(?:^|\s)@([^\s@]*)$/.exec(before);
  return file ? { sign: "@", word: file[1], start: caret - file[1].length - 1 } : null;
}

/** @param {{sign: string, word: string}} at @param {string} directory @returns {Promise<Choice[]>} */
export async function choicesFor(at, directory) {
  const where = `directory=${encodeURIComponent(directory)}`;
  if (at.sign === "@") {
    const files = await get(`/files/find?${where}&limit=12&text=${encodeURIComponent(at.word)}`);
    return files.map((/** @type {any} */ file) => ({ value: `@${file.path}`, note: file.kind === "folder" ? "folder" : "" }));
  }
  const commands = await get(`/commands?${where}`);
  return commands
    .filter((/** @type {any} */ each) => each.name.startsWith(at.word))
    .slice(0, 12)
    .map((/** @type {any} */ each) => ({ value: `/${each.name}`, note: each.description ?? "" }));
}

/** @param {{choices: Choice[], chosen: number, onPick: (choice: Choice) => void}} props */
export function Completion({ choices, chosen, onPick }) {
  return html`<ul class="completion" role="listbox" id="completion" aria-label="Completions">
    ${choices.map(
      (choice, place) => html`<li role="option" id=${`choice-${place}`} aria-selected=${place === chosen} onMouseDown=${(/** @type {Event} */ event) => {
        event.preventDefault();
        onPick(choice);
      }}><span>${choice.value}</span> <span class="dim">${choice.note}</span></li>`,
    )}
  </ul>`;
}
