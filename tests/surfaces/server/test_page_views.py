"""Every view of the page: axe-core finds nothing serious, keys reach everything, and little is transferred."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest
from support.cli_home import calls, settings
from support.page_reader import Reader, axe_source, opened_browser
from support.served_home import created, new_home, prompt, result
from support.source import SOURCE

OUTLINES = Path(__file__).parents[2] / "data" / "page_outlines"
STATIC = SOURCE / "surfaces" / "server" / "page" / "static"
MOST_TRANSFERRED = 150_000
MOST_IN_WHEEL = 1_000_000
VIEWS = {
    "overview": ("#/", "Fix the total"),
    "session": ("#/s/{done}", "All done."),
    "ask": ("#/s/{asks}", "Allow once"),
    "new": ("#/new", "New session"),
    "usage": ("#/stats", "By day"),
    "agents": ("#/agents", "default"),
    "models": ("#/models", "Window"),
    "configuration": ("#/configuration", "permission"),
    "permissions": ("#/permissions", "Always allowed"),
}
FIRST_LINES = {"models": 10, "configuration": 28}
"""Views whose further rows are those of the machine and of the list of settings."""
TODOS = ("todowrite", {"todos": [{"content": "Read", "status": "completed"}, {"content": "Mend", "status": "pending"}]})
EDIT = ("write", {"filePath": "made.py", "content": "def one():\n    return 1\n"})
BASH = ("bash", {"command": "echo fine", "description": "Look"})
ANSWER = "All done.\n\n- one\n- two\n\n```python\nprint(1)\n```\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"


@pytest.fixture(scope="module")
def shown():
    """A home with a finished session and one that waits, and the ids of both."""
    home = new_home()
    settings(home.home, '[permission]\nbash = "allow"\nwebfetch = "ask"\n')
    server = home.serve()
    with home.client(server) as client:
        model = home.home.script(calls(TODOS, BASH), calls(EDIT), ANSWER, name="done.json")
        done = created(client)
        found = result(client, done, prompt(client, done, "Fix the total", model, options={"limits": {"steps": 3}}))
        assert found["reason"] == "step_cap"
        asks = created(client)
        web = ("webfetch", {"url": "https://example.org/", "format": "text"})
        waits = home.home.script(calls(web), "Done.", name="asks.json")
        assert result(client, asks, prompt(client, asks, "Look it up", waits))["reason"] == "paused"
    yield home, server, {"done": done, "asks": asks}
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module", params=["light", "dark"])
def window(request, browser, shown):
    home, server, _ = shown
    window = Reader(browser, server, "desktop" if request.param == "light" else "phone", request.param).log_in(home)
    window.page.evaluate(axe_source())
    yield window
    window.close()


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(shown, window, view):
    _, _, ids = shown
    path, text = VIEWS[view]
    window.open(path.format(**ids))
    window.sees(text)
    window.page.locator("main").wait_for()
    found = window.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (each["id"], [(node["target"], node["failureSummary"]) for node in each["nodes"][:3]])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert window.heard == []


@pytest.mark.parametrize("view", list(VIEWS))
def test_the_outline_for_screen_readers_holds(shown, browser, view):
    """Compared with tests/data/page_outlines; delete a file to record it anew."""
    home, server, ids = shown
    window = Reader(browser, server).log_in(home)
    path, text = VIEWS[view]
    window.open(path.format(**ids))
    window.sees(text)
    if view in ("session", "ask", "new"):
        window.page.locator("select option", has_text="plan").wait_for(state="attached")
    if view in ("session", "ask"):
        window.page.locator(".markdown, .ask").first.wait_for()
        window.page.locator(".panel").get_by_text(re.compile("made.py|No files changed")).first.wait_for()
    window.page.get_by_role("status").filter(has_text="Loading…").wait_for(state="detached")
    outline = window.page.locator("main").aria_snapshot()
    window.close()
    outline = re.sub(r"\d+(\.\d+)? s\b", "0 s", outline)
    outline = re.sub(r"(20\d\d-)?[01]\d-[0-3]\d\b", "DAY", outline)
    outline = re.sub(r"bridle-served-\w+|ses_\w+|/\S*/project|scripted:\S+", "NAME", outline)
    outline = re.sub(r'"Default: [^"]*"', "DEFAULT", outline)
    outline = "\n".join(outline.splitlines()[: FIRST_LINES.get(view)])
    file = OUTLINES / f"{view}.txt"
    if not file.exists():
        file.write_text(outline + "\n", encoding="utf-8")
    assert outline + "\n" == file.read_text(encoding="utf-8")


def test_everything_is_reached_and_done_with_keys(shown, browser):
    home, server, ids = shown
    window = Reader(browser, server).log_in(home)
    page = window.page
    page.locator(".card").first.wait_for()
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    assert {"Skip to content", "Usage", "New session", "search", "All", "Archived", "Allow once", "Reject…"} <= reached
    page.keyboard.press("?")
    window.sees("Keyboard shortcuts")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.get_by_role("heading", name="New session").wait_for()
    page.locator("h1").click()
    page.keyboard.press("a")
    page.get_by_role("button", name="Allow once").wait_for()
    assert ids["asks"] in page.url
    window.field.wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "prompt"
    page.keyboard.type("?")
    assert window.field.input_value() == "?"
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_timeout(0)
    assert page.evaluate("document.activeElement.textContent") == "Allow once"
    page.keyboard.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.keyboard.press("o")
    page.get_by_role("heading", name="Sessions").wait_for()
    assert window.heard == []
    window.close()


def test_little_is_transferred_and_the_wheel_stays_small(shown, browser, tmp_path):
    home, server, ids = shown
    window = Reader(browser, server)
    sizes = []
    window.page.on("response", lambda answer: sizes.append(answer.request.sizes()) if "/page/" in answer.url else None)
    window.log_in(home, path=f"#/s/{ids['done']}")
    window.page.locator(".c-built_in, .c-number, .c-string").first.wait_for()
    assert len(sizes) > 30
    assert sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes) <= MOST_TRANSFERRED
    window.close()
    with zipfile.ZipFile(tmp_path / "page.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in STATIC.rglob("*"):
            packed.write(path, path.relative_to(STATIC))
    assert (tmp_path / "page.zip").stat().st_size <= MOST_IN_WHEEL
