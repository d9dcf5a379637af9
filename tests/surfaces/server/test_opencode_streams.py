"""Streams of OpenCode's API, in virtual time."""

from support.cut_process import WiredJournal
from support.opencode_server import scripted_runtime
from support.virtual import EPOCH, run_virtually

from bridle.core.inbox import TurnOptions
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.prompts import Draft, answer_of, send
from bridle.surfaces.server.opencode.shapes import TextPart


def test_no_turn_waits_for_a_stream_that_may_open_later(tmp_path):
    async def work(seams):
        runtime = scripted_runtime(tmp_path, lambda request: "Done.", journal=WiredJournal(), seams=seams)

        async def opened(path):
            return runtime

        async with runtime:
            hub = Hub(Directories([tmp_path], opened))
            sent = await send(hub, await runtime.create(), "", Draft(text="hello", parts=(), options=TurnOptions()))
            answer = await answer_of(hub, sent)
            assert [part.text for part in answer.parts if isinstance(part, TextPart)] == ["Done."]
            entries = await runtime.entries(sent.tracker.session)
            assert {entry.at for entry in entries} == {EPOCH}
            await hub.close()

    run_virtually(work)
