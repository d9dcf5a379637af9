"""The page and hostile texts in every field: nothing runs, nothing is fetched, nothing is hidden, the layout holds."""

import re
import shutil

import pytest
from support.cli_home import calls, settings
from support.hostile_texts import HUGE, TEXTS
from support.page_reader import Reader, opened_browser
from support.served_home import created, new_home, prompt, result

HIDDEN = re.compile(
    "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u200b\\u202a-\\u202e\\u2066-\\u2069\\ufeff\\U000e0041]"
)
FOREIGN = (
    "main iframe, main object, main embed, main script, main style, main link, main meta, main base, main video, "
    "main audio, main math, main template, main marquee, main dialog, main form[action], main img, "
    "main a[href^='javascript' i], main a[href^='data'], main a[href^='file'], main a[href^='vbscript'], "
    "main a[href^='blob'], main a[href^='//'], main [onerror], main [onload], main [onclick]"
)
REPLIES = [text for text in TEXTS if text not in HUGE]
"""Replies are cut where they look like chanting, as huge ones do; those are prompts only."""
WATCH = """() => {
    window.seen = new Set();
    const look = () => document.querySelectorAll('.step-number').forEach(each => window.seen.add(each.textContent));
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
    look();
}"""
"""Notes every step that is ever drawn."""


@pytest.fixture(scope="module")
def attacked():
    """A home whose sessions have a hostile text wherever one fits."""
    home = new_home()
    settings(home.home, '[permission]\nedit = "ask"\nexternal_directory = "deny"\ndoom_loop = "allow"\n')
    server = home.serve()
    steps = [
        {
            "text": text,
            "reasoning": text,
            "calls": [
                {"name": "todowrite", "arguments": {"todos": [{"content": text[:2000], "status": "in_progress"}]}},
                {"name": "read", "arguments": {"filePath": text[:2000]}},
            ],
        }
        for text in REPLIES
    ]
    unknown = [
        {"name": text[:60], "arguments": {text[:100]: text[:500]}} for text in TEXTS[:6] if re.match(r"\w+$", text)
    ] or [{"name": "constructor", "arguments": {"x": "<b>"}}]
    asks = calls(("write", {"filePath": "<img src=x onerror=window.owned=1>.txt", "content": "\n".join(TEXTS[:60])}))
    model = home.home.script(*steps, {"calls": unknown}, asks, "Done.", name="<b>hostile.json")
    with home.client(server) as client:
        session = created(client)
        found = result(client, session, prompt(client, session, "\n".join(TEXTS), model))
        assert found["reason"] == "paused", found
        for text in TEXTS:
            prompt(client, created(client), text, model, reply=False)
    yield home, server, session
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


def holds(window):
    page = window.page
    assert page.evaluate("window.owned") is None
    assert page.locator(FOREIGN).count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    text = page.evaluate("document.body.textContent + document.title")
    assert HIDDEN.search(text) is None
    assert page.evaluate("Object.keys(Object.prototype).length") == 0


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_hostile_texts_are_only_text(attacked, size):
    home, server, session = attacked
    assert len(TEXTS) == len(set(TEXTS)) >= 80
    with opened_browser() as browser:
        window = Reader(browser, server, size)
        window.page.on("dialog", lambda dialog: window.heard.append(dialog.message))
        window.log_in(home)
        window.page.locator(".card").first.wait_for()
        holds(window)
        while (more := window.page.get_by_role("button", name=re.compile("Show .* more of"))).count():
            more.click()
        holds(window)
        window.open(f"#/s/{session}")
        window.button("Allow once").wait_for()
        holds(window)
        window.page.evaluate(WATCH)
        while True:
            window.page.evaluate(
                "document.querySelectorAll('.fold[aria-expanded=false]').forEach(each => each.click())"
            )
            holds(window)
            if not window.read_back():
                break
        seen = set(window.page.evaluate("[...window.seen]"))
        assert {f"Step {number + 1}/200" for number in range(len(REPLIES) + 2)} - seen == set()
        window.page.evaluate("document.querySelector('.details-button, .panel')?.click?.()")
        holds(window)
        assert window.heard == []
        window.close()
