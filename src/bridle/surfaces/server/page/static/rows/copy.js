// `Copy`: a small button that copies a text, and says so.
import { useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { tell } from "../app/store.js";

/** @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    tell("The browser does not let this page copy.", "bad");
    return false;
  }
}

/** @param {{text: string, label?: string}} props */
export function Copy({ text, label = "Copy" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button class="quiet small" onClick=${copy}>${done ? "Copied" : label}</button>`;
}
