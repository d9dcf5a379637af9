"""Questions, lists, pages and commands in the background, as a turn uses them."""

import asyncio
import http.server
import threading
import tracemalloc
from pathlib import Path

import pytest
from support.session_tools import TOOLS, Use
from support.stories import tell

from bridle import Agent, Rule, ScriptedModel, call
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call
from bridle.core.permission import judge, strictest
from bridle.errors import ToolFailed
from bridle.tools.output_buffer import MOST_KEPT, Printed

COLOUR = {"question": "Which colour?", "options": [{"label": "bay"}, {"label": "grey", "description": "like rain"}]}
ASKED = call("question", questions=[COLOUR])
PAUSE = TurnOptions(on_ask="pause")


def asked(model, answer, feedback=""):
    seen = []

    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        seen.extend(result.asks)
        if result.asks:
            await runtime.answer(session, result.asks[0].id, answer, feedback)

    story = tell(model, tools=[TOOLS["question"]], options=PAUSE, people=people)
    return story, seen


def test_a_question_pauses_the_turn_and_the_answer_is_its_result():
    story, (ask,) = asked(ScriptedModel([ASKED, "A bay one, then."]), "once", "bay")
    assert (ask.kind, ask.choices, ask.text) == (
        "question",
        ("bay", "grey"),
        "Which colour?\n   1) bay\n   2) grey: like rain",
    )
    assert story.model.requests[-1].messages[-1].text == "The person answered: bay"
    assert (story.result.reason, story.result.text) == ("answered", "A bay one, then.")


def test_a_question_that_is_waved_away_ends_the_turn():
    story, _ = asked(ScriptedModel([ASKED, "never"]), "reject")
    assert story.result.reason == "denied"


def test_where_nobody_can_answer_no_question_is_offered():
    model = ScriptedModel(["done"])
    tell(model, tools=[TOOLS["question"], TOOLS["list"]])
    assert [tool.name for tool in model.requests[0].tools] == ["list"]


def test_the_list_of_what_is_to_be_done_is_kept_and_read():
    todos = [{"content": "feed", "status": "completed"}, {"content": "ride", "status": "in_progress"}]
    model = ScriptedModel([call("todowrite", todos=todos), call("todoread"), "done"])
    tell(model, tools=[TOOLS["todowrite"], TOOLS["todoread"]])
    assert model.requests[-1].messages[-1].text == "[x] feed\n[>] ride"


CHARSETS = {
    "utf-8": ("grün".encode(), "grün"),
    "ISO-8859-1": (b"gr\xfcn", "grün"),
    "windows-1252": (b"\x80 5", "€ 5"),
    "Shift_JIS": ("馬".encode("shift_jis"), "馬"),
    "gb2312": ("马".encode("gb18030"), "马"),
    "koi8-r": ("конь".encode("koi8-r"), "конь"),
    "punycode": (b"Mnchen-3ya", "Mnchen-3ya"),
    "utf-7": (b"+AOk-", "+AOk-"),
    "unicode_escape": (rb"\u00e9", r"\u00e9"),
    "raw_unicode_escape": (rb"\u00e9", r"\u00e9"),
    "idna": (b"xn--mnchen-3ya", "xn--mnchen-3ya"),
    "rot13": (b"horse", "horse"),
    "zlib": (b"horse", "horse"),
    "undefined": (b"horse", "horse"),
}
"""Names of charsets, what a server sends under each, and how it is read."""


class Pages(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        bodies = {
            "/page": ("text/html", b"<h1>Title</h1><script>x()</script><p>Some <b>bold</b> <a href='/x'>words</a></p>"),
            "/plain": ("text/plain", b"plain"),
            "/large": ("text/plain", b"x" * 6_000_000),
            "/binary": ("image/png", b"\x89PNG\0\0"),
            **{f"/charset/{name}": (f"text/plain; charset={name}", content) for name, (content, _) in CHARSETS.items()},
        }
        if self.path in ("/away", "/loud"):
            self.send_response(302)
            away = "/plain" if self.path == "/away" else f"http://LOCALHOST.:{self.server.server_port}/plain"
            self.send_header("Location", away)
            self.end_headers()
            return
        if self.path == "/slow":
            threading.Event().wait(5)
        media, body = bodies.get(self.path, ("text/plain", b""))
        self.send_response(200 if self.path in bodies else 404)
        self.send_header("Content-Type", media)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_page_comes_as_markdown_text_or_html(site, tmp_path):
    use = Use(tmp_path)
    assert use("webfetch", url=f"{site}/page").text == "# Title\n\nSome **bold** [words](/x)"
    assert use("webfetch", url=f"{site}/page", format="text").text.split() == ["Title", "Some", "bold", "words"]
    assert "<b>bold</b>" in use("webfetch", url=f"{site}/page", format="html").text
    assert use("webfetch", url=f"{site}/away").text == "plain"


@pytest.mark.parametrize("charset", CHARSETS)
def test_a_page_is_decoded_by_a_charset_of_the_web_or_as_utf_8(site, tmp_path, charset):
    assert Use(tmp_path)("webfetch", url=f"{site}/charset/{charset}").text == CHARSETS[charset][1]


REFUSED = {
    "/large": "is larger than 5000000 bytes",
    "/binary": "is not text",
    "/nowhere": "answered 404",
    "/slow": "did not answer within 1 s",
}


@pytest.mark.parametrize("path", REFUSED)
def test_what_cannot_be_fetched_is_said(site, tmp_path, path):
    with pytest.raises(ToolFailed, match=REFUSED[path]):
        Use(tmp_path)("webfetch", url=f"{site}{path}", timeout=1)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "http://", "gopher://x", "http://[", "x"])
