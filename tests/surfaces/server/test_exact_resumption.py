"""A stream that is cut anywhere, also by the death of the server, and resumed: its events are those of the record."""

import random

import httpx2
import msgspec
import pytest
from support.cli_home import calls
from support.postgres import new_schema, server_url
from support.served_home import created, events, prompt, result

from bridle.core.events import Entry
from bridle.wire.projection import EventStream


def is_live(event):
    """Whether an event depends on what a reader was shown live."""
    return event["type"] in ("delta", "removed") or event.get("state") == "pending"


SLOW = pytest.param(("postgres", "killed"), marks=pytest.mark.slow)
"""The lease of a killed process lasts 15 seconds there."""


@pytest.fixture(params=[("sqlite", "killed"), ("postgres", "stopped"), SLOW], ids=str)
def kept(request, served):
    served.end_one = (lambda server: server.kill()) if request.param[1] == "killed" else (lambda server: server.stop())
    if request.param[0] == "postgres":
        journal = {"BRIDLE_JOURNAL__URL": server_url(), "BRIDLE_JOURNAL__SCHEMA": new_schema()}
        served.home.environment |= journal
        served.token = served.new_token("ann")
    return served


def recorded(client, session):
    """The events that the record alone gives, by entry."""
    raw = client.get(f"/bridle/sessions/{session}/entries").json()["entries"]
    stream = EventStream(session)
    found = [stream.of_entry(entry) for entry in msgspec.convert(raw, list[Entry])]
    told = [msgspec.json.decode(msgspec.json.encode(event)) for group in found for event in group]
    return [event for event in told if not is_live(event)]


class Reader:
    """Follows a session, and counts what belongs to an entry once it has the entry's last event."""

    def __init__(self, session):
        self.session = session
        self.last = 0
        self.ids = []
        self.counted = []
        self.text = {}
        self.streams = False
        """Whether text came live in the last reading."""

    def read(self, client, most):
        """Read some events, until the turn has ended; return whether it has."""
        self.streams = False
        waiting, before = [], len(self.counted)
        with events(client, f"/bridle/sessions/{self.session}/events", self.last) as told:
            for _, (id, kind, data) in zip(range(most), told, strict=False):
                self.show(kind, data)
                self.streams = self.streams or (kind == "delta" and id is None)
                waiting.append(data)
                if id is not None:
                    self.counted += [event for event in waiting if not is_live(event)]
                    self.ids.append(id)
                    self.last, waiting = id, []
                    if "turn_finish" in [event["type"] for event in self.counted[before:]]:
                        return True
        return False

    def show(self, kind, data):
        """Show text as a page does: a delta that does not fit is dropped."""
        if kind == "delta" and data["kind"] == "text":
            known = self.text.get(data["part"], "")
            if data["offset"] <= len(known):
                self.text[data["part"]] = known[: data["offset"]] + data["text"]


def test_a_cut_stream_goes_on_where_it_was_also_in_the_next_server(kept):
    words = {"text": "word " * 200, "chunk": 5, "pace": 0.008}
    model = kept.home.script({**calls(("list", {})), **words}, words, then="The end of it.")
    server, luck = kept.serve("--grace", "0"), random.Random(7)
    with kept.client(server) as client:
        session = created(client)
        id = prompt(client, session, "Look around.", model)
    reader, deaths, over, reads = Reader(session), 0, False, 0
    while not over:
        reads += 1
        assert reads < 1_000
        with kept.client(server) as client:
            over = reader.read(client, luck.randrange(1, 40))
        if reader.streams and deaths < 2 and not over:
            deaths += 1
            # The next process plays the script from its beginning: its call finds something else.
            (kept.project / f"new{deaths}").touch()
            kept.end_one(server)
            server = kept.serve("--grace", "0")
    assert deaths == 2
    with kept.client(server) as client:
        assert result(client, session, id)["reason"] == "answered"
        truth = recorded(client, session)
        state = client.get(f"/bridle/sessions/{session}").json()
    assert reader.counted == truth
    assert reader.ids == sorted(set(reader.ids))
    texts = {part["id"]: part["text"] for part in state["parts"] if part["kind"] == "text"}
    assert {part: reader.text[part] for part in texts} == texts


def test_an_undone_turn_is_told_and_the_stream_goes_on(shared):
    with shared.client(shared.servers[0]) as client:
        model = shared.home.script("One.", then="Two.", name="undone.json")
        session = created(client)
        result(client, session, prompt(client, session, "First", model))
        assert client.post(f"/bridle/sessions/{session}/undo").json()["turn"] == 1
        result(client, session, prompt(client, session, "Second", model))
        reader = Reader(session)
        truth = recorded(client, session)
        while len(reader.counted) < len(truth):
            reader.read(client, 3)
        assert reader.counted == truth
        assert "undo" in [event["type"] for event in truth]
        with pytest.raises(AssertionError), events(client, f"/bridle/sessions/{session}/events", 10_000):
            pass


def test_the_stream_of_all_sessions_begins_with_a_snapshot_and_tells_changes(shared):
    with shared.client(shared.servers[0]) as client, shared.client(shared.servers[0]) as other:
        first = created(client)
        model = shared.home.script("Answer.", name="rows.json")
        result(client, first, prompt(client, first, "Known before", model))
        with events(other, "/bridle/events") as told:
            _, kind, data = next(told)
            assert kind == "snapshot"
            assert "Known before" in [row["title"] for row in data["sessions"]]
            second = created(client)
            prompt(client, second, "Comes later", model)
            rows = [next(told)]
            while (rows[-1][1], rows[-1][2]["session"], rows[-1][2].get("state")) != ("row", second, "idle"):
                rows.append(next(told))
            assert client.delete(f"/bridle/sessions/{second}").status_code == 200
            while rows[-1][1] != "gone":
                rows.append(next(told))
            assert rows[-1][2] == {"session": second}


def test_a_stream_needs_a_number(shared):
    with shared.client(shared.servers[0]) as client:
        session = created(client)
        for wrong in ("x", "-1", "1.5", "9" * 40):
            answer = client.get(f"/bridle/sessions/{session}/events", headers={"Last-Event-ID": wrong})
            assert (answer.status_code, answer.json()["key"]) == (400, "last-event-id")
        assert client.get(f"/bridle/sessions/{session}/status").status_code == httpx2.codes.OK
