"""The native API over real HTTP: sessions, prompts, asks and what is refused, each answer with its status."""

import pytest
from support.cli_home import calls
from support.served_home import created, events, prompt, result

BASH = ("bash", {"command": "echo one > made.txt", "description": "Write"})


@pytest.fixture(scope="module")
def client(shared):
    with shared.client(shared.servers[0]) as client:
        yield client


def test_a_prompt_is_answered_and_everything_about_it_can_be_read(shared, client):
    model = shared.home.script("Hello there.")
    session = created(client, id="greeting")
    assert created(client, id="greeting") == session
    id = prompt(client, session, "Hi!", model, id="request-1")
    found = result(client, session, id)
    assert (found["reason"], found["text"], found["steps"]) == ("answered", "Hello there.", 1)
    # The same id again changes nothing; with other words it is refused.
    assert prompt(client, session, "Hi!", model, id="request-1") == id
    other = client.post(f"/bridle/sessions/{session}/prompts", json={"text": "Other", "id": "request-1"})
    assert (other.status_code, other.json()["key"]) == (409, "id")
    assert client.patch(f"/bridle/sessions/{session}", json={"title": "A greeting"}).status_code == 200
    state = client.get(f"/bridle/sessions/{session}").json()
    assert (state["info"]["title"], state["status"], state["turns"]) == ("A greeting", {"state": "idle"}, 1)
    assert [part["text"] for part in state["parts"] if part["kind"] == "text"] == ["Hello there."]
    assert client.get(f"/bridle/sessions/{session}/status").json() == {"state": "idle"}
    entries = client.get(f"/bridle/sessions/{session}/entries").json()["entries"]
    assert [entry["sequence"] for entry in entries] == list(range(1, state["sequence"] + 1))
    later = client.get(f"/bridle/sessions/{session}/entries", params={"after": 3}).json()["entries"]
    assert later == entries[3:]
    rows = client.get("/bridle/sessions").json()["sessions"]
    assert [row["title"] for row in rows if row["session"] == session] == ["A greeting"]
    report = client.get(f"/bridle/sessions/{session}/report")
    assert "sandbox" in report.headers["content-security-policy"]
    assert "attachment" in report.headers["content-disposition"]
    assert "Hello there." in report.text
    assert client.get(f"/bridle/sessions/{session}/export").json()
    fork = client.post(f"/bridle/sessions/{session}/fork").json()["id"]
    assert client.get(f"/bridle/sessions/{fork}").json()["turns"] == 1
    assert client.delete(f"/bridle/sessions/{session}").json() == {"deleted": [session]}
    assert client.get(f"/bridle/sessions/{session}").status_code == 404


def test_an_ask_pauses_the_turn_and_the_first_answer_wins(shared, client):
    model = shared.home.script(calls(BASH), "Done.", name="ask.json")
    session = created(client)
    id = prompt(client, session, "Write it.", model)
    assert result(client, session, id)["reason"] == "paused"
    state = client.get(f"/bridle/sessions/{session}").json()
    (ask,) = state["asks"]
    assert state["status"] == {"state": "paused"}
    rows = client.get("/bridle/sessions").json()["sessions"]
    assert [row["asks"][0]["id"] for row in rows if row["session"] == session] == [ask["id"]]
    answers = f"/bridle/sessions/{session}/answers"
    assert client.post(answers, json={"ask": ask["id"], "choice": "once"}).status_code == 202
    second = client.post(answers, json={"ask": ask["id"], "choice": "reject"})
    assert (second.status_code, second.json()["answer"]["choice"]) == (409, "once")
    assert client.post(answers, json={"ask": "none", "choice": "once"}).status_code == 409
    assert result(client, session, id)["reason"] == "answered"
    made = shared.project / "made.txt"
    assert made.read_text() == "one\n"
    assert "+one" in client.get(f"/bridle/sessions/{session}/diff").json()["diff"]
    assert client.post(f"/bridle/sessions/{session}/undo").json()["files"] == ["made.txt"]
    assert not made.exists()
    assert client.post(f"/bridle/sessions/{session}/redo").json()["files"] == ["made.txt"]
    assert client.post(f"/bridle/sessions/{session}/redo").status_code == 409
    assert client.post(f"/bridle/sessions/{session}/undo", json={"to": "9"}).status_code == 409


