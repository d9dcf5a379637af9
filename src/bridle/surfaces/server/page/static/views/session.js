// `SessionView`: one session: its head, its transcript, what it waits for, and the prompt.
import { signal } from "../vendor/signals.js";
import { useEffect, useMemo, useState } from "../vendor/hooks.js";
import { download, of, post, request } from "../app/api.js";
import { html } from "../app/html.js";
import { go, sessionPath } from "../app/route.js";
import { SessionFeed } from "../app/session_feed.js";
import { attempt, isReadOnly, tell } from "../app/store.js";
import { lastName, modelName, money, stateWords } from "../app/words.js";
import { copyText } from "../rows/copy.js";
import { AskCard } from "./asks.js";
import { Composer } from "./composer.js";
import { confirmed, open, prompted } from "./dialogs.js";
import { Gauge, share } from "./limits.js";
import { Panel, showChanges } from "./panel.js";
import { Timeline } from "./timeline.js";
import { Transcript } from "./transcript.js";

/** @param {{id: string, entry: number}} props */
export function SessionView({ id, entry }) {
  const [feed, setFeed] = useState(() => new SessionFeed(id, entry));
  const [details, setDetails] = useState(false);
  const given = useMemo(() => signal(""), [feed]);
  useEffect(() => {
    feed.start();
    return () => feed.stop();
  }, [feed]);
  const reload = () => {
    history.replaceState(null, "", sessionPath(id));
    setFeed(new SessionFeed(id, 0));
  };
  const actions = useMemo(() => actionsOf(feed, given, reload), [feed]);
  if (feed.problem.value) {
    return html`<main class="alone"><h1>No session here</h1><p>${feed.problem.value}</p><p><a href="#/">All sessions</a></p></main>`;
  }
  const summary = feed.summary.value;
  const directory = summary?.info.directory ?? "";
  const state = feed.model.status.value.state;
  actions.details = () => setDetails(!details);
  current.value = actions;
  return html`<main class=${`session ${details ? "with-details" : ""}`}>
    <${Head} feed=${feed} actions=${actions} details=${details} setDetails=${setDetails} />
    <div class="session-body">
      <div class="session-main">
        <${Transcript} feed=${feed} actions=${actions} directory=${directory}>
          <${Undone} feed=${feed} actions=${actions} />
          <${OtherAsks} feed=${feed} directory=${directory} />
          ${(state === "busy" || state === "retry") && html`<p class="working" role="status"><span class="pulse" aria-hidden="true"></span>${stateWords(state)}</p>`}
          ${state === "interrupted" && html`<${Interrupted} actions=${actions} />`}
        <//>
        <${Waiting} feed=${feed} actions=${actions} />
        ${!isReadOnly.value && summary && !summary.info.parent &&
        html`<${Composer} draftKey=${id} directory=${directory} busy=${state === "busy" || state === "retry" || state === "paused"} waits=${state === "paused"} agent=${summary.agent} model=${summary.model} send=${actions.send} abort=${actions.abort} given=${given} />`}
      </div>
      <${Panel} feed=${feed} />
    </div>
  </main>`;
}

/** The actions of the session that is shown, for shortcuts. @type {{value: any}} */
export const current = { value: null };

