"""Recorded sessions as OpenCode's clients see them: events and lists agree at every point, and nothing moves."""

import asyncio
from itertools import chain
from typing import get_args

import msgspec
import pytest
from data.journals.reading import HERE, unpack
from support.event_stories import ONE, STORIES, watched
from support.opencode_client import Client, agrees, plain

from bridle.core.events import Entry
from bridle.core.limits import Reason
from bridle.core.parts import Sentinel, TurnFinish
from bridle.journal.sqlite import SqliteJournal
from bridle.surfaces.server.opencode.projection import Projection

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
