"""Recorded stories become public events, whole and in order, and a follower may start at any entry."""

import random
from typing import get_args

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace
from support.event_stories import CALL, ONE, STORIES, begun, watched

from bridle import Output, call, tool
from bridle.core.events import Entry, PartDelta, PartPut, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import fold
from bridle.core.parts import Changed, Patch, Prompt, Reasoning, Redone, Text, Undone, Withdrawn
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.states import Done, Open
from bridle.wire.events import (
    DeltaEvent,
    ErrorEvent,
    Event,
    LineEvent,
    PatchEvent,
    PromptEvent,
    ReasoningEvent,
    RedoEvent,
    RemovedEvent,
    SessionEvent,
    StatusEvent,
    TextEvent,
    TitleEvent,
    TodosEvent,
    ToolUseEvent,
    UndoEvent,
    WithdrawnEvent,
    json_schema,
    result_event,
)
from bridle.wire.projection import EventStream


def told(seen, stream=None):
    stream = stream or EventStream(ONE)
    take = {Entry: stream.of_entry, PartDelta: stream.of_delta}
    return [event for each in seen for event in take[type(each)](each)]


def entries_of(seen):
    return [each for each in seen if isinstance(each, Entry)]


def folded(entries):
    session = Session()
    for entry in entries:
        fold(session, entry)
    return session


def watch(name):
    return watched(**{"steps": 9, **STORIES[name][0]})


@pytest.mark.parametrize("name", STORIES)
def test_a_story_is_told_in_events(name):
    arguments, expected = STORIES[name]
    seen = watch(name)
    # Estimates and waits are as the record has them.
    moved = (event for entry in entries_of(seen) for event in entry.events if isinstance(event, RequestMoved))
    waits = [event.state.tries[-1].next for event in moved if isinstance(event.state, Open)]
    facts = {"spent": folded(entries_of(seen)).turn.finish.spent, "next": waits[0] if waits else None}
    filled = [
        replace(event, **{name: fact for name, fact in facts.items() if getattr(event, name, "") is None})
        for event in expected
    ]
    assert told(seen) == [*begun(arguments.get("steps", 9)), *filled]


INFO = SessionInfo(ONE, "/project")
CHANGED = (Changed("a.py", "changed", 1, 2),)
FACTS = [
    (SessionPut(INFO), [StatusEvent(ONE, state="idle", sequence=1)]),
    (SessionPut(replace(INFO, title="Mend")), [TitleEvent(ONE, title="Mend", sequence=1)]),
    (PartPut(Patch("1.1.patch", "tree")), []),
    (PartPut(Patch("1.1.patch", "tree", files=CHANGED, more=1)), [PatchEvent(ONE, files=CHANGED, more=1, sequence=1)]),
    (PartPut(Undone("undo.1", 1, 1)), [UndoEvent(ONE, turn=1, restored=False, sequence=1)]),
    (PartPut(Redone("redo.2", "undo.1", restored=True)), [RedoEvent(ONE, restored=True, sequence=1)]),
    (PartPut(Withdrawn("p.withdrawn", "p")), [WithdrawnEvent(ONE, prompt="p", sequence=1)]),
    (PartPut(Prompt("p", "note")), [PromptEvent(ONE, id="p", turn=0, text="note", files=(), sequence=1)]),
]


@pytest.mark.parametrize(("fact", "events"), FACTS[1:], ids=lambda value: type(value).__name__)
def test_a_fact_about_the_session_is_told(fact, events):
    stream = EventStream.resumed(ONE, folded([Entry(0, 0.0, 0.0, (FACTS[0][0],))]))
    assert stream.of_entry(Entry(1, 0.0, 0.0, (fact,))) == events


def test_every_kind_of_event_is_in_the_schema_and_survives_json():
    events = [event for name in STORIES for event in told(watch(name))]
    events += [event for _, made in FACTS for event in made]
    events += [SessionEvent(ONE), ErrorEvent(ONE, message="no"), result_event(Result(ONE, "p", "recorded"), "recorded")]
    assert {type(event) for event in events} == set(get_args(Event))
    every, lines = (jsonschema.Draft202012Validator(json_schema(kinds)) for kinds in (Event, LineEvent))
    for event in events:
        encoded = msgspec.json.encode(event)
        every.validate(msgspec.json.decode(encoded))
        assert lines.is_valid(msgspec.json.decode(encoded)) is isinstance(event, LineEvent)
        assert msgspec.json.decode(encoded, type=Event) == event


