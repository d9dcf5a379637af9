// `RowMenu`: what can be done with a prompt or a reply: copy, link, fork, undo.
import { html } from "../app/html.js";
import { isReadOnly } from "../app/store.js";
import { Copy } from "./copy.js";

/** @param {{item: any, actions: any, text: string}} props */
export function RowMenu({ item, actions, text }) {
  const isPrompt = item.kind === "prompt";
  return html`<p class="row-menu">
    <${Copy} text=${text} />
    <button class="quiet small" onClick=${() => actions.link(item)}>Link</button>
    ${isPrompt && !isReadOnly.value && item.turn > 0 && html`
      <button class="quiet small" onClick=${() => actions.forkBefore(item.turn)}>Fork before</button>
      <button class="quiet small" onClick=${() => actions.undoTo(item)}>Undo from here</button>`}
  </p>`;
}