def test_only_pages_are_fetched(tmp_path, url):
    with pytest.raises(ToolFailed, match="is not the address of a web page"):
        Use(tmp_path).needs("webfetch", {"url": url})


INNER = [
    "127.0.0.1",
    "localhost",
    "10.0.0.1",
    "169.254.169.254",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "192.168.1.1",
]


@pytest.mark.parametrize("host", INNER)
def test_what_is_not_on_the_public_internet_needs_a_permission_of_its_own(tmp_path, host):
    use = Use(tmp_path, rules=(Rule("webfetch", "*", "allow"),))
    assert use.needs("webfetch", {"url": f"http://{host}/x"})[-1].permission == "private_network"
    with pytest.raises(ToolFailed, match="is not on the public internet"):
        use.unasked("webfetch", url=f"http://{host}:9/x")


def in_background(tmp_path, *replies):
    """A turn whose commands go on; the calls of its session, and what is left running after it."""
    settings = Settings(sandbox=SandboxSettings(mode="off"))
    tools = [TOOLS["bash"], TOOLS["process"]]
    allowed = [Rule("*", "*", "allow")]
    model = ScriptedModel([*replies, "done"])
    agent = Agent("a", model=model, tools=tools, permission=allowed, settings=settings, directory=tmp_path)
    runtime = agent.runtime()

    async def work():
        async with runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            after = [found.status for found in runtime.commands.backgrounds.of(session).values()]
            parts = (await runtime.load(session)).parts.values()
            return [part.state.output for part in parts if isinstance(part, Call)], after

    return asyncio.run(work())


def alive(sign):
    looking_for = f"sleep\0{sign}\0".encode()
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists() and path.read_bytes() == looking_for]


def test_a_command_in_the_background_is_read_fed_listed_and_ended(tmp_path):
    outputs, left = in_background(
        tmp_path,
        call("bash", command="echo ready; while read line; do echo got $line; done", background=True),
        call("process", action="send", id="bg_1", text="hay\n"),
        call("process", action="list"),
        call("process", action="end", id="bg_1"),
        call("process", action="read", id="bg_1"),
    )
    assert outputs[:2] == ["ready\n\n[bg_1 is running]", "got hay\n\n[bg_1 is running]"]
    assert outputs[2].startswith("bg_1 is running: echo ready")
    assert outputs[3] == "[bg_1 was ended, nothing new was printed]"
    assert "There is no background command 'bg_1'" in outputs[4]
    assert left == []


def test_a_command_in_the_background_outlives_its_turn_but_not_its_runtime(tmp_path):
    _, left = in_background(tmp_path, call("bash", command="sleep 987123", background=True))
    assert left == [None]
    assert not alive(987123)


def test_a_command_in_the_background_that_ends_says_so(tmp_path):
    outputs, _ = in_background(tmp_path, call("bash", command="echo no; exit 3", background=True))
    assert outputs == ["no\n\n[bg_1 has ended with status 3]"]


def test_a_hundred_megabytes_of_output_cost_little_memory_and_are_kept_in_a_file(tmp_path):
    path = tmp_path / "whole.txt"
    printed = Printed(lambda: str(path))
    block = ("x" * 99 + "\n") * 640
    tracemalloc.start()
    for _ in range(100_000_000 // len(block)):
        printed.add(block)
    text = printed.text()
    printed.close()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8_000_000
    assert len(text) < 50_000
    assert f"the first {MOST_KEPT} bytes are in {path}" in text
    assert path.stat().st_size == MOST_KEPT
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_long_output_of_a_real_command_is_capped_stored_and_read(tmp_path):
    use = Use(tmp_path)
    text = use("bash", command="seq 1 300000").text
    assert text.startswith("1\n2\n") and text.endswith("299999\n300000\n")
    assert len(text) < 60_000


SPELLINGS = [
    "http://LOCALHOST:{}/plain",
    "http://localhost.:{}/plain",
    "http://localhost:0{}/plain",
    "http://127.1:{}/plain",
]


@pytest.mark.parametrize("url", SPELLINGS)
def test_a_rule_about_an_address_holds_however_a_model_spells_it(site, tmp_path, url):
    port = site.rpartition(":")[2]
    denied = [Rule("webfetch", f"http://{host}:{port}/*", "deny") for host in ("localhost", "127.0.0.1")]
    needed = Use(tmp_path).needs("webfetch", {"url": url.format(port)})
    assert strictest(judge([Rule("*", "*", "allow"), *denied], access) for access in needed) == "deny"
    assert Use(tmp_path)("webfetch", url=url.format(port)).text == "plain"


def test_an_address_with_a_user_in_it_is_refused(site, tmp_path):
    with pytest.raises(ToolFailed, match="is not the address of a web page"):
        Use(tmp_path).needs("webfetch", {"url": site.replace("http://", "http://a@")})


def test_a_redirection_is_judged_in_the_same_form(site, tmp_path):
    """The page leads to `LOCALHOST.`, which the rules know as `localhost`."""
    use = Use(tmp_path, rules=(Rule("*", "*", "allow"), Rule("webfetch", "http://localhost:*/*", "deny")))
    with pytest.raises(ToolFailed, match="was not allowed"):
        use.unasked("webfetch", url=f"{site}/loud")