/** @param {any} feed @param {any} given @param {() => void} reload */
function actionsOf(feed, given, reload) {
  const { id, model } = feed;
  const act = (/** @type {string} */ path, /** @type {any} */ body = {}) => attempt(() => post(of(id, path), body));
  const after = async (/** @type {any} */ done) => done && feed.refresh();
  /** @type {any} */
  const actions = {
    reload,
    send: async (/** @type {any} */ body) => {
      const { expand, ...prompt } = body;
      const made = await expanded(prompt, model.id, feed.summary.value?.info.directory ?? "");
      const sent = made && (await act("/prompts", made));
      if (sent) actions.toEnd?.();
      await after(sent);
      return Boolean(sent);
    },
    abort: async () => after(await act("/abort")),
    resume: async () => after(await act("/resume")),
    continue: (/** @type {any} */ limits) => actions.send({ text: "continue", files: [], queue: false, options: { limits } }),
    continueWithMore: (/** @type {any} */ item) => {
      /** @type {Record<string, string>} */
      const names = { step_cap: "steps", tool_budget: "tool_calls", token_budget: "tokens", cost_budget: "cost", time_budget: "seconds" };
      const use = feed.summary.value.limits.find((/** @type {any} */ each) => each.name === names[item.reason] && each.scope === "turn");
      actions.continue(use?.allowed ? { [use.name]: use.allowed * 2 } : {});
    },
    isLast: (/** @type {any} */ item) => model.status.value.state === "idle" && item.turn === model.turn,
    withdraw: async (/** @type {string} */ prompt) => {
      const done = await attempt(() => request("DELETE", of(id, `/prompts/${encodeURIComponent(prompt)}`)));
      if (done && !done.withdrawn) tell("A turn has taken this prompt already.", "bad");
      await after(done);
      return done?.withdrawn;
    },
    edit: async (/** @type {any} */ prompt) => {
      if (await actions.withdraw(prompt.id)) given.value = prompt.text;
    },
    undoTo: (/** @type {any} */ item) => actions.undo(String(item.turn)),
    undo: async (/** @type {string} */ to = "") => {
      const done = await act("/undo", { to });
      if (!done) return;
      tell(`Turn ${done.turn} undone${done.files.length ? `, with ${done.files.length} file${done.files.length === 1 ? "" : "s"}` : ""}.`);
      if (done.prompt) given.value = done.prompt;
      await after(done);
    },
    redo: async () => {
      const done = await act("/redo");
      if (done) tell(`Turn ${done.turn} restored.`);
      await after(done);
    },
    forkBefore: async (/** @type {number | undefined} */ turn) => {
      const done = await act("/fork", turn ? { turn } : {});
      if (done) {
        tell("This is the fork.");
        go(sessionPath(done.id));
      }
    },
    describe: async (/** @type {any} */ body) => after(await attempt(() => request("PATCH", of(id), body))),
    rename: () => prompted("Rename session", model.title.value.slice(0, 100), "Rename", (title) => actions.describe({ title })),
    remove: () =>
      confirmed("Delete session", `"${model.title.value.slice(0, 80)}" is deleted with its subagents. Files stay as they are.`, "Delete", async () => {
        if (await attempt(() => request("DELETE", of(id)))) go("#/");
      }),
    compact: async () => after(await act("/compact")),
    link: async (/** @type {any} */ item) => {
      const url = `${location.origin}${location.pathname}${sessionPath(id)}/e/${item.after + 1}`;
      if (await copyText(url)) tell("Link copied.");
    },
    timeline: (/** @type {number} */ turn) => open(`Timeline of turn ${turn}`, html`<${Timeline} model=${model} turn=${turn} />`, "wide"),
    changes: (/** @type {number} */ turn) => showChanges(id, turn),
    export: () => attempt(() => download(of(id, "/export"), `${id}.json`)),
    report: () => attempt(() => download(of(id, "/report"), `${id}.html`)),
  };
  return actions;
}

/** Expand a slash command and read the files that a prompt names; null if a person declined. @param {any} prompt @param {string} session @param {string} directory */
export async function expanded(prompt, session, directory) {
  if (!/^\/|(^|\s)@/.test(prompt.text)) return prompt;
  const allowed = [];
  while (true) {
    const body = { text: prompt.text, typed: prompt.text, directory, allowed, agent: prompt.options.agent || null };
    const made = await attempt(() => post("/expansions", body));
    if (!made) return null;
    if (!made.question) {
      const options = { ...prompt.options, agent: prompt.options.agent || made.agent, model: prompt.options.model || made.model };
      return { ...prompt, text: made.text ?? "", files: [...prompt.files, ...(made.files ?? [])], wants: made.wants ?? [], subtask: made.subtask ?? "", queue: prompt.queue || Boolean(made.subtask), options };
    }
    if (!window.confirm(`The command runs in a shell:\n\n${made.question}\n\nRun it?`)) return null;
    allowed.push(made.question);
  }
}

