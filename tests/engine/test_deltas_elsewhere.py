"""Deltas of a turn that another process drives arrive as they come, and fit to the entries between them."""

import asyncio
from collections import defaultdict

from support.engine_app import WORDS, runtime, workers

from bridle import EventStream
from bridle.core.events import Entry
from bridle.wire.events import DeltaEvent

TOLD = " ".join(WORDS)


def test_a_turn_of_a_worker_streams_as_if_it_were_driven_here(tmp_path):
    async def story():
        with workers(tmp_path, "procrastinate"):
            async with runtime(tmp_path, "procrastinate") as here:
                session = await here.create()
                prompt = await here.prompt(session, "act:aloud tell:")
                assert not here.drives(session)
                stream, deltas, recorded, events = EventStream(session), defaultdict(str), 0, []
                async for event in here.stream(session, prompt):
                    if isinstance(event, Entry):
                        recorded = event.sequence
                        events += stream.of_entry(event)
                        continue
                    deltas[event.kind] = deltas[event.kind][: event.offset] + event.text
                    events += stream.of_delta(event)
                assert recorded == (await here.load(session)).sequence
                return deltas, events

    deltas, events = asyncio.run(asyncio.wait_for(story(), 60))
    # The last ones may come after the record of their end, and the first before anyone is known to follow.
    assert set(deltas) == {"text", "reasoning", "arguments", "output"}
    assert deltas["text"] in TOLD and deltas["output"] in TOLD + " " and deltas["arguments"] in '{"key":"aloud"}'
    shown = defaultdict(str)
    for event in events:
        if isinstance(event, DeltaEvent) and event.kind in ("text", "reasoning"):
            assert event.offset == len(shown[event.kind])
            shown[event.kind] += event.text
    assert shown == {"text": TOLD, "reasoning": TOLD}