def test_a_running_turn_is_steered_extended_and_aborted(shared, client):
    waits = calls(("bash", {"command": "sleep 60", "description": "Wait"}))
    model = shared.home.script(waits, "Never.", name="slow.json")
    session = created(client)
    id = prompt(client, session, "Wait.", model, options={"limits": {"steps": 4}})
    with events(client, f"/bridle/sessions/{session}/events") as told:
        ask = next(data for _, kind, data in told if kind == "ask")
        client.post(f"/bridle/sessions/{session}/answers", json={"ask": ask["id"], "choice": "once"})
        next(data for _, kind, data in told if kind == "tool_start")
        assert client.get(f"/bridle/sessions/{session}/status").json() == {"state": "busy"}
        assert client.delete(f"/bridle/sessions/{session}").status_code == 409
        assert client.patch(f"/bridle/sessions/{session}", json={"title": "New"}).status_code == 200
        raised = client.post(f"/bridle/sessions/{session}/extensions", json={"limit": "steps", "by": 3}).json()["id"]
        outcome = f"/bridle/sessions/{session}/extensions/{raised}"
        # A turn takes extensions between its steps.
        assert client.get(outcome).json() == {"state": "pending"}
        assert client.post(f"/bridle/sessions/{session}/abort").status_code == 202
        ended = next(data for _, kind, data in told if kind == "turn_finish")
    assert ended["reason"] == "aborted"
    assert result(client, session, id)["reason"] == "aborted"
    assert client.get(outcome).json()["state"] in ("extended", "refused")


def test_agents_models_and_accounts_of_a_directory_are_told(client):
    agents = client.get("/bridle/agents").json()
    assert agents["default"] == "build"
    assert {"build", "plan"} <= {agent["name"] for agent in agents["agents"]}
    assert client.get("/bridle/models").status_code == 200
    assert "today" in client.get("/bridle/account").json()
    assert client.get("/bridle/accounts/ann").json()["account"] == "ann"
    state = client.get("/bridle/server").json()
    assert state["right"] == "drive"
    assert "bridle_turns_begun_total" in client.get("/metrics").text


WRONG = [
    ("POST", "/bridle/sessions", b"{", 400, ""),
    ("POST", "/bridle/sessions", b"[]", 400, ""),
    ("POST", "/bridle/sessions", b'{"id": 1}', 400, "id"),
    ("POST", "/bridle/sessions", b'{"id": "a/b"}', 400, ""),
    ("POST", "/bridle/sessions", b'{"name": "x"}', 400, "name"),
    ("POST", "/bridle/sessions/wrong/prompts", b"{}", 400, "text"),
    ("POST", "/bridle/sessions/wrong/prompts", b'{"text": "x", "options": {"agent": "none"}}', 400, ""),
    ("POST", "/bridle/sessions/wrong/prompts", b'{"text": "x", "options": {"on_ask": "allow"}}', 400, "options.on_ask"),
    (
        "POST",
        "/bridle/sessions/wrong/prompts",
        b'{"text": "x", "options": {"tools": {"bash": true}}}',
        400,
        "options.tools.bash",
    ),
    ("POST", "/bridle/sessions/wrong/answers", b'{"ask": "a", "choice": "maybe"}', 400, "choice"),
    ("POST", "/bridle/sessions/wrong/extensions", b'{"limit": "luck", "by": 1}', 400, "limit"),
    ("POST", "/bridle/sessions/wrong/extensions", b'{"limit": "steps", "by": 0}', 400, ""),
    ("PATCH", "/bridle/sessions/wrong", b'{"title": ""}', 400, "title"),
    ("GET", "/bridle/sessions?limit=0", b"", 400, "limit"),
    ("GET", "/bridle/sessions?colour=red", b"", 400, "colour"),
    ("GET", "/bridle/sessions/wrong/diff?turn=7", b"", 400, ""),
    ("GET", "/bridle/sessions/wrong/events?after=99", b"", 409, "after"),
    ("GET", "/bridle/sessions/wrong/prompts/none/result", b"", 404, "prompt"),
    ("GET", "/bridle/sessions/none", b"", 404, ""),
    ("GET", "/bridle/nothing", b"", 404, ""),
    ("GET", "/bridle/sessions/", b"", 404, ""),
    ("PUT", "/bridle/sessions", b"", 405, ""),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "key"), WRONG)
def test_a_wrong_request_is_answered_with_the_key_and_a_sentence(client, method, path, body, status, key):
    created(client, id="wrong")
    answer = client.request(method, path, content=body)
    assert answer.status_code == status, answer.text
    told = answer.json()
    assert (told.get("key", ""), bool(told["error"])) == (key, True)
    assert "Traceback" not in answer.text


def test_the_description_has_every_operation_and_resolves(client):
    document = client.get("/openapi.json").json()
    assert document["openapi"] == "3.1.0"
    names = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(names) == len(set(names)) > 25
    schemas = document["components"]["schemas"]

    def references(value):
        if isinstance(value, dict):
            found = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return found + [each for inner in value.values() for each in references(inner)]
        return [each for inner in value for each in references(inner)] if isinstance(value, list) else []

    assert {each.rpartition("/")[2] for each in references(document)} <= set(schemas)
    page = client.get("/reference")
    assert "style-src 'sha256-" in page.headers["content-security-policy"]
    assert all(path in page.text for path in document["paths"])


