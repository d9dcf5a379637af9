// `Login`: how to get in; nothing else is shown without a login.
import { html } from "../app/html.js";

/** @param {{problem: string, code: string, use: (code: string) => void}} props */
export function Login({ problem, code, use }) {
  return html`<main class="alone login">
    <h1>Bridle</h1>
    ${problem && html`<p class="bad" role="alert">${problem}</p>`}
    ${code ? html`<p role="status">Logging in…</p>` : html`
    <p>This page opens with a link that works once. Make one on the server's machine:</p>
    <pre class="command"><span class="sign" aria-hidden="true">$ </span>bridle web</pre>
    <p class="dim">From another machine, forward the port first: <code>ssh -L ${location.port || 443}:localhost:${location.port || 443} SERVER</code></p>`}
  </main>`;
}
