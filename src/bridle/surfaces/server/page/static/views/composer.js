// `Composer`: the prompt with files, completion, agent, model and variant; its draft outlives a reload.
import { useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.js";
import { get, remember, remembered } from "../app/api.js";
import { html } from "../app/html.js";
import { attempt, tell } from "../app/store.js";
import { modelName } from "../app/words.js";
import { Completion, choicesFor, wordAt } from "./completion.js";

const MOST_BYTES = 20 << 20;

/** Read a dropped or pasted file. @param {File} file @returns {Promise<any>} */
async function attached(file) {
  if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than 20 MB`);
  const path = file.name || "pasted";
  if (file.type.startsWith("image/") || file.type === "application/pdf") {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let binary = "";
    for (let place = 0; place < bytes.length; place += 0x8000) binary += String.fromCharCode(...bytes.subarray(place, place + 0x8000));
    return { path, media: file.type, data: btoa(binary), url: file.type.startsWith("image/") ? URL.createObjectURL(file) : "" };
  }
  return { path, text: await file.text() };
}

/** What can be chosen in a directory. @param {string} directory */
function useChoices(directory) {
  const [found, setFound] = useState(/** @type {any} */ ({ agents: [], default: "", models: [], model: "" }));
  useEffect(() => {
    let wanted = true;
    const where = `directory=${encodeURIComponent(directory)}`;
    attempt(async () => {
      const [agents, models, known] = await Promise.all([get(`/agents?${where}`), get(`/models/rows?${where}`), get(`/models?${where}`)]);
      if (wanted) setFound({ model: known.default, agents: agents.agents.filter((/** @type {any} */ each) => each.mode !== "subagent" && !each.hidden), default: agents.default, models });
    });
    return () => {
      wanted = false;
    };
  }, [directory]);
  return found;
}

/**
 * @param {{draftKey: string, directory: string, busy: boolean, waits?: boolean, agent: string, model: string,
 *   send: (body: any) => Promise<boolean>, abort?: () => void, given?: {value: string}}} props
 */
export function Composer({ draftKey, directory, busy, waits, agent, model, send, abort, given }) {
  const key = `bridle-draft-${draftKey}`;
  const [text, setText] = useState(remembered(key));
  const [files, setFiles] = useState(/** @type {any[]} */ ([]));
  const [chosen, setChosen] = useState({ agent: "", model: "", variant: "" });
  const [sending, setSending] = useState(false);
  const area = useRef(/** @type {any} */ (null));
  const found = useChoices(directory);
  const complete = useCompletion(area, text, directory, change);

  function change(/** @type {string} */ next) {
    setText(next);
    remember(key, next);
  }

  useEffect(() => {
    if (given?.value) {
      change(given.value);
      given.value = "";
      area.current.focus();
    }
  }, [given?.value]);

  useLayoutEffect(() => {
    if (!area.current) return;
    area.current.style.height = "auto";
    area.current.style.height = `${Math.min(260, area.current.scrollHeight + 2)}px`;
  }, [text]);

  const add = async (/** @type {FileList | File[]} */ list) => {
    for (const file of list) {
      try {
        const made = await attached(file);
        setFiles((before) => [...before, made]);
      } catch (error) {
        tell(String(/** @type {Error} */ (error).message), "bad");
      }
    }
  };

  const submit = async (/** @type {boolean} */ queue) => {
    if (sending || (!text.trim() && !files.length)) return;
    setSending(true);
    const options = Object.fromEntries(Object.entries(chosen).filter(([, value]) => value));
    const sent = files.map(({ url, ...file }) => file);
    if (await send({ text, files: sent, queue, options, expand: true })) {
      change("");
      setFiles([]);
    }
    setSending(false);
    area.current?.focus();
  };

  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (complete.pressed(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit(event.altKey);
    }
  };

  return html`<form class="composer" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); submit(false); }}
    onDragOver=${(/** @type {Event} */ event) => event.preventDefault()}
    onDrop=${(/** @type {DragEvent} */ event) => { event.preventDefault(); if (event.dataTransfer) add(event.dataTransfer.files); }}>
    ${complete.choices.length > 0 && html`<${Completion} choices=${complete.choices} chosen=${complete.place} onPick=${complete.pick} />`}
    <${Files} files=${files} setFiles=${setFiles} />
    <label class="hidden" for="prompt">Prompt</label>
    <textarea id="prompt" ref=${area} rows="1" value=${text} aria-controls=${complete.choices.length ? "completion" : undefined}
      aria-activedescendant=${complete.choices.length ? `choice-${complete.place}` : undefined}
      placeholder=${waits ? "Say what to do instead…" : busy ? "Steer the running turn…" : innerWidth < 640 ? "Ask for something…" : "Ask for something… (/ for commands, @ for files)"}
      onInput=${(/** @type {any} */ event) => change(event.target.value)} onKeyDown=${pressed} onKeyUp=${complete.look} onClick=${complete.look}
      onPaste=${(/** @type {ClipboardEvent} */ event) => { const given = event.clipboardData?.files; if (given?.length) { event.preventDefault(); add(given); } }}></textarea>
    <div class="composer-bar">
      <${Choosers} found=${found} chosen=${chosen} setChosen=${setChosen} agent=${agent} model=${model} />
      <span class="buttons">
        <label class="button quiet attach">Attach<input type="file" class="hidden" multiple onChange=${(/** @type {any} */ event) => { add(event.target.files); event.target.value = ""; }} /></label>
        ${busy && abort && html`<button type="button" class="bad" onClick=${abort}>Stop</button>`}
        ${busy && html`<button type="button" title="Ask in a turn of its own, after this one (Alt Enter)" disabled=${sending || !text.trim()} onClick=${() => submit(true)}>Queue</button>`}
        <button class="main" title=${waits ? "Reject what is asked, with this text as the reason" : busy ? "Tell the running turn, before its next step" : undefined} disabled=${sending || (!text.trim() && !files.length)}>${waits ? "Reject and send" : busy ? "Steer" : "Send"}</button>
      </span>
    </div>
  </form>`;
}

/** @param {{files: any[], setFiles: (files: any[]) => void}} props */
function Files({ files, setFiles }) {
  if (!files.length) return null;
  return html`<ul class="attached">
    ${files.map((file, place) => html`<li class="chip">
      ${file.url && html`<img src=${file.url} alt="" />`}
      <span>${file.path}</span>
      <button type="button" class="quiet small" aria-label=${`Remove ${file.path}`} onClick=${() => setFiles(files.filter((each, other) => other !== place))}>✕</button>
    </li>`)}
  </ul>`;
}

/** @param {any} props */
function Choosers({ found, chosen, setChosen, agent, model }) {
  const info = found.models.map((/** @type {any} */ row) => row.info);
  const current = chosen.model || model || found.model;
  const variants = Object.keys(info.find((/** @type {any} */ each) => each.ref === current)?.variants ?? {});
  const set = (/** @type {string} */ name) => (/** @type {any} */ event) => setChosen({ ...chosen, [name]: event.target.value });
  return html`<span class="choosers">
    <label><span class="hidden">Agent</span><select value=${chosen.agent} onChange=${set("agent")}>
      <option value="">${agent || found.default || "agent"}</option>
      ${found.agents.filter((/** @type {any} */ each) => each.name !== (agent || found.default)).map((/** @type {any} */ each) => html`<option value=${each.name}>${each.name}</option>`)}
    </select></label>
    <label><span class="hidden">Model</span><select value=${chosen.model} onChange=${set("model")}>
      <option value="">${model || found.model ? modelName(model || found.model) : "no model"}</option>
      ${info.filter((/** @type {any} */ each) => each.ref !== (model || found.model)).map((/** @type {any} */ each) => html`<option value=${each.ref}>${each.ref}</option>`)}
    </select></label>
    ${variants.length > 0 && html`<label><span class="hidden">Variant</span><select value=${chosen.variant} onChange=${set("variant")}>
      <option value="">usual variant</option>
      ${variants.map((name) => html`<option value=${name}>${name}</option>`)}
    </select></label>`}
  </span>`;
}

/** @param {any} area @param {string} text @param {string} directory @param {(text: string) => void} change */
function useCompletion(area, text, directory, change) {
  const [state, setState] = useState(/** @type {any} */ ({ choices: [], place: 0, at: null }));
  const wanted = useRef(0);
  const close = () => setState({ choices: [], place: 0, at: null });
  const look = async () => {
    const at = wordAt(area.current.value, area.current.selectionStart);
    if (!at) return state.choices.length && close();
    if (state.at && state.at.sign === at.sign && state.at.word === at.word) return;
    const number = (wanted.current += 1);
    const choices = (await attempt(() => choicesFor(at, directory))) ?? [];
    if (number === wanted.current) setState({ choices, place: 0, at });
  };
  const pick = (/** @type {any} */ choice) => {
    const { at } = state;
    const rest = text.slice(at.start + at.word.length + 1);
    change(`${text.slice(0, at.start)}${choice.value} ${rest.trimStart()}`);
    close();
  };
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (!state.choices.length) return false;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step) setState({ ...state, place: (state.place + step + state.choices.length) % state.choices.length });
    else if (event.key === "Enter" || event.key === "Tab") pick(state.choices[state.place]);
    else if (event.key === "Escape") close();
    else return false;
    event.preventDefault();
    return true;
  };
  return { ...state, look, pick, pressed };
}
