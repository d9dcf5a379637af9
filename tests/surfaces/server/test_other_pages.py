"""A hostile page on another port of the same host, in Chromium: it gets the page's cookie, and can do nothing."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest
from support.page_reader import Reader, opened_browser
from support.served_home import created

TRIES = """
async (target) => {
  const told = [];
  const attempt = async (name, work) => {
    try { told.push([name, await work()]); } catch (error) { told.push([name, "refused"]); }
  };
  const loaded = (element) => new Promise((done) => {
    element.onload = () => done("loaded"); element.onerror = () => done("refused");
    document.body.append(element); setTimeout(() => done("nothing"), 3000);
  });
  const json = JSON.stringify({ id: "intruder" });
  const get = (path, options) => fetch(target + path, { credentials: "include", ...options });
  const read = async (path, options) => (await get(path, options)).text();
  await attempt("read", () => read("/bridle/sessions"));
  await attempt("read page", () => read("/"));
  await attempt("header", () => read("/bridle/sessions", { headers: { "X-Bridle-Page": "guessed" } }));
  await attempt("write", () => read("/bridle/sessions", { method: "POST", body: json }));
  await attempt("code", () => read("/bridle/logins", { method: "POST", body: "{}" }));
  const blind = (path, body) => fetch(target + path, { mode: "no-cors", credentials: "include", method: "POST", body });
  await attempt("blind write", async () => (await blind("/bridle/sessions", json)).type);
  await attempt("blind prompt", async () => (await blind("/bridle/sessions/known/prompts", '{"text": "x"}')).type);
  await attempt("opencode", async () => (await blind("/session", "{}")).type);
  navigator.sendBeacon(target + "/bridle/sessions", json);
  await attempt("events", () => new Promise((done) => {
    const source = new EventSource(target + "/bridle/events", { withCredentials: true });
    source.onmessage = () => done("read"); source.onerror = () => { source.close(); done("refused"); };
  }));
  const script = Object.assign(document.createElement("script"), { src: target + "/bridle/sessions" });
  await attempt("script", () => loaded(script));
  const image = Object.assign(document.createElement("img"), { src: target + "/bridle/sessions/known/export" });
  await attempt("image", () => loaded(image));
  const frame = Object.assign(document.createElement("iframe"), { src: target + "/" });
  await attempt("frame", async () => { await loaded(frame); return frame.contentDocument ? "read" : "refused"; });
  const form = Object.assign(document.createElement("form"), { action: target + "/bridle/sessions", method: "POST" });
  form.target = "sink"; form.enctype = "text/plain";
  form.append(Object.assign(document.createElement("input"), { name: '{"id": "intruder", "x": "', value: '"}' }));
  const sink = Object.assign(document.createElement("iframe"), { name: "sink" });
  document.body.append(sink, form); form.submit();
  await attempt("form", () => new Promise((done) => { setTimeout(() => done("sent"), 300); }));
  await attempt("storage", async () => JSON.stringify({ ...localStorage, ...sessionStorage }));
  await attempt("opened", async () => {
    const other = window.open(target + "/"); await new Promise((done) => setTimeout(done, 300));
    return other && !other.closed && other.document ? "read" : "refused";
  });
  return told;
}
"""
HARMLESS = {"refused", "nothing", "opaque", "sent", "{}"}


class Evil(BaseHTTPRequestHandler):
    """Answers with an empty page, and keeps the cookies that browsers send."""

    cookies: list[str]

    def do_GET(self):
        type(self).cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>evil</title><body>")

    def log_message(self, *words):
        pass


@pytest.fixture
def evil():
    """A hostile server on another port of the same host."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Kept", (Evil,), {"cookies": []}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_page_on_another_port_that_got_the_cookie_can_do_nothing(shared, evil):
    server = shared.servers[0]
    with shared.client(server) as client:
        created(client, id="known")
    with opened_browser() as browser:
        reader = Reader(browser, server).log_in(shared)
        hostile = reader.context.new_page()
        hostile.goto(f"http://127.0.0.1:{evil.server_port}/")
        told = dict(hostile.evaluate(TRIES, server.url))
        reader.context.close()
    passed = {name: words for name, words in told.items() if words not in HARMLESS}
    assert passed == {}
    assert len(told) == 15
    # The browser has sent the cookie there: cookies know no ports. The server that got it has no more than the page.
    (cookie,) = {each for each in evil.RequestHandlerClass.cookies if each}
    assert cookie.startswith(f"bridle-page-{server.port}=")
    secret = cookie.partition("=")[2]
    with httpx2.Client(base_url=server.url, headers={"Cookie": cookie}) as replay:
        guesses = [{}, {"X-Bridle-Page": ""}, {"X-Bridle-Page": secret}, {"Authorization": f"Bearer {secret}"}]
        for more in guesses:
            assert replay.get("/bridle/sessions", headers=more).status_code == 401
            assert replay.post("/bridle/sessions", json={"id": "intruder"}, headers=more).status_code == 401
    with shared.client(server) as client:
        assert client.get("/bridle/sessions/intruder").status_code == 404
        assert client.get("/bridle/sessions/known").json()["turns"] == 0
