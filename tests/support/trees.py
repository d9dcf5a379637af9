"""Trees of sessions in virtual time, told in a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from bridle import Agent, Limits, Runtime, ScriptedModel, call, tool
from bridle.core.fold import fold, load
from bridle.core.ledger import TreeLimits
from bridle.core.parts import Call, TurnFinish
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.testing.validators import problems
from support.cut_process import WiredJournal
from support.oracle import read_turn
from support.virtual import run_virtually
from support.wires import problems_on_wires

ROOT = "ses_root"


def spawn(prompt: str, *, task_id: str = "", agent: str = "child", background: bool = False) -> Any:
    """A call that starts a subagent."""
    more: dict[str, Any] = {"task_id": task_id} if task_id else {}
    more |= {"background": True} if background else {}
    return call("task", description="a piece", prompt=prompt, subagent_type=agent, **more)


@dataclass
class Family:
    """What became of a tree."""

    result: Result
    sessions: dict[str, Session]
    models: dict[str, ScriptedModel]
    accounts: list[Any]
    journal: WiredJournal
    ran: list[str] = field(default_factory=list)
    most_at_once: int = 0

    def requests(self, who: str) -> list[Any]:
        return self.models[who].requests

    def calls(self, depth: int = 0) -> list[Call]:
        found = [session for session in self.sessions.values() if depth_of(session) == depth]
        return [part for session in found for part in session.parts.values() if isinstance(part, Call)]

    def depths(self) -> list[int]:
        return [depth_of(session) for session in self.sessions.values()]

    def parts_below(self, kind: type) -> list[Any]:
        below = [session for session in self.sessions.values() if depth_of(session)]
        return [part for session in below for part in session.parts.values() if isinstance(part, kind)]

    def finishes(self) -> list[TurnFinish]:
        every = [part for session in self.sessions.values() for part in session.parts.values()]
        return [part for part in every if isinstance(part, TurnFinish)]


def depth_of(session: Session) -> int:
    assert session.turn is not None
    start = session.turn.start
    return start.delegation.depth if start.delegation is not None else 0


@dataclass
class _Counted:
    """A model that notes how many of its replies are under way at once, over all models of a family."""

    inner: ScriptedModel
    family: dict[str, int]

    @property
    def info(self) -> Any:
        return self.inner.info

    async def stream(self, request: Any) -> Any:
        assert problems(request) == problems_on_wires(request) == [], request.id
        below = self.inner.info.ref != "root"
        self.family["now"] += below
        self.family["most"] = max(self.family["most"], self.family["now"])
        try:
            async for event in self.inner.stream(request):
                yield event
        finally:
            self.family["now"] -= below


def family(
    *,
    root: Any,
    child: Any,
    grandchild: Any = None,
    child_steps: int | None = None,
    limits: Limits | None = None,
    child_limits: Limits | None = None,
    root_permission: Any = (),
    child_permission: Any = (),
    tree: TreeLimits | None = None,
    price: Any = None,
    people: Callable[..., Any] | None = None,
    on_ask: str = "deny",
    seed: int | None = 0,
    steps: int | None = None,
    max_output_tokens: int = 8_192,
    starts_all: bool = False,
) -> Family:
    """Run one prompt of a root with subagents to its end; afterwards the ledger and every fold must be right.

    With `starts_all` every agent may start every subagent, as on the command line, and not only its own.
    """
    ran: list[str] = []
    counted = {"now": 0, "most": 0}

    @tool
    async def look(key: str = "") -> str:
        """Look at something."""
        ran.append(f"look {key}")
        return f"saw {key}"

    @tool
    async def slow() -> str:
        """Take ten seconds."""
        await asyncio.sleep(10)
        return "slow"

    made = {"root": root, "child": child, "grandchild": grandchild or child}
    models = {
        name: ScriptedModel(play or ["never"], price=price, ref=name, max_output_tokens=max_output_tokens)
        for name, play in made.items()
    }

    async def work(seams: Any) -> Family:
        journal = WiredJournal()

        def agent(name: str, **more: Any) -> Agent:
            return Agent(
                name, model=_Counted(models[name], counted), tools=[look, slow], seams=seams, description=name, **more
            )

        below = agent("grandchild", permission=child_permission)
        middle = agent(
            "child",
            steps=child_steps,
            limits=child_limits or Limits(),
            permission=child_permission,
            subagents=[below],
        )
        top = agent(
            "root",
            limits=limits or Limits(),
            steps=steps,
            permission=root_permission,
            subagents=[middle],
            tree=tree or TreeLimits(steps=1_000),
            journal=journal,
            on_ask=on_ask,
        )
        agents = [structs.replace(each, subagents=None) if starts_all else each for each in top.config.agents]
        async with Runtime(replace(top.config, agents=agents)) as runtime:
            session = await runtime.create(ROOT)
            prompt = await runtime.prompt(session, "go", options=top.turn_options)
            if people is not None:
                await people(runtime, session, prompt)
            result = await runtime.wait(session, prompt)
        ids = list(journal._sessions)
        sessions = {id: load(journal._sessions[id].entries) for id in ids}
        accounts = list(journal._accounts.values())
        return Family(result, sessions, models, accounts, journal, ran, counted["most"])

    story: Family = run_virtually(work, seed=seed)
    check_family(story)
    return story


def check_family(story: Family) -> None:
    """The folds equal full scans, and the ledger says what the sessions say."""
    for id, kept in story.journal._sessions.items():
        session = Session()
        for place, entry in enumerate(kept.entries, 1):
            fold(session, entry)
            if session.turn is not None and place < 40:
                view = session.view(session.elapsed)
                assert view == read_turn(kept.entries[:place], view.crowded), (id, place)
        if session.turn is not None and (finish := session.turn.finish) is not None:
            account = story.journal._accounts[session.turn.start.account]
            assert account.spent.tokens == finish.spent.tokens, id
            assert account.spent.steps == finish.spent.steps + session.turn.below.steps, id
            assert (account.held, account.children, account.live) == ({}, 0, 0), id
