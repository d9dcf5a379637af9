"""What the effects of a turn work with: its record, its tack, the seams and the scope of its abort."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from bridle.core.agent import ModelInfo
from bridle.core.events import PromptItem
from bridle.core.ledger import Account
from bridle.core.parts import Notice, TurnStart
from bridle.core.permission import Access, Rule, Verdict, judge, strictest
from bridle.core.retry import RetryPolicy
from bridle.core.session import OpenTurn, Session
from bridle.core.stream import ToolSpec
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.tool import Tool
from bridle.turn.record import Record
from bridle.turn.scope import Scope


@dataclass(slots=True, frozen=True)
class Deadlines:
    """How long a request may take to say something, to go on, and in all."""

    first_event_seconds: float = 120.0
    idle_seconds: float = 120.0
    request_seconds: float = 1_800.0


@dataclass(frozen=True)
class Tack:
    """What one turn is equipped with, as its TurnStart says."""

    model: Model
    info: ModelInfo
    tools: Mapping[str, Tool]
    rules: tuple[Rule, ...]
    restrictions: tuple[Rule, ...]
    """Rules that can only make the others stricter."""
    directory: Path
    closing_prompt: str
    ceiling: int
    options: Mapping[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = RetryPolicy()
    deadlines: Deadlines = Deadlines()
    store_output: Callable[[str, str, str], str] | None = None

    @cached_property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of the tools; the same in every request of the turn."""
        return tuple(tool.spec for tool in self.tools.values())

    def judge(self, access: Access) -> Verdict:
        """What the rules say to this, and the restrictions on top of them."""
        return strictest((judge(self.rules, access), judge(self.restrictions, access, default="allow")))


@dataclass(slots=True, frozen=True)
class Opening:
    """A turn that may start, with its account and what its reader is told; or the problem that ends it at once."""

    start: TurnStart
    account: Account
    notices: tuple[Notice, ...] = ()
    problem: str = ""


class TackRoom(Protocol):
    """Turns a prompt into a turn, and a recorded turn back into what it works with."""

    def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        """Everything that holds for the turn which this prompt opens. Never raises `ConfigError`: see `Opening`."""

    def equip(self, session: Session, start: TurnStart) -> Tack:
        """What a recorded turn works with; raises `ConfigError` if it is not to be had any more."""


@dataclass(slots=True)
class Rig:
    """A turn's effects share this, and nothing else."""

    record: Record
    room: TackRoom
    seams: Seams
    scope: Scope
    known_files: dict[str, str] = field(default_factory=dict)
    held_prompts: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)
    """The arguments of calls that are about to run, as their tools want them."""
    mail: bool = True
    """Whether the inbox may hold something that was not looked at."""
    _tack: Tack | None = None

    @property
    def session(self) -> Session:
        return self.record.session

    @property
    def turn(self) -> OpenTurn:
        turn = self.record.session.running
        assert turn is not None
        return turn

    @property
    def tack(self) -> Tack:
        """Taken once for each turn, so that nothing changes under its feet."""
        if self._tack is None:
            self._tack = self.room.equip(self.session, self.turn.start)
        return self._tack
