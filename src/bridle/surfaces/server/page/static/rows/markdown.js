// `Markdown`: text of a model as elements, made from marked's tokens; raw HTML is shown as text.
import { Component } from "../vendor/preact.js";
import { marked } from "../vendor/marked.js";
import { html } from "../app/html.js";
import { Code } from "./code.js";

const LONGEST = 60_000;
/** @type {Record<string, string>} */
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", apos: "'", nbsp: "\u00a0" };

/** @param {{text: string, growing?: boolean}} props */
export function Markdown({ text, growing = false }) {
  if (text.length > LONGEST) return html`<pre class="long">${text}</pre>`;
  const blocks = marked.lexer(text).filter((token) => token.type !== "space" && token.type !== "def");
  const last = blocks.length - 1;
  return html`<div class="markdown">
    ${blocks.map((token, place) => html`<${Block} key=${place} token=${token} raw=${token.raw} growing=${growing && place === last} />`)}
  </div>`;
}

/** Preact's class, whose types are not vendored. @type {any} */
const Drawn = Component;

/** One block; blocks before the growing end are drawn once. */
class Block extends Drawn {
  /** @param {any} next */
  shouldComponentUpdate(next) {
    return next.raw !== this.props.raw || next.growing !== this.props.growing;
  }

  render() {
    return block(this.props.token, this.props.growing);
  }
}

/** @param {any} token @param {boolean} growing @returns {any} */
function block(token, growing) {
  switch (token.type) {
    case "heading":
      return html`<p class=${`heading h${token.depth}`} role="heading" aria-level=${Math.min(6, token.depth + 2)}>${inline(token.tokens)}</p>`;
    case "paragraph":
      return html`<p>${inline(token.tokens)}</p>`;
    case "code":
      return html`<${Code} text=${token.text} lang=${(token.lang ?? "").split(/\s/)[0]} growing=${growing} />`;
    case "blockquote":
      return html`<blockquote>${blocks(token.tokens, growing)}</blockquote>`;
    case "list":
      return list(token, growing);
    case "table":
      return table(token);
    case "hr":
      return html`<hr />`;
    case "text":
      return html`<p class="tight">${token.tokens ? inline(token.tokens) : entities(token.text)}</p>`;
    default:
      return html`<p>${token.raw}</p>`;
  }
}

/** @param {any[]} tokens @param {boolean} growing */
const blocks = (tokens, growing) => tokens.filter((token) => token.type !== "space").map((token) => block(token, growing));

/** @param {any} token @param {boolean} growing */
function list(token, growing) {
  const items = token.items.map(
    (/** @type {any} */ item) => html`<li class=${item.task ? "task" : ""}>
      ${item.task && html`<span class="box" aria-label=${item.checked ? "done" : "open"}>${item.checked ? "☑" : "☐"}</span>`}
      ${blocks(item.tokens.filter((/** @type {any} */ each) => each.type !== "checkbox"), growing)}
    </li>`,
  );
  return token.ordered ? html`<ol start=${token.start || 1}>${items}</ol>` : html`<ul>${items}</ul>`;
}

/** @param {any} token */
function table(token) {
  const side = (/** @type {any} */ each) => (each.align ? `to-${each.align}` : undefined);
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>
    <thead><tr>${token.header.map((/** @type {any} */ each) => html`<th scope="col" class=${side(each)}>${inline(each.tokens)}</th>`)}</tr></thead>
    <tbody>${token.rows.map((/** @type {any[]} */ row) => html`<tr>${row.map((each) => html`<td class=${side(each)}>${inline(each.tokens)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** @param {any[] | undefined} tokens @returns {any} */
function inline(tokens) {
  return (tokens ?? []).map((token) => {
    switch (token.type) {
      case "strong":
        return html`<strong>${inline(token.tokens)}</strong>`;
      case "em":
        return html`<em>${inline(token.tokens)}</em>`;
      case "del":
        return html`<del>${inline(token.tokens)}</del>`;
      case "codespan":
        return html`<code>${token.text}</code>`;
      case "br":
        return html`<br />`;
      case "link":
        return link(token.href, inline(token.tokens));
      case "image":
        // Nothing is fetched from elsewhere.
        return link(token.href, `image: ${token.text || token.href}`);
      case "escape":
        return token.text;
      case "text":
        return token.tokens ? inline(token.tokens) : entities(token.text);
      default:
        return token.raw;
    }
  });
}

/** A link to a web address or a mailbox; any other one is only text. @param {string} href @param {any} words */
function link(href, words) {
  if (!/^(https?:\/\/|mailto:)[^\s]+$/i.test(href)) return html`<span>${words}</span>`;
  return html`<a href=${href} title=${href} target="_blank" rel="noopener noreferrer">${words}</a>`;
}

/** @param {string} text */
const entities = (text) => text.replace(/&(amp|lt|gt|quot|#39|apos|nbsp);/g, (whole, name) => ENTITIES[name]);
