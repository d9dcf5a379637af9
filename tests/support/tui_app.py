"""The terminal application with a scripted model, and a person in front of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot

from bridle import Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Rule
from bridle.surfaces.tui.app import BridleApp
from bridle.surfaces.tui.asks import Deliberate
from bridle.surfaces.tui.chat import Chat
from bridle.surfaces.tui.host import NOTHING_CHOSEN
from bridle.surfaces.tui.rows import RowsView
from bridle.surfaces.tui.widgets import Static
from bridle.testing.scripted import Scripted, ScriptedCall
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Tool


@tool
async def look(key: str) -> str:
    """Look at something."""
    return f"saw {key}"


@tool
async def slow(key: str) -> str:
    """Take long."""
    await asyncio.sleep(60)
    return key


class Seat:
    """A person in front of the application."""

    def __init__(self, app: BridleApp, pilot: Pilot[Any], runtime: Runtime, model: ScriptedModel) -> None:
        self.app, self.pilot, self.runtime, self.model = app, pilot, runtime, model

    @property
    def chat(self) -> Chat:
        return self.app.chat

    async def type(self, words: str) -> None:
        """Type as fast as a terminal sends; `Pilot.press` would wait after each letter until nothing works."""
        self.post(words)
        await self.pilot.pause()

    def post(self, words: str) -> None:
        """Type and wait for nothing."""
        for letter in words:
            self.app.post_message(events.Key(_character_to_key(letter), letter))

    async def ask(self, words: str = "go") -> None:
        await self.type(words)
        await self.pilot.press("enter")

    async def until(self, seen: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait for something to be seen."""
        end = asyncio.get_running_loop().time() + seconds
        while not seen():
            assert asyncio.get_running_loop().time() < end, self.kinds()
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def ended(self, turns: int = 1) -> None:
        await self.until(lambda: self.kinds().count("end") >= turns and not self.chat.busy)

    def kinds(self) -> list[str]:
        """The parts in the transcript: those that are mere text by their style, the others by their widget."""
        shown = self.chat.transcript.query(".part")
        mere = (Static, RowsView)
        return [min(view.classes - {"part"}) if type(view) in mere else type(view).__name__ for view in shown]

    def read(self) -> str:
        """Everything that is on the screen, as text."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


@asynccontextmanager
async def seated(
    tmp_path: Path,
    *replies: Scripted,
    size: tuple[int, int] = (100, 34),
    rules: tuple[Rule, ...] = (),
    steps: int | None = None,
    session: str | None = None,
    others: Sequence[AgentDefinition] = (),
    tools: Sequence[Tool] = (),
    **more: Any,
) -> AsyncIterator[Seat]:
    """Somebody who works with what `m` says; `more` is for the settings and the runtime."""
    model = ScriptedModel(more.pop("play", replies))
    agents = [
        AgentDefinition("build", model="m", steps=steps, permission=rules),
        AgentDefinition("plan", model="m", description="Plans."),
    ]
    toasts, Deliberate.QUIET_SECONDS = more.pop("toasts", False), more.pop("quiet", 0.05)
    host, choices = more.pop("host", None), more.pop("choices", NOTHING_CHOSEN)
    known = {name: more.pop(name) for name in Settings.__struct_fields__ if name in more and name != "journal"}
    runtime = Runtime(
        RuntimeConfig(
            models={"m": model, "n": ScriptedModel(["From the other."]), **more.pop("brought", {})},
            settings=Settings(**known),
            agents=[*agents, *others],
            tools=[look, slow, *tools],
            directory=tmp_path,
            **more,
        )
    )
    async with runtime:
        app = BridleApp(runtime, await runtime.create(session or "ses_one"), host, choices)
        async with app.run_test(size=size, notifications=toasts) as pilot:
            await pilot.pause()
            yield Seat(app, pilot, runtime, model)


def told(story: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Tell a story to its end."""
    asyncio.run(asyncio.wait_for(story(), 240))


ANY = (Rule("*", "*", "allow"),)


def task(agent: str = "scout", prompt: str = "look into it") -> ScriptedCall:
    return call("task", description="a piece", prompt=prompt, subagent_type=agent)


def with_scout(*replies: Scripted, **more: Any) -> dict[str, Any]:
    scout = ScriptedModel(list(replies))
    tools = [tool for tool in builtin_tools() if tool.spec.name == "task"]
    agent = AgentDefinition("scout", model="s", mode="subagent", permission=ANY, steps=7)
    return {"brought": {"s": scout}, "others": [agent], "tools": tools, "rules": ANY, "subagents": None, **more}
