"""One turn in virtual time, told in a few lines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bridle import Agent, Limits, ScriptedModel, call, tool
from bridle.core.events import Entry
from bridle.core.fold import fold
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Notice, Part, Sentinel
from bridle.core.replay import verified
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.runtime import Runtime
from bridle.testing.validators import problems
from support.cut_process import WiredJournal
from support.oracle import read_turn
from support.virtual import run_virtually
from support.wires import problems_on_wires

ran: list[str] = []


@tool
async def look(key: str = "") -> str:
    """Look at something."""
    ran.append(f"look {key}")
    return f"saw {key}"


@tool
async def poll(key: str = "") -> str:
    """Look at something that changes."""
    ran.append(f"poll {key}")
    return f"state {len(ran)}"


@tool
async def silent(key: str = "") -> str:
    """Find nothing."""
    ran.append(f"silent {key}")
    return ""


@tool
async def broken(key: str = "") -> str:
    """Fail."""
    ran.append(f"broken {key}")
    raise RuntimeError("always")


TOOLS = (look, poll, silent, broken)


@dataclass
class Story:
    """What was asked, sent, done and recorded."""

    result: Result
    session: Session
    model: ScriptedModel
    ran: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def parts(self, kind: type[Part]) -> list[Any]:
        return [part for part in self.session.parts.values() if isinstance(part, kind)]

    @property
    def notices(self) -> list[str]:
        return [notice.text for notice in self.parts(Notice) if notice.about != "closing"]

    @property
    def sentinels(self) -> list[str]:
        return [sentinel.text for sentinel in self.parts(Sentinel)]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Each call's tool and how it stands."""
        return [(made.name, _state(made)) for made in self.parts(Call)]


def _state(made: Call) -> str:
    refusal = getattr(made.state, "refusal", None)
    if refusal is None:
        return type(made.state).__name__.lower()
    return f"{refusal.name} {refusal.limit}" if refusal.limit else refusal.name


def compare_with_oracle(entries: list[Entry]) -> None:
    """The fold equals a full scan after every event."""
    session = Session()
    for place, entry in enumerate(entries, 1):
        fold(session, entry)
        # Scanning everything each time is slow: long stories are looked at here and there.
        if session.turn is not None and (place < 60 or place % 50 == 0):
            view = session.view(session.elapsed)
            assert view == read_turn(entries[:place], view.crowded)


People = Callable[[Runtime, str, str], Awaitable[Any]]


def tell(
    model: ScriptedModel | list[ScriptedModel],
    *,
    steps: int | None = None,
    limits: Limits | None = None,
    tools: Iterable[Any] = TOOLS,
    options: TurnOptions | None = None,
    people: People | None = None,
    prompt: str = "go",
    seed: int | None = 0,
    **more: Any,
) -> Story:
    """Run one prompt to its end; every request that is sent must be valid."""
    ran.clear()
    models = list(model) if isinstance(model, list) else [model]

    async def work(seams: Any) -> Story:
        arguments: dict[str, Any] = {"limits": limits} if limits is not None else {}
        more.setdefault("journal", WiredJournal())
        agent = Agent("build", model=models, tools=tools, steps=steps, seams=seams, **arguments, **more)
        async with agent.runtime() as runtime:
            session = await runtime.create()
            id = await runtime.prompt(session, prompt, options=options)
            if people is not None:
                await people(runtime, session, id)
            result = await runtime.wait(session, id)
            entries = await runtime.journal.load(session)
            compare_with_oracle(entries)
            assert verified(entries) is None
            return Story(result, await runtime.load(session), models[0], list(ran), entries)

    story: Story = run_virtually(work, seed=seed)
    for request in [request for each in models for request in each.requests]:
        assert problems(request) == problems_on_wires(request) == [], request.id
    return story


__all__ = ["Limits", "Story", "call", "tell"]
