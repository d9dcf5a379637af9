"""The page in Chromium: a story from the prompt to the fork, two browsers, a killed server, and who may act."""

import shutil

import pytest
from playwright.sync_api import expect
from support.cli_home import calls, settings
from support.page_reader import PATIENCE_MS, Reader, opened_browser
from support.served_home import created, new_home, prompt, result

EDIT = ("write", {"filePath": "made.txt", "content": "one\ntwo\n"})


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def shared():
    """A home in which edits are asked for, with one server."""
    home = new_home()
    settings(home.home, '[permission]\nedit = "ask"\n')
    home.serve()
    yield home
    home.end()
    shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def client(shared):
    with shared.client(shared.servers[0]) as client:
        yield client


@pytest.fixture
def reader(browser, shared):
    """Open windows that are closed with the test, and that must have heard nothing bad."""
    windows = []

    def opened(size="desktop", **more):
        windows.append(Reader(browser, shared.servers[0], size).log_in(shared, **more))
        return windows[-1]

    yield opened
    for window in windows:
        window.close()
    assert [window.heard for window in windows] == [[] for _ in windows]


@pytest.mark.parametrize("size", ["phone", "desktop"])
def test_a_turn_is_steered_from_the_prompt_to_the_fork(shared, client, reader, size):
    made = shared.project / "made.txt"
    model = shared.home.script(calls(EDIT), "Closing words.", "It goes **on**.", then="More.", name=f"{size}.json")
    session = created(client)
    window = reader(size)
    first = prompt(client, session, "Write a file.", model, options={"limits": {"steps": 2}})
    window.open(f"#/s/{session}")
    window.sees("made.txt")
    # The change is shown before it is made.
    window.page.locator(".ask .line.add", has_text="two").first.wait_for()
    assert not made.exists()
    window.button("Allow once").click()
    window.sees("Closing words.")
    expect(window.page.locator(".sentinel", has_text="Step limit reached")).to_be_in_viewport(timeout=PATIENCE_MS)
    assert made.read_text() == "one\ntwo\n"
    assert result(client, session, first)["reason"] == "step_cap"
    window.button("Continue").click()
    window.page.locator("strong", has_text="on").wait_for()
    window.chosen("Undo last turn")
    window.sees("Turn 2 and later ones are undone.")
    assert window.page.locator("strong", has_text="on").count() == 0
    window.button("Redo").click()
    window.page.locator("strong", has_text="on").wait_for()
    window.chosen("Fork")
    window.sees("This is the fork.")
    window.page.wait_for_url(lambda url: session not in url)
    window.sees("Closing words.")
    made.unlink()
    # At this width nothing stands beside the window.
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_two_browsers_show_one_session_and_a_draft_outlives_a_reload(shared, client, reader):
    model = shared.home.script(calls(EDIT), "Both see this.", name="two.json")
    session = created(client)
    prompt(client, session, "Write a file.", model)
    one, two = reader(path=f"#/s/{session}"), reader("phone")
    two.page.locator(".card", has_text="Write a file.").get_by_role("button", name="Allow once").wait_for()
    one.button("Allow once").click()
    for window in (one, two):
        window.open(f"#/s/{session}")
        window.sees("Both see this.")
    one.field.fill("A draft")
    one.page.reload()
    expect(one.field).to_have_value("A draft", timeout=PATIENCE_MS)
    (shared.project / "made.txt").unlink()


def test_a_prompt_that_waits_can_be_edited_and_withdrawn(shared, client, reader):
    slow = {"text": "word " * 600, "chunk": 5, "pace": 0.02}
    model = shared.home.script(slow, then=slow, name="waits.json")
    session = created(client)
    prompt(client, session, "Go.", model)
    window = reader(path=f"#/s/{session}")
    window.page.locator(".growing").wait_for()
    window.field.fill("Later, please")
    window.button("Queue").click()
    window.page.locator(".unread", has_text="queued").get_by_role("button", name="Edit").click()
    expect(window.field).to_have_value("Later, please", timeout=PATIENCE_MS)
    window.page.locator(".unread").wait_for(state="detached")
    window.button("Stop").click()
    window.page.locator(".end-line", has_text="Aborted").wait_for()


CUT = """async () => {
  const cut = () => new ReadableStream({ start: (body) => body.error(new TypeError("Failed to fetch")) });
  window.fetch = async () => new Response(cut());
  const { get } = await import(new URL("page/app/api.js", document.baseURI));
  return get("/server").catch((error) => [error.name, error.status, error.message]);
}"""


def test_an_answer_that_is_cut_is_an_error_of_the_connection(reader):
    window = reader()
    told = window.page.evaluate(CUT)
    assert told[1:] == [0, "The connection was lost."]


def test_a_killed_server_is_caught_up_with_after_its_restart(browser, served):
    text = "".join(f"word{number} " for number in range(300))
    served.home.script({"text": text, "chunk": 8, "pace": 0.05}, then="Whole.", name="long.json")
    model = f"scripted:{served.folder / 'long.json'}"
    server = served.serve()
    with served.client(server) as client:
        session = created(client)
        prompt(client, session, "Go.", model)
    window = Reader(browser, server).log_in(served, path=f"#/s/{session}")
    window.page.locator(".growing", has_text="word9 ").wait_for()
    server.kill()
    window.sees("reconnecting…")
    served.home.script("The answer after the restart.", name="long.json")
    again = served.serve("--port", str(server.port))
    window.sees("The answer after the restart.")
    # What streamed before belongs to a try that does not count.
    assert window.page.get_by_text("word9 ").count() == 0
    assert window.page.evaluate("performance.getEntriesByType('navigation').length") == 1
    assert [told for told in window.heard if "ERR_" not in told] == []
    window.close()
    again.stop()


def test_without_a_login_only_the_way_in_is_shown_and_a_view_login_cannot_act(browser, shared, client, reader):
    server = shared.servers[0]
    out = Reader(browser, server)
    out.page.goto(f"{server.url}/#/stats")
    out.sees("bridle web")
    assert out.page.locator("button, input, nav").count() == 0
    out.page.goto(f"{server.url}/#code=wrong")
    out.page.reload()
    out.sees("bridle web")
    out.close()
    model = shared.home.script(calls(EDIT), "Done.", name="view.json")
    session = created(client)
    prompt(client, session, "Write a file.", model)
    watcher = reader(token=shared.new_token("watcher", "--view"))
    watcher.sees("view only")
    watcher.open(f"#/s/{session}")
    watcher.sees("This login may only view.")
    watcher.button("More actions").click()
    entries = watcher.page.locator(".menu-list button").all_inner_texts()
    assert entries == ["Copy link", "Changes", "Download report", "Export"]
    assert watcher.page.locator("textarea").count() == 0
    client.post(f"/bridle/sessions/{session}/abort")