/** @param {{feed: any, actions: any, details: boolean, setDetails: (on: boolean) => void}} props */
function Head({ feed, actions, details, setDetails }) {
  const summary = feed.summary.value;
  const state = feed.model.status.value.state;
  const limits = summary?.limits.filter((/** @type {any} */ use) => use.allowed !== null) ?? [];
  const nearest = limits.reduce((/** @type {any} */ best, /** @type {any} */ use) => (!best || share(use) > share(best) ? use : best), null);
  return html`<header class="session-head">
    <a class="back" href=${summary?.info.parent ? sessionPath(summary.info.parent) : "#/"} aria-label=${summary?.info.parent ? "Parent session" : "All sessions"}>←</a>
    <div class="title"><h1>${feed.model.title.value || "New session"}</h1>
      <p class="dim"><span class=${`state ${state}`}>${stateWords(state)}</span>
        ${summary && html` · <span title=${summary.info.directory}>${lastName(summary.info.directory)}</span> · ${summary.agent} · ${modelName(summary.model)} · ${money(summary.cost)}`}
        ${!feed.following.value && !feed.loading.value && html` · <span class="warn" role="status">reconnecting…</span>`}</p></div>
    ${nearest && html`<span class="head-gauge"><${Gauge} use=${nearest} small=${true} /></span>`}
    <button class="quiet details-button" aria-expanded=${details} onClick=${() => setDetails(!details)}>Details</button>
    <${Menu} summary=${summary} actions=${actions} />
  </header>`;
}

/** @param {{summary: any, actions: any}} props */
function Menu({ summary, actions }) {
  const [isOpen, setOpen] = useState(false);
  const pinned = Boolean(summary?.info.pinned), archived = Boolean(summary?.info.archived);
  const read = [["Copy link", () => actions.link({ after: 0 })], ["Changes", () => actions.changes(0)], ["Download report", actions.report], ["Export", actions.export]];
  const act = [
    ["Rename", actions.rename], ["Fork", () => actions.forkBefore()], ["Undo last turn", () => actions.undo()], ["Redo", actions.redo], ["Compact context", actions.compact],
    [pinned ? "Unpin" : "Pin", () => actions.describe({ pinned: !pinned })],
    [archived ? "Take back from archive" : "Archive", () => actions.describe({ archived: !archived })],
  ];
  const entries = isReadOnly.value || summary?.info.parent ? read : [...act, ...read, ["Delete…", actions.remove]];
  const pressed = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setOpen(false);
  const left = (/** @type {any} */ event) => !event.currentTarget.contains(event.relatedTarget) && setOpen(false);
  return html`<div class="menu" onKeyDown=${pressed} onFocusOut=${left}>
    <button class="quiet" aria-haspopup="true" aria-expanded=${isOpen} aria-label="More actions" onClick=${() => setOpen(!isOpen)}>⋯</button>
    ${isOpen && html`<ul class="menu-list">${entries.map(([name, run]) => html`<li><button class=${name === "Delete…" ? "bad" : ""} onClick=${() => { setOpen(false); /** @type {any} */ (run)(); }}>${name}</button></li>`)}</ul>`}
  </div>`;
}

/** @param {{feed: any, actions: any}} props */
function Undone({ feed, actions }) {
  const turn = feed.summary.value?.undone;
  if (!turn) return null;
  return html`<div class="notice undone" role="note">Turn ${turn} and later ones are undone.
    ${!isReadOnly.value && html` <button onClick=${actions.redo}>Redo</button>`}</div>`;
}

/** Asks whose call is not in the transcript, such as those of subagents. @param {{feed: any, directory: string}} props */
function OtherAsks({ feed, directory }) {
  const asks = [...feed.model.asks.value.values()].filter((ask) => !feed.model.byKey.has(ask.call));
  return asks.map((ask) => html`<${AskCard} key=${ask.id} ask=${ask} session=${feed.id} directory=${directory} />`);
}

/** @param {{actions: any}} props */
function Interrupted({ actions }) {
  return html`<div class="notice warn" role="note"><b>Interrupted.</b> No process drives this turn; nothing is lost.
    ${!isReadOnly.value && html`<p class="buttons"><button class="main" onClick=${actions.resume}>Resume</button><button onClick=${actions.abort}>End the turn</button></p>`}</div>`;
}

/** @param {{feed: any, actions: any}} props */
function Waiting({ feed, actions }) {
  const waiting = feed.summary.value?.waiting ?? [];
  if (!waiting.length) return null;
  return html`<ul class="unread" aria-label="Prompts that wait">
    ${waiting.map((/** @type {any} */ prompt) => html`<li>
      <span class="badge">${prompt.queue ? "queued" : "steers"}</span> <span class="clip">${prompt.text}</span>
      ${!isReadOnly.value && html`<button class="quiet small" onClick=${() => actions.edit(prompt)}>Edit</button>
        <button class="quiet small" onClick=${() => actions.withdraw(prompt.id)}>Withdraw</button>`}
    </li>`)}
  </ul>`;
}
