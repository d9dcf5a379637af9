// `safe`: replaces invisible and controlling characters in text from outside, one for one, before anything shows it.

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u;
const EACH = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;
const KEPT = new Set(["\n", "\t", "\r"]);
const JOINERS = new Set(["\u200c", "\u200d"]);
const JOINED = /[\u203c-\u3299\ufe0f\u{1f000}-\u{1faff}\u0600-\u0dff]/u;

/** @param {string} text */
export function safe(text) {
  if (!HIDDEN.test(text)) return text;
  return text.replace(EACH, (letter, place) => {
    if (KEPT.has(letter)) return letter;
    if (!JOINERS.has(letter)) return "\ufffd";
    const before = lastLetter(text, place);
    const after = String.fromCodePoint(text.codePointAt(place + 1) ?? 32);
    return JOINED.test(before) && JOINED.test(after) ? letter : "\ufffd";
  });
}

/** @param {string} text @param {number} place */
function lastLetter(text, place) {
  const unit = text.charCodeAt(place - 1);
  const start = unit >= 0xdc00 && unit <= 0xdfff ? place - 2 : place - 1;
  return String.fromCodePoint(text.codePointAt(Math.max(0, start)) ?? 32);
}

/** Parse JSON of the server, with every text in it made safe. @param {string} raw */
export function safeJson(raw) {
  const plain = !/[^\x20-\x7e\s]|\\u/.test(raw);
  return plain ? JSON.parse(raw) : JSON.parse(raw, (key, value) => (typeof value === "string" ? safe(value) : value));
}

/** The number of characters as the server counts them. @param {string} text */
export function characters(text) {
  let count = 0;
  for (let place = 0; place < text.length; place += 1) {
    const unit = text.charCodeAt(place);
    if (unit >= 0xd800 && unit <= 0xdbff) place += 1;
    count += 1;
  }
  return count;
}

/** The first characters, as the server counts them. @param {string} text @param {number} most */
export function firstCharacters(text, most) {
  if (characters(text) === text.length) return text.slice(0, most);
  return Array.from(text).slice(0, most).join("");
}
