"""`Program` and `Caller`: protocols by which a turn gets instructions, hooks, tool contexts, checks from a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from bridle.core.inbox import PromptItem
from bridle.core.parts import Delegation, TurnStart
from bridle.core.session import Session
from bridle.core.states import Report
from bridle.journal.journal import Journal
from bridle.turn.hook import Hook


class NestedAgent(Protocol):
    """An agent that a tool may run inside its call."""

    @property
    def name(self) -> str: ...

    async def run_below(
        self, prompt: str, *, session: str, delegation: Delegation, journal: Journal, deps: Any
    ) -> tuple[Any, Report]:
        """Run a prompt in a new session under a delegation; return the result, and the use of the whole run.

        Raises `ConfigError`, and starts nothing, if the run cannot begin.
        """


class NestedRunner(Protocol):
    """Runs another agent inside a tool call, under the budget of the call's turn."""

    async def __call__(self, agent: NestedAgent, prompt: str, deps: Any) -> Any: ...


class Caller(Protocol):
    """What the program brings to one turn. Made when a process begins to drive the turn."""

    @property
    def hooks(self) -> Sequence[Hook]:
        """The hooks of the turn's agent."""

    async def context(
        self,
        *,
        call: str = "",
        epoch: int = 0,
        show: Callable[[str], None] | None = None,
        runner: NestedRunner | None = None,
    ) -> Any:
        """Return the context that a function of the program receives."""

    async def accepted(self, answer: Any) -> Any:
        """Return the answer as JSON data if the program accepts it; else raise an error that tells the model why."""


class Program(Protocol):
    """Brings Python objects to the turns of a runtime. What it opens for a session lives as long as one drive of it."""

    @property
    def has_hooks(self) -> bool:
        """Whether one of its agents has hooks."""

    async def instructions(self, session: Session, agent: str, item: PromptItem, number: int) -> str | None:
        """Return the instructions of an agent for the turn that a prompt opens; None if its definition has them."""

    async def attach(self, session: Session, start: TurnStart) -> None:
        """Make the dependencies of the open turn; raises `TurnLeft` if this process cannot."""

    def caller(self, session: Session, start: TurnStart) -> Caller | None:
        """Return what the program brings to an attached turn."""

    async def release(self, session: str) -> None:
        """Close the dependencies of a session's drive. May be called twice."""
