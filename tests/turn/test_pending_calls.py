"""A call is shown as soon as its name is known, and its arguments grow while the model writes them."""

import asyncio
import json
import re

import pytest
from support.terminal_text import Tty, seen
from support.tui_app import seated, told

from bridle import Agent, tool
from bridle.core.agent import ModelInfo
from bridle.core.events import PartDelta
from bridle.core.stream import StepEnd, StreamEnd, TextDelta, ToolCall, ToolInputDelta, ToolInputStart
from bridle.surfaces.cli.json_lines import JsonLines
from bridle.surfaces.cli.screen import Screen
from bridle.surfaces.cli.text import TextLines


@tool
async def note(words: str) -> str:
    """Keep words."""
    return "kept"


class Slow:
    """A model that stops in the middle of a call's arguments until it is told to go on."""

    def __init__(self):
        self.info = ModelInfo("slow")
        self.goes_on = asyncio.Event()

    async def stream(self, request):
        if len(request.messages) == 1:
            yield ToolInputStart("note", "c")
            yield ToolInputDelta("c", '{"words": "some')
            await self.goes_on.wait()
            yield ToolInputDelta("c", 'thing"}')
            yield ToolCall("note", '{"words": "something"}', "c")
        else:
            yield TextDelta("Done.")
        yield StepEnd()
        yield StreamEnd()


def followed(lines, look):
    """Follow one prompt; `look` is called while the call is still being written."""

    async def play():
        model = Slow()
        async with Agent(model=model, tools=[note]).runtime() as runtime:
            session = await runtime.create("ses_one")
            prompt = await runtime.prompt(session, "go")
            lines.begin(await runtime.load(session), prompt)
            async for event in runtime.stream(session, prompt):
                lines.event(event)
                if isinstance(event, PartDelta) and event.text and not model.goes_on.is_set():
                    look()
                    model.goes_on.set()

    asyncio.run(asyncio.wait_for(play(), 60))


def test_json_lines_tell_of_a_call_once_its_name_is_known(capsys):
    early = []
    followed(JsonLines(), lambda: early.append(capsys.readouterr().out))
    told = "".join(early) + capsys.readouterr().out
    uses = [line for line in map(json.loads, told.splitlines()) if line["type"] == "tool_use"]
    assert [(use["tool"], use["state"], use["input"]) for use in uses] == [
        ("note", "pending", None),
        ("note", "done", {"words": "something"}),
    ]
    assert uses[0]["id"] == uses[1]["id"]
    assert '"state":"pending"' in early[0] and '"state":"done"' not in early[0]


def test_a_terminal_shows_a_call_that_is_still_being_written(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "20")
    terminal = Tty()
    early = []
    followed(TextLines(Screen(terminal, terminal, quiet=False)), lambda: early.extend(seen(terminal.getvalue())))
    assert "  ○ note  15 characters" in early
    assert "characters" not in "\n".join(seen(terminal.getvalue()))


GROWS = re.compile(r"note +15 characters")


@pytest.mark.slow
def test_the_terminal_application_shows_a_call_that_is_still_being_written(tmp_path):
    async def story():
        model = Slow()
        async with seated(tmp_path, brought={"m": model}, tools=[note]) as seat:
            await seat.ask()
            await seat.until(lambda: GROWS.search(seat.read()) is not None)
            model.goes_on.set()
            await seat.ended()
            assert seat.kinds().count("CallView") == 1
            assert "✓ note" in seat.read() and "something" in seat.read()

    told(story)


@pytest.mark.slow
def test_a_call_that_the_connection_cut_is_shown_no_more(tmp_path):
    class Cut(Slow):
        tries = 0

        async def stream(self, request):
            self.tries += 1
            if self.tries == 1:
                yield ToolInputStart("note", "c")
                yield ToolInputDelta("c", '{"words": "some')
                await self.goes_on.wait()
                return
            yield TextDelta("Done without.")
            yield StepEnd()
            yield StreamEnd()

    async def story():
        model = Cut()
        async with seated(tmp_path, brought={"m": model}, tools=[note]) as seat:
            await seat.ask()
            await seat.until(lambda: GROWS.search(seat.read()) is not None)
            model.goes_on.set()
            await seat.ended()
            assert "CallView" not in seat.kinds() and "Done without." in seat.read()

    told(story)
