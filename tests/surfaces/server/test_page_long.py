"""The page with a long session: few elements in the document, and only what is shown is fetched from the server."""

import re
import shutil

import pytest
from playwright.sync_api import expect
from support.long_session import long_export
from support.page_reader import PATIENCE_MS, Reader, opened_browser
from support.served_home import new_home

MOST_NODES = 1_500


@pytest.fixture(scope="module")
def long():
    """A home with a session of more than 5,000 parts."""
    home = new_home()
    server = home.serve()
    raw = long_export(home.project, turns=2, steps=170, calls=13)
    with home.client(server) as client:
        session = client.post("/bridle/imports", content=raw).json()["id"]
        assert len(client.get(f"/bridle/sessions/{session}").json()["parts"]) > 5_000
    yield home, server, session
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def window(long):
    home, server, _ = long
    with opened_browser() as browser:
        window = Reader(browser, server).log_in(home)
        yield window
        window.close()


def test_a_long_session_holds_few_elements_and_fetches_only_what_is_shown(long, window):
    _, _, session = long
    fetched = []
    window.page.on("response", lambda answer: fetched.append(answer) if "/history" in answer.url else None)
    window.open(f"#/s/{session}")
    window.sees("Turn 2 has ended.")
    assert window.nodes() <= MOST_NODES
    (first,) = fetched
    size = len(first.body())
    assert size < 400_000
    seen = set()
    for _ in range(12):
        assert window.read_back()
        seen.add(window.page.locator(".row-step").first.inner_text())
        assert window.nodes() <= MOST_NODES
    assert len(seen) > 6
    expect(window.page.get_by_role("button", name="Latest")).to_be_visible()
    window.page.get_by_role("button", name="Latest").click()
    window.sees("Turn 2 has ended.")
    assert window.heard == []


def test_what_is_read_stays_in_its_place_while_older_rows_come(long, window):
    _, _, session = long
    window.open("#/")
    window.open(f"#/s/{session}")
    window.sees("Turn 2 has ended.")
    key, top = window.page.evaluate("""() => {
        const view = document.querySelector('.transcript');
        view.dispatchEvent(new WheelEvent('wheel'));
        view.scrollTop = 0;
        const row = view.querySelector('.row');
        return [row.dataset.key, row.getBoundingClientRect().top];
    }""")
    window.page.locator(f".rows > .row:first-of-type:not([data-key='{key}'])").wait_for()
    now = window.page.locator(f"[data-key='{key}']").evaluate("row => row.getBoundingClientRect().top")
    assert abs(now - top) <= 4


def test_a_link_to_a_step_shows_its_surroundings_and_goes_on_from_there(long, window):
    _, _, session = long
    window.open("#/")
    window.open(f"#/s/{session}/e/40")
    expect(window.page.locator(".row.linked")).to_be_in_viewport(timeout=PATIENCE_MS)
    assert window.page.get_by_text("Turn 2 has ended.").count() == 0
    before = window.page.locator(".row-step").last.inner_text()
    for _ in range(6):
        window.read_on()
    last = window.page.locator(".row-step").last.inner_text()
    number = re.compile(r"Step (\d+)")
    assert int(number.search(last)[1]) > int(number.search(before)[1])
    assert window.nodes() <= MOST_NODES
    window.page.get_by_role("button", name="Latest").click()
    window.sees("Turn 2 has ended.")
