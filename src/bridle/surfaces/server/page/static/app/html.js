// `html`: builds Preact elements from tagged templates; no text ever becomes HTML.
import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);
