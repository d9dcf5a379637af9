// `Picture`: an image of a session, fetched with the page's login; what cannot be read is only its name.
import { useEffect, useState } from "../vendor/hooks.js";
import { bytes, get } from "../app/api.js";
import { html } from "../app/html.js";
import { lastName } from "../app/words.js";

/** Whether a name is that of an image which browsers show and which runs nothing. @param {string} path */
export const isPicture = (path) => /\.(png|jpe?g|gif|webp)$/i.test(path);

/** @param {{path: string, read: () => Promise<Blob>}} props */
export function Picture({ path, read }) {
  const [url, setUrl] = useState("");
  const [isLarge, setLarge] = useState(false);
  useEffect(() => {
    let made = "", wanted = true;
    read().then(
      (content) => {
        made = URL.createObjectURL(content);
        if (wanted) setUrl(made);
        else URL.revokeObjectURL(made);
      },
      () => setUrl(""),
    );
    return () => {
      wanted = false;
      URL.revokeObjectURL(made);
    };
  }, [path]);
  if (!url) return html`<span class="chip">${path}</span>`;
  return html`<button class=${`picture ${isLarge ? "large" : ""}`} aria-label=${`${isLarge ? "Shrink" : "Enlarge"} ${path}`} onClick=${() => setLarge(!isLarge)}><img src=${url} alt=${lastName(path)} /></button>`;
}

/** A file that came with a prompt. @param {string} session @param {string} prompt @param {number} number */
export const promptFile = (session, prompt, number) => bytes(`/sessions/${encodeURIComponent(session)}/prompts/${encodeURIComponent(prompt)}/files/${number}`);

/** A file of a directory, as it is now. @param {string} directory @param {string} path */
export async function fileOf(directory, path) {
  const { data } = await get(`/files/read?directory=${encodeURIComponent(directory)}&path=${encodeURIComponent(path)}`);
  return new Blob([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))]);
}