def test_sessions_are_searched_and_come_in_pages_without_a_gap(served):
    model = served.home.script(*(["Done."] * 7), then="Done.")
    with served.client(served.serve()) as client:
        made = [created(client) for _ in range(7)]
        for number, session in enumerate(made):
            result(client, session, prompt(client, session, f"Look at part {number % 2}", model))
        asked = {"limit": 3}
        pages = []
        while asked is not None:
            answer = client.get("/bridle/sessions", params=asked).json()
            pages.append([row["session"] for row in answer["sessions"]])
            asked = {"limit": 3, "before": answer["next"]} if answer.get("next") else None
        assert [len(page) for page in pages] == [3, 3, 1]
        assert sorted(session for page in pages for session in page) == sorted(made)
        odd = client.get("/bridle/sessions", params={"text": "PART 1", "state": "idle"}).json()["sessions"]
        assert {row["session"] for row in odd} == set(made[1::2])
        assert client.get("/bridle/sessions", params={"state": "busy"}).json()["sessions"] == []
        for wrong in ("x", "1", "nan:a", ":", "1e999:a"):
            refused = client.get("/bridle/sessions", params={"before": wrong})
            assert (refused.status_code, refused.json()["key"]) == (400, "before")


def test_a_permanent_approval_is_revoked_by_its_number_and_its_words(shared, client):
    model = shared.home.script(calls(BASH), "Done.", name="always.json")
    session = created(client)
    id = prompt(client, session, "Write it.", model)
    assert result(client, session, id)["reason"] == "paused"
    (ask,) = client.get(f"/bridle/sessions/{session}").json()["asks"]
    client.post(f"/bridle/sessions/{session}/answers", json={"ask": ask["id"], "choice": "always"})
    assert result(client, session, id)["reason"] == "answered"
    known = client.get("/bridle/approvals").json()
    assert known and shared.home.run("permissions").stdout.count("\n") == len(known)
    wrong = client.delete("/bridle/approvals", params={"number": 1, "words": "bash: *"})
    assert (wrong.status_code, wrong.json()["key"]) == (409, "number")
    for place, words in reversed(list(enumerate(known, 1))):
        left = client.delete("/bridle/approvals", params={"number": place, "words": words})
        assert (left.status_code, left.json()) == (200, known[: place - 1])
    assert client.delete("/bridle/approvals", params={"number": 1, "words": known[0]}).status_code == 409
    with shared.client(shared.servers[0], shared.new_token("reader", "--view")) as reader:
        assert reader.get("/bridle/approvals").json() == []
        assert reader.delete("/bridle/approvals", params={"number": 1, "words": known[0]}).status_code == 403


def test_a_file_of_a_prompt_is_returned_as_bytes_without_a_type(shared, client):
    files = [{"path": "a.svg", "text": "<svg/>"}, {"path": "b.txt", "text": "b"}]
    session = created(client)
    model = shared.home.script("Done.", name="files.json")
    id = prompt(client, session, "Look.", model, files=files)
    result(client, session, id)
    found = [client.get(f"/bridle/sessions/{session}/prompts/{id}/files/{place}") for place in (0, 1)]
    assert [answer.content for answer in found] == [b"<svg/>", b"b"]
    assert {answer.headers["content-type"] for answer in found} == {"application/octet-stream"}
    for wrong in (f"{id}/files/2", f"{id}/files/-1", f"{id}/files/x", "none/files/0"):
        assert client.get(f"/bridle/sessions/{session}/prompts/{wrong}").status_code == 404


def test_the_use_of_the_last_days_is_that_of_served_directories(shared, client):
    elsewhere = shared.folder / "elsewhere"
    elsewhere.mkdir()
    model = shared.home.script("Done.", name="there.json")
    done = shared.home.run("run", "--dir", str(elsewhere), "--model", model, "Go.")
    assert done.returncode == 0, done.stderr
    session = created(client)
    result(client, session, prompt(client, session, "Go.", model))
    stats = client.get("/bridle/stats", params={"days": 1}).json()
    assert list(stats["projects"]) == [str(shared.project)]
    turns = stats["projects"][str(shared.project)]["turns"]
    for table in ("days", "agents", "models"):
        assert sum(use["turns"] for use in stats[table].values()) == turns, table
    assert model in stats["models"]
    below = shared.project / "below"
    below.mkdir()
    other = created(client, directory=str(below))
    result(client, other, prompt(client, other, "Go.", model))
    both = client.get("/bridle/stats", params={"projects": [str(below), str(shared.project)]}).json()
    assert set(both["projects"]) == {str(below), str(shared.project)}
    assert client.get("/bridle/stats", params={"projects": str(elsewhere)}).status_code == 403
    one = client.get("/bridle/stats", params={"projects": str(below)}).json()
    assert [sum(use["turns"] for use in one[table].values()) for table in ("days", "projects")] == [1, 1]
