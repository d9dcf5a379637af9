// The page: logs in, keeps the list of sessions current, and shows the view that the address names.
import { render } from "./vendor/preact.js";
import { useEffect, useState } from "./vendor/hooks.js";
import "./vendor/signals.js";
import { ApiError, logIn, pageKey, unreachable } from "./app/api.js";
import { html } from "./app/html.js";
import { Bell } from "./app/icons.js";
import { route } from "./app/route.js";
import { isReadOnly, keepRows, messages, notifies, readServer, server, setTheme, theme, toggleNotifications, waiting } from "./app/store.js";
import { DialogHost } from "./views/dialogs.js";
import { Login } from "./views/login.js";
import { NewSession } from "./views/new_session.js";
import { Overview, Sidebar } from "./views/overview.js";
import { SessionView } from "./views/session.js";
import { AgentsView, ConfigurationView, ModelsView, PermissionsView } from "./views/settings.js";
import { nextTheme, showKeys } from "./views/shortcuts.js";
import { StatsView } from "./views/stats.js";

/** @type {Record<string, () => any>} */
const VIEWS = { "": Overview, new: NewSession, stats: StatsView, agents: AgentsView, models: ModelsView, configuration: ConfigurationView, permissions: PermissionsView };
const LINKS = [["#/", "Sessions", ""], ["#/stats", "Usage", "stats"], ["#/agents", "Agents", "agents"], ["#/models", "Models", "models"], ["#/configuration", "Configuration", "configuration"], ["#/permissions", "Permissions", "permissions"]];

setTheme(theme.value);

/** The code of the link that opened this page; the address forgets it at once. */
const given = /^#code=([\w-]+)/.exec(location.hash)?.[1] ?? "";
if (given) history.replaceState(null, "", location.pathname + "#/");

function Page() {
  const [problem, setProblem] = useState("");
  const [code, setCode] = useState(given);
  const use = (/** @type {string} */ text) => {
    logIn(text).then(() => setProblem(""), (error) => {
      if (!(error instanceof ApiError)) throw error;
      setProblem(error.message);
    }).finally(() => setCode(""));
  };
  useEffect(() => {
    if (given) use(given);
  }, []);
  useEffect(() => {
    document.title = waiting.value.length ? `(${waiting.value.length}) Bridle` : "Bridle";
  }, [waiting.value.length]);
  if (code || !pageKey.value) return html`<${Login} problem=${problem} code=${code} use=${use} />`;
  return html`<${Inside} />`;
}

function Inside() {
  useEffect(() => {
    const abort = new AbortController();
    begin(abort.signal);
    return () => abort.abort();
  }, [pageKey.value]);
  const { view, session, entry } = route.value;
  const View = VIEWS[view];
  return html`<div class=${`frame ${view === "s" ? "with-session" : ""}`}>
    <a class="skip" href="#main" onClick=${toContent}>Skip to content</a>
    <${TopBar} view=${view} />
    ${unreachable.value ? html`<p class="banner" role="status">${unreachable.value} Trying again…</p>` : server.value?.sandbox && html`<p class="banner">On the server, ${server.value.sandbox}</p>`}
    <div class="frame-body" tabindex=${view === "s" ? undefined : 0}>
      ${view === "s" && html`<${Sidebar} open=${session} />`}
      ${view === "s" ? html`<${SessionView} key=${`${session}/${entry}`} id=${session} entry=${entry} />` : html`<${View} />`}
    </div>
    <${Messages} />
    <${DialogHost} />
  </div>`;
}

/** @param {Event} event */
function toContent(event) {
  event.preventDefault();
  const main = document.querySelector("main");
  if (!main) return;
  main.tabIndex = -1;
  main.focus();
}

/** @param {AbortSignal} abort */
async function begin(abort) {
  while (!abort.aborted) {
    try {
      await readServer();
      return await keepRows(abort);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 401) return;
    }
    await new Promise((wake) => setTimeout(wake, 1000));
  }
}

/** @param {{view: string}} props */
function TopBar({ view }) {
  return html`<header class="top">
    <a class="brand" href="#/" aria-label="Bridle: all sessions"><img src="page/icon.svg" alt="" width="22" height="22" />Bridle</a>
    <nav aria-label="Views">${LINKS.map(([path, words, name]) => html`<a href=${path} aria-current=${view === name ? "page" : undefined}>${words}</a>`)}</nav>
    <span class="top-tools">
      ${isReadOnly.value && html`<span class="badge">view only</span>`}
      ${waiting.value.length > 0 && html`<a class="badge warn" href=${`#/s/${encodeURIComponent(waiting.value[0].session)}`}>${waiting.value.length} waiting</a>`}
      <button class="quiet" aria-pressed=${notifies.value} title="Notifications" aria-label="Notifications" onClick=${toggleNotifications}><${Bell} on=${notifies.value} /></button>
      <button class="quiet" title="Colors" aria-label=${`Colors: ${theme.value}`} onClick=${nextTheme}>${{ auto: "◐", light: "☀", dark: "☾" }[theme.value]}</button>
      <button class="quiet" title="Keyboard shortcuts" aria-label="Keyboard shortcuts" onClick=${showKeys}>?</button>
    </span>
  </header>`;
}

function Messages() {
  return html`<div class="messages" role="status" aria-live="polite">
    ${messages.value.map((each) => html`<p key=${each.id} class=${`message ${each.kind}`}>${each.text}</p>`)}
  </div>`;
}

// What was painted until the modules had come.
document.getElementById("shell")?.remove();
render(html`<${Page} />`, /** @type {HTMLElement} */ (document.getElementById("page")));