@pytest.mark.parametrize("name", STORIES)
def test_a_follower_resumes_after_every_entry_as_if_it_had_never_left(name):
    entries = entries_of(watch(name))
    stream = EventStream(ONE)
    whole = [stream.of_entry(entry) for entry in entries]
    for place in range(1, len(entries)):
        late = EventStream.resumed(ONE, folded(entries[:place]))
        assert told(entries, late) == [event for events in whole[place:] for event in events]
    assert [events[-1].sequence for events in whole if events] == [
        entry.sequence for entry, events in zip(entries, whole, strict=True) if events
    ]
    assert told(entries, stream) == []


class Page:
    """A follower who keeps texts by deltas alone; it never gets one that does not fit."""

    def __init__(self, session):
        self.session = session
        self.texts = {part.id: part.text for part in session.parts.values() if isinstance(part, (Text, Reasoning))}

    def take(self, event):
        if isinstance(event, DeltaEvent) and event.kind in ("text", "reasoning"):
            assert event.offset == len(self.texts.get(event.part, ""))
            self.texts[event.part] = self.texts.get(event.part, "") + event.text
        elif isinstance(event, RemovedEvent):
            for part in event.parts:
                self.texts.pop(part, None)
        elif isinstance(event, (TextEvent, ReasoningEvent)):
            assert self.texts[event.part] == event.text


def interleaved(seen, chance):
    """The same entries, with deltas that come late, or never; as when entries are read from the journal."""
    late = []
    for each in seen:
        if isinstance(each, PartDelta):
            late += [each] if chance.random() < 0.8 else []
        else:
            yield each
        while late and chance.random() < 0.6:
            yield late.pop(0)
    yield from late


@pytest.mark.parametrize("name", ["steps and calls", "a retry", "an abort", "a synthesis", "a compaction"])
def test_deltas_in_any_order_between_entries_end_in_the_same_texts(name):
    seen = watch(name)
    final = Page(folded(entries_of(seen))).texts
    for seed in range(200):
        chance = random.Random(seed)
        place = chance.randrange(len(seen))
        page = Page(folded(entries_of(seen[:place])))
        for event in told(interleaved(seen[place:], chance), EventStream(ONE, page.session)):
            page.take(event)
        assert page.texts == final, seed


def test_a_follower_who_comes_late_is_told_what_a_delta_belongs_to():
    seen = watch("output as it comes")
    place = next(place for place, each in enumerate(seen) if isinstance(each, PartDelta) and each.text)
    late = EventStream(ONE, folded(entries_of(seen[:place])))
    half = PartDelta(CALL, 5, "half", "arguments", "print")
    assert late.of_delta(half) == [
        ToolUseEvent(ONE, id=CALL, tool="print", input=None, state="pending"),
        DeltaEvent(ONE, part=CALL, kind="arguments", offset=5, text="half"),
    ]
    assert late.of_delta(half) == late.of_delta(replace(half, part="1.1.1.1.0")) == []
    assert EventStream(ONE).of_delta(half) == []
    for entry in entries_of(seen[place:])[:3]:
        late.of_entry(entry)
    assert isinstance(late.session.call(CALL).state, Done)
    assert late.of_delta(PartDelta(CALL, 0, "too late", "output")) == []


def test_a_follower_who_comes_late_hears_the_rest_of_a_text_at_once():
    seen = watch("an abort")
    place = next(place for place, each in enumerate(seen) if isinstance(each, PartDelta) and each.offset)
    late = EventStream(ONE, folded(entries_of(seen[:place])))
    assert told(seen[place : place + 1], late) == [
        DeltaEvent(ONE, part="1.1.1.0.0", kind="text", offset=4, text="two ")
    ]


def test_only_the_turn_of_a_prompt_is_told_where_one_is_named():
    entries = entries_of(watch("a compaction"))
    assert told(entries, EventStream(ONE, prompt="p"))[-1] == StatusEvent(ONE, state="idle", sequence=5)
    assert told(entries, EventStream(ONE, prompt="another")) == []


def test_a_tool_of_the_same_name_is_no_list_of_tasks():
    @tool
    async def todowrite(todos: str) -> Output:
        """Keep something else."""
        return Output(todos, kept=True)

    seen = watched([call("todowrite", todos="none"), "Kept."], tools=[todowrite])
    assert not [event for event in told(seen) if isinstance(event, TodosEvent)]
