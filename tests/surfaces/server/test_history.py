"""Pages of a session's past and the session in short: each entry once, with what is open at the end."""

import pytest
from support.cli_home import calls
from support.served_home import created, events, prompt, result

BASH = ("bash", {"command": "echo one > made.txt", "description": "Write"})
READS = [calls(("read", {"filePath": f"file{number}.txt"})) for number in range(6)]


@pytest.fixture(scope="module")
def client(shared):
    with shared.client(shared.servers[0]) as client:
        yield client


def page(client, session, **query):
    answer = client.get(f"/bridle/sessions/{session}/history", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_pages_have_every_event_of_the_record_once_and_in_order(shared, client):
    model = shared.home.script(*READS, "All read.", name="reads.json")
    session = created(client)
    result(client, session, prompt(client, session, "Read them.", model))
    whole = page(client, session, limit=500)
    assert (whole["older"], whole["newer"], whole["open"]) == (False, False, [])
    kinds = [event["type"] for entry in whole["entries"] for event in entry["events"]]
    assert (kinds.count("step_start"), kinds.count("tool_use"), kinds.count("text")) == (7, 6, 1)
    assert "delta" not in kinds
    forwards, last = [], 0
    while True:
        part = page(client, session, after=last, limit=5)
        forwards += part["entries"]
        last = part["entries"][-1]["sequence"]
        if not part["newer"]:
            break
    backwards, first = [], whole["sequence"] + 1
    while True:
        part = page(client, session, before=first, limit=4)
        backwards = part["entries"] + backwards
        first = part["entries"][0]["sequence"]
        if not part["older"]:
            break
    assert forwards == backwards == whole["entries"]
    assert {entry["turn"] for entry in whole["entries"]} == {0, 1}


def test_what_is_open_stands_at_the_end_and_in_the_summary(shared, client):
    model = shared.home.script(calls(BASH), "Done.", name="ask.json")
    session = created(client)
    id = prompt(client, session, "Write it.", model, options={"limits": {"steps": 4}})
    assert result(client, session, id)["reason"] == "paused"
    (waiting,) = page(client, session)["open"]
    assert (waiting["type"], waiting["tool"], waiting["state"]) == ("tool_use", "bash", "pending")
    assert waiting["input"]["command"] == BASH[1]["command"]
    summary = client.get(f"/bridle/sessions/{session}/summary").json()
    (asked,) = summary["asks"]
    assert (asked["tool"], asked["input"], asked["ask"]["call"]) == ("bash", waiting["input"], waiting["id"])
    (steps,) = (use for use in summary["limits"] if use["name"] == "steps")
    assert (steps["scope"], steps["words"], steps["used"], steps["allowed"]) == ("turn", "1/4", 1, 4)
    (row,) = (row for row in client.get("/bridle/sessions").json()["sessions"] if row["session"] == session)
    assert (row["agent"], row["model"], row["limit"]["name"]) == ("build", model, "steps")
    client.post(f"/bridle/sessions/{session}/abort")
    assert result(client, session, id)["reason"] == "aborted"
    ended = client.get(f"/bridle/sessions/{session}/summary").json()
    assert (ended["asks"], ended["status"], ended["reason"]) == ([], {"state": "idle"}, "aborted")


def test_text_that_still_grows_is_on_the_newest_page(shared, client):
    text = "word " * 400
    model = shared.home.script({"text": text, "chunk": 20, "pace": 0.05}, name="slow.json")
    session = created(client)
    prompt(client, session, "Go.", model)
    with events(client, f"/bridle/sessions/{session}/events") as told:
        deltas = (data for _, kind, data in told if kind == "delta")
        # Text is recorded every half second; the reply is much longer.
        grown, found = next((data, found) for data in deltas if (found := page(client, session))["open"])
    (growing,) = found["open"]
    assert (growing["type"], growing["part"], growing["offset"]) == ("delta", grown["part"], 0)
    assert text.startswith(growing["text"])
    waits = prompt(client, session, "And then?", model, queue=True)
    summary = client.get(f"/bridle/sessions/{session}/summary").json()
    assert [(each["id"], each["text"], each["queue"]) for each in summary["waiting"]] == [(waits, "And then?", True)]
    client.post(f"/bridle/sessions/{session}/abort")


def test_a_page_is_asked_for_with_sensible_numbers_only(client):
    session = created(client)
    for query in ({"limit": 0}, {"limit": 501}, {"before": 0}, {"after": -1}, {"page": 1}):
        assert client.get(f"/bridle/sessions/{session}/history", params=query).status_code == 400
    assert client.get("/bridle/sessions/none/history").status_code == 404
