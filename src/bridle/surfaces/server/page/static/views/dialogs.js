// `Dialog`: a modal dialog of the browser's own kind; `confirmed` asks a question in one.
import { useEffect, useRef } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { dialog } from "../app/store.js";

/** Open a dialog. @param {string} title @param {any} body @param {string} [size] */
export function open(title, body, size = "") {
  dialog.value = { title, body, size };
}

export function close() {
  dialog.value = null;
}

/** The dialog that is open, if any. */
export function DialogHost() {
  return dialog.value ? html`<${Dialog} key=${dialog.value.title} ...${dialog.value} />` : null;
}

/** @param {{title: string, body: any, size: string}} props */
function Dialog({ title, body, size }) {
  const box = useRef(/** @type {any} */ (null));
  useEffect(() => {
    const before = /** @type {any} */ (document.activeElement);
    box.current.showModal();
    return () => before?.focus?.();
  }, []);
  const outside = (/** @type {any} */ event) => event.target === box.current && close();
  return html`<dialog ref=${box} class=${`dialog ${size}`} aria-label=${title} onClose=${close} onClick=${outside}>
    <div class="dialog-inside">
      <header><h2>${title}</h2><button class="quiet" aria-label="Close" onClick=${close}>✕</button></header>
      ${body}
    </div>
  </dialog>`;
}

/** Ask before something that cannot be undone. @param {string} title @param {string} text @param {string} verb @param {() => any} act */
export function confirmed(title, text, verb, act) {
  const done = () => {
    close();
    act();
  };
  open(title, html`<p>${text}</p><p class="buttons end"><button onClick=${close}>Cancel</button><button class="bad strong" onClick=${done}>${verb}</button></p>`);
}

/** Ask for a line of text. @param {string} title @param {string} value @param {string} verb @param {(text: string) => any} act */
export function prompted(title, value, verb, act) {
  const submit = (/** @type {any} */ event) => {
    event.preventDefault();
    const text = event.target.elements.text.value.trim();
    close();
    if (text) act(text);
  };
  open(title, html`<form onSubmit=${submit}><label class="grow"><span class="hidden">${title}</span><input name="text" type="text" maxlength="100" defaultValue=${value} autofocus /></label>
    <p class="buttons end"><button type="button" onClick=${close}>Cancel</button><button class="main">${verb}</button></p></form>`);
}
