// `Code`: a block of code, highlighted once it is whole, with a button that copies it.
import { useEffect, useState } from "../vendor/hooks.js";
import { html } from "../app/html.js";
import { Copy } from "./copy.js";

const MOST_HIGHLIGHTED = 12_000;
const MOST_SPANS = 260;
/** @type {Record<string, string>} */
const NAMES = {
  sh: "bash", shell: "bash", zsh: "bash", console: "bash", js: "javascript", jsx: "javascript", mjs: "javascript",
  ts: "typescript", tsx: "typescript", py: "python", rb: "ruby", rs: "rust", yml: "yaml", html: "xml", svg: "xml",
  toml: "ini", cs: "csharp", "c++": "cpp", h: "c", hpp: "cpp", kt: "kotlin", md: "markdown", mk: "makefile", pl: "perl",
};
const KNOWN = new Set(
  ("bash c cpp csharp css diff dockerfile go ini java javascript json kotlin lua makefile markdown perl php python ruby " +
    "rust scala sql swift typescript xml yaml").split(" "),
);
/** @type {Map<string, Promise<any>>} */
const loading = new Map();

/** Return highlight.js with a language; null for an unknown one. @param {string} name */
async function highlighter(name) {
  const known = NAMES[name.toLowerCase()] ?? name.toLowerCase();
  if (!KNOWN.has(known)) return null;
  if (!loading.has(known)) loading.set(known, load(known));
  return loading.get(known);
}

/** @param {string} name */
async function load(name) {
  const [{ default: core }, { default: language }] = await Promise.all([
    import("../vendor/highlight.js"),
    import(`../vendor/languages/${name}.js`),
  ]);
  core.registerLanguage(name, language);
  return (/** @type {string} */ text) => core.highlight(text, { language: name, ignoreIllegals: true })._emitter.rootNode;
}

/** @param {any} node @param {{left: number}} budget @returns {any} */
function elements(node, budget) {
  if (typeof node === "string") return node;
  const inside = node.children.map((/** @type {any} */ child) => elements(child, budget));
  if (!node.scope || budget.left <= 0) return inside;
  budget.left -= 1;
  return html`<span class=${`c-${node.scope.split(".")[0].replace(/[^a-z-]/g, "")}`}>${inside}</span>`;
}

/** @param {{text: string, lang?: string, growing?: boolean, label?: string}} props */
export function Code({ text, lang = "", growing = false, label = "" }) {
  const [tree, setTree] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (growing || !lang || text.length > MOST_HIGHLIGHTED) return setTree(null);
    let wanted = true;
    highlighter(lang).then((highlight) => wanted && highlight && setTree({ text, root: highlight(text) }));
    return () => {
      wanted = false;
    };
  }, [text, lang, growing]);
  const shown = tree && tree.text === text ? elements(tree.root, { left: MOST_SPANS }) : text;
  return html`<div class="code">
    <div class="code-bar"><span>${label || lang || "text"}</span><${Copy} text=${text} /></div>
    <pre tabindex="0" role="group" aria-label=${`Code: ${label || lang || "text"}`}><code>${shown}</code></pre>
  </div>`;
}
