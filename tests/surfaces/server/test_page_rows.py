"""Rows of the page in Chromium: what changes while it is shown, questions, pictures, and revoked permissions."""

import re
import shutil
from base64 import b64encode

import pytest
from playwright.sync_api import expect
from support.cli_home import calls, settings
from support.page_reader import PATIENCE_MS, Reader, opened_browser
from support.paths import ROOT
from support.served_home import created, new_home, prompt, result

COMMAND = "echo first; while [ ! -e go ]; do sleep 0.05; done; echo second"
QUESTIONS = [
    {"question": "Which database?", "options": [{"label": "SQLite", "description": "One file"}, {"label": "None"}]},
    {"question": "Which parts?", "multiple": True, "options": [{"label": "Search"}, {"label": "Export"}]},
]


@pytest.fixture(scope="module")
def home():
    home = new_home()
    image = home.folder / "image.json"
    accepts = f'[models."scripted:{image}"]\ntakes = ["image"]\n'
    settings(home.home, f'[permission]\nbash = "allow"\nwebfetch = "ask"\n{accepts}')
    home.serve()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def client(home):
    with home.client(home.servers[0]) as client:
        yield client


@pytest.fixture(scope="module")
def window(home):
    with opened_browser() as browser:
        window = Reader(browser, home.servers[0]).log_in(home)
        yield window
        assert window.heard == []
        window.close()


def test_the_output_of_a_command_and_its_end_are_shown_as_they_come(home, client, window):
    model = home.home.script(calls(("bash", {"command": COMMAND})), "All done.", name="live.json")
    session = created(client)
    prompt(client, session, "Run it.", model)
    window.open(f"#/s/{session}")
    call = window.page.locator(".call")
    call.get_by_role("img", name="running").wait_for()
    (home.project / "go").write_text("")
    call.locator(".output", has_text="second").wait_for()
    call.get_by_role("img", name="done").wait_for()
    window.sees("All done.")


def test_a_retry_counts_down_to_its_next_try(home, client, window):
    busy = {"error": {"message": "overloaded", "status": 529, "headers": {"retry-after": "55"}}}
    model = home.home.script(busy, "There.", name="retry.json")
    session = created(client)
    prompt(client, session, "Try.", model)
    window.open(f"#/s/{session}")
    row = window.page.locator(".row-retry")
    expect(row).to_have_text(re.compile(r"Next try in [45]\d s"), timeout=PATIENCE_MS)
    before = row.inner_text()
    expect(row).not_to_have_text(before, timeout=PATIENCE_MS)
    window.button("Stop").click()
    window.page.locator(".end-line", has_text="Aborted").wait_for()


def test_several_questions_are_one_form(home, client, window):
    model = home.home.script(calls(("question", {"questions": QUESTIONS})), "Decided.", name="ask.json")
    session = created(client)
    prompt(client, session, "Ask me.", model)
    window.open(f"#/s/{session}")
    form = window.page.locator(".several")
    form.get_by_label("SQLite One file").check()
    form.get_by_label("Search").check()
    form.get_by_label("Export").check()
    form.get_by_role("button", name="Answer").click()
    window.sees("Decided.")
    # What it said to the model is not repeated.
    assert window.page.locator(".question .words").inner_text() == "1. SQLite\n2. Search, Export"


def test_pictures_of_a_prompt_and_of_the_project_are_shown(home, client, window):
    content = (ROOT / "docs" / "pictures" / "page-phone.png").read_bytes()
    (home.project / "shot.png").write_bytes(content)
    model = home.home.script(calls(("read", {"filePath": "shot.png"})), "A picture.", name="image.json")
    session = created(client)
    given = {"path": "given.png", "media": "image/png", "data": b64encode(content).decode()}
    result(client, session, prompt(client, session, "Look.", model, files=[given]))
    window.open(f"#/s/{session}")
    window.sees("A picture.")
    window.page.locator(".call-head").click()
    for name in ("given.png", "shot.png"):
        picture = window.page.get_by_role("img", name=name, exact=True)
        picture.wait_for()
        assert picture.evaluate("async image => { await image.decode(); return image.naturalWidth }") > 100


def test_a_permanent_permission_is_revoked(home, client, window):
    web = ("webfetch", {"url": "http://127.0.0.1:1/page", "format": "text"})
    model = home.home.script(calls(web), "Done.", name="web.json")
    session = created(client)
    result(client, session, prompt(client, session, "Begin.", home.home.script("Ready.", name="ready.json")))
    window.open(f"#/s/{session}")
    window.sees("Ready.")
    prompt(client, session, "Look it up.", model)
    # The call has not run, and still says what it wants.
    window.page.locator(".call-head", has_text=web[1]["url"]).wait_for()
    window.button("Always allow").click()
    window.sees("Done.")
    window.open("#/permissions")
    for permission in ("webfetch", "private_network"):
        window.page.get_by_role("button", name=re.compile(f"Revoke {permission}")).click()
    window.sees("Nothing is allowed permanently in this project.")
    assert client.get("/bridle/approvals").json() == []


def test_the_page_stays_at_the_end_while_steps_stream(home, client, window):
    (home.project / "data.txt").write_text("line\n" * 100)
    steps = [
        {
            "text": f"Step {number}:\n\n- one\n- two\n",
            "chunk": 8,
            **calls(("read", {"filePath": "data.txt", "offset": number})),
        }
        for number in range(1, 60)
    ]
    model = home.home.script("Ready.", name="ready.json")
    session = created(client)
    result(client, session, prompt(client, session, "Begin.", model))
    window.open(f"#/s/{session}")
    window.sees("Ready.")
    prompt(client, session, "Go.", home.home.script(*steps, "These are the last words.", name="steps.json"))
    expect(window.page.get_by_text("These are the last words.")).to_be_in_viewport(timeout=PATIENCE_MS)
    assert window.page.locator(".to-end").count() == 0
    assert window.page.get_by_text("NaN").count() == 0


def test_the_most_expensive_session_is_found_by_its_cost(home, client, window):
    for name, tokens in (("Cheap", 1_000), ("Expensive", 900_000), ("Fair", 50_000)):
        reply = {"text": "Done.", "usage": {"input": tokens, "output": 10}}
        model = home.home.script(reply, name=f"{name}.json", price={"input": 3.0, "output": 15.0})
        session = created(client)
        result(client, session, prompt(client, session, f"{name} work", model))
    window.open("#/")
    window.page.get_by_label("Order").select_option("Highest cost first")
    expect(window.page.locator(".line-link").first).to_contain_text("Expensive work", timeout=PATIENCE_MS)
    for place, cost in enumerate(("$2.70", "$0.15", "<$0.01")):
        expect(window.page.locator(".line-cost").nth(place)).to_have_text(cost, timeout=PATIENCE_MS)
