"""JSON lines are the public events of a turn: the kinds that are promised, each written as it is."""

import json

import msgspec
import pytest
from support.event_stories import CALL, CHILD, ONE, STORIES, begun, watched

from bridle.core.events import CallMoved, Entry
from bridle.core.session import Session
from bridle.core.states import Waiting
from bridle.surfaces.cli.json_lines import JsonLines
from bridle.wire.events import LineEvent
from bridle.wire.projection import EventStream


def written(seen, capsys):
    """The lines of a turn from its beginning."""
    lines = JsonLines()
    lines.session(ONE)
    lines.begin(Session(), "p")
    for each in seen:
        lines.event(each)
    first, *rest = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"type": "session", "session": ONE}
    return rest


@pytest.mark.parametrize("name", ["steps and calls", "a limit", "todos", "a subagent that asks twice"])
def test_lines_are_the_events_of_the_promised_kinds(name, capsys):
    arguments, events = STORIES[name]
    # The first entry makes the session, before the turn that is told.
    told = [*begun(arguments.get("steps", 9))[1:], *events]
    expected = [
        msgspec.structs.replace(event, sequence=msgspec.UNSET) for event in told if isinstance(event, LineEvent)
    ]
    assert written(watched(**{"steps": 9, **arguments}), capsys) == json.loads(msgspec.json.encode(expected))


def test_an_ask_of_a_subagent_that_comes_up_again_is_written_once(capsys):
    arguments, _ = STORIES["a subagent that asks twice"]
    entries = [each for each in watched(**{"steps": 9, **arguments}) if isinstance(each, Entry)][:7]
    stream = EventStream(ONE)
    asks = next(
        event.state.asks
        for entry in entries
        for event in entry.events
        if isinstance(event, CallMoved) and isinstance(event.state, Waiting) and event.state.asks
    )
    again = Entry(8, 0.0, 0.0, (CallMoved(CALL, Waiting(CHILD, asks)),))
    told = [event for entry in [*entries, again] for event in stream.of_entry(entry)]
    assert [event.id for event in told if getattr(event, "choices", ())] == [ask.id for ask in (*asks, asks[0])]
    lines = written([*entries, again], capsys)
    assert [line["id"] for line in lines if line["type"] == "ask"] == [ask.id for ask in asks]
