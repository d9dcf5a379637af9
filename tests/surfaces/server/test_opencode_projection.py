"""Recorded sessions as OpenCode's clients see them: events and lists agree at every point, and nothing moves."""

import asyncio
import re
from itertools import chain
from typing import get_args

import msgspec
import pytest
from data.journals.reading import HERE, unpack
from support.event_stories import ONE, STORIES, watched
from support.opencode_client import Client, agrees, plain

from bridle.core.events import Entry
from bridle.core.limits import Reason
from bridle.core.parts import Sentinel, StepStart, TurnFinish
from bridle.journal.sqlite import SqliteJournal
from bridle.surfaces.server.opencode.projection import Projection
from bridle.surfaces.server.opencode.session_facts import milliseconds

NAMES = sorted({path.name.partition(".")[0] for path in HERE.glob("*.db*")})


def told(projection, events):
    """Apply events one by one: after each, client and list agree."""
    client = Client()
    for event in events:
        client.take(projection.of_entry(event) if isinstance(event, Entry) else projection.of_delta(event))
        if projection.sequence:
            agrees(client, projection)
    return client


def projected(session, entries):
    projection = Projection(session)
    for entry in entries:
        projection.of_entry(entry)
    return projection


def recorded(path):
    async def read():
        journal = SqliteJournal(path)
        try:
            return {row.info.id: await journal.load(row.info.id) for row in await journal.sessions()}
        finally:
            await journal.close()

    return asyncio.run(read())


@pytest.mark.parametrize("name", NAMES)
def test_events_lead_to_what_is_listed_at_every_point_of_a_recorded_session(name, tmp_path):
    for session, entries in recorded(unpack(name, tmp_path)).items():
        projection = Projection(session)
        told(projection, entries)
        assert projection.of_entry(entries[-1]) == [], "known entries tell nothing"


@pytest.mark.parametrize("story", STORIES)
def test_streamed_text_leads_to_what_the_record_alone_shows(story):
    seen = watched(**STORIES[story][0])
    streamed = Projection(ONE)
    told(streamed, seen)
    alone = projected(ONE, [event for event in seen if isinstance(event, Entry)])
    assert without_output(streamed) == without_output(alone)


def without_output(projection):
    listed = plain(projection.talk.listed())
    return listed, plain(projection.shown())


WITHOUT_ANSWER = {
    "error": "UnknownError",
    "empty": "UnknownError",
    "denied": "UnknownError",
    "context_full": "ContextOverflowError",
    "aborted": "MessageAbortedError",
}
REASONS = sorted(set(chain(*(get_args(each) or (each,) for each in get_args(Reason)))) - {"answered", "synthesized"})


def ending(reason):
    """Return the record of a turn that ended at its limit, with another reason."""

    def changed(event):
        part = getattr(event, "part", None)
        if isinstance(part, Sentinel):
            return msgspec.structs.replace(
                event, part=msgspec.structs.replace(part, reason=reason, text="Why it ended")
            )
        if isinstance(part, TurnFinish):
            return msgspec.structs.replace(event, part=msgspec.structs.replace(part, reason=reason, detail="It failed"))
        return event

    for entry in watched(**STORIES["a limit"][0]):
        if isinstance(entry, Entry):
            yield msgspec.structs.replace(entry, events=tuple(map(changed, entry.events)))


@pytest.mark.parametrize("reason", REASONS)
def test_an_ending_with_an_answer_adds_its_words_and_one_without_is_an_error(reason):
    last = plain(projected(ONE, ending(reason)).talk.listed())[-1]
    texts = [part["text"] for part in last["parts"] if part["type"] == "text"]
    error = last["info"].get("error")
    if reason in WITHOUT_ANSWER:
        assert (error["name"], error["data"]["message"]) == (WITHOUT_ANSWER[reason], "It failed")
        assert "Why it ended" not in texts
    else:
        assert (error, texts[-1]) == (None, "Why it ended")
    assert "completed" in last["info"]["time"]


def steps(entries):
    """Yield the start of each step, with the time of its entry in milliseconds."""
    for entry in entries:
        for event in entry.events:
            if isinstance(getattr(event, "part", None), StepStart):
                yield event.part, milliseconds(entry.at)


@pytest.mark.parametrize("story", STORIES)
def test_ids_of_parts_are_places_in_the_record_and_messages_begin_with_their_steps(story):
    entries = [event for event in watched(**STORIES[story][0]) if isinstance(event, Entry)]
    listed = plain(projected(ONE, entries).talk.listed())
    replies = [each for each in listed if each["info"]["role"] == "assistant"]
    ids = [part["id"] for each in replies for part in each["parts"]]
    assert ids and all(re.fullmatch(r"prt_\d{22}[0-9a-f]{8}", id) for id in ids)
    assert len(ids) == len(set(ids))
    for each in replies:
        own = [part["id"] for part in each["parts"]]
        assert own == sorted(own), "they ascend in the order of the record"
    starts = [part["id"] for each in replies for part in each["parts"] if part["type"] == "step-start"]
    places = [(int(id[4:10]), int(id[10:15])) for id in starts]
    assert places == [(int(part.id.split(".")[0]), part.number) for part, _ in steps(entries)]
    created = [each["info"]["time"]["created"] for each in listed]
    assert created == sorted(set(created))
    times = [each["info"]["time"]["created"] for each in replies if each["parts"][0]["type"] == "step-start"]
    for time, (_, at) in zip(times, steps(entries), strict=True):
        # Messages of one millisecond follow each other.
        assert time == at or time == created[created.index(time) - 1] + 1
