"""What the effects of a turn share: its record, its setup, the seams and the scope of its abort."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Protocol

import msgspec

from bridle.core.context import cap_output, sound
from bridle.core.inbox import InboxItem, PromptItem
from bridle.core.ledger import Account, Shortage
from bridle.core.parts import Notice, Prompt, TurnStart
from bridle.core.permission import Access, covers
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.turn.record import Record
from bridle.turn.scope import Scope
from bridle.turn.setup import TurnSetup
from bridle.turn.text_growth import Growth

MOST_WRITTEN = 2
"""Replies of a session that are calls written as text, before the model is told its tools in words."""


@dataclass(slots=True, frozen=True)
class Opening:
    """A turn that may start, with its accounts and what its reader is told; or the problem that ends it at once.

    The first account is the turn's own; those of the day and the month may stand above it.
    """

    start: TurnStart
    accounts: tuple[Account, ...]
    notices: tuple[Notice, ...] = ()
    problem: str = ""


class TurnFactory(Protocol):
    """Turns a prompt into a turn, and a recorded turn back into what it works with."""

    async def check(self, session: Session, item: PromptItem) -> None:
        """Raise `ConfigError` if the turn of a prompt could not begin: its agent, model and limits. Changes nothing."""

    async def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        """Prepare the turn that a prompt opens: system prompt, tools, accounts. Called once, by the driver.

        Never raises `ConfigError`: see `Opening`.
        """

    def restore(self, session: Session, start: TurnStart) -> TurnSetup:
        """Return what a recorded turn works with; raises `ConfigError` if that does not exist any more."""


class OtherSessions(Protocol):
    """The other sessions, as far as a turn has to do with them."""

    submitted: set[str]
    """Ids of prompts that this session is known to have submitted to its subagents."""

    async def submit(self, session: str, item: InboxItem) -> bool:
        """Put an item into the inbox of a session and have it driven; return whether the item is new."""

    async def report(self, parent: str, item: InboxItem) -> None:
        """Put a report into the inbox of the parent; the engine decides whether to wake it."""

    async def settle_dead(self, short: Shortage) -> None:
        """Settle reservations that stand in the way and whose process is gone."""


class SideTask(Protocol):
    """Something that runs beside a turn, and ends before it does."""

    async def end(self, patience: float = 0.0) -> None:
        """Stop it, after this many seconds if it goes on so long, and record what became of it.

        May be called twice; may raise `JournalError`.
        """


@dataclass(slots=True, frozen=True)
class Ready:
    """A call that was judged: its arguments as the tool wants them, and what it may touch."""

    arguments: Any
    granted: frozenset[Access]


@dataclass
class ActiveTurn:
    """A turn's effects share this, and nothing else."""

    record: Record
    turns: TurnFactory
    seams: Seams
    scope: Scope
    others: OtherSessions
    _: KW_ONLY
    held_prompts: bool = False
    ready: dict[str, Ready] = field(default_factory=dict)
    """The calls that are about to run."""
    mail: bool = True
    """Whether the inbox may hold something that was not looked at."""
    reported: tuple[Ask, ...] | None = None
    """What the parent was told last of the asks that are open here."""
    instruction: str = ""
    """What hooks made of the instruction for the compaction that is about to be asked for."""
    beside: SideTask | None = None
    """What runs beside the turn: the request for a title."""

    @cached_property
    def session(self) -> Session:
        return self.record.session

    @cached_property
    def growth(self) -> Growth:
        return Growth(self.record)

    @property
    def model(self) -> Model:
        """The model to ask; one that keeps writing its calls as text is told its tools in words."""
        model = self.setup.model
        written = self.session.written.get(self.turn.start.model, 0)
        return model.model if model.info.calls != "unknown" or written < MOST_WRITTEN else model.worded

    def store(self, name: str, text: str) -> tuple[str, str]:
        """Keep a long text in a file: its path, and the words that say where the whole is, or why it is not."""
        try:
            outputs = self.setup.outputs
            if outputs is None:
                return "", ""
            path = outputs.store(self.record.lease.session, name, text)
        except (OSError, ConfigError) as error:
            return "", f"the whole could not be stored: {error}"
        return path, f"the whole is in {path}"

    def saved(self, access: Access) -> bool:
        """Whether a person has said always to this, or named the subagent in a prompt of this turn."""
        saved = any(covers(saved, access) for saved in (*self.session.always, *self.setup.permissions.approved))
        return saved or (access.permission == "task" and access.pattern in self._named())

    def _named(self) -> set[str]:
        prompts = (self.session.parts.get(id) for id in self.turn.prompts)
        return {name for prompt in prompts if isinstance(prompt, Prompt) for name in prompt.wants}

    @property
    def hosts(self) -> bool:
        """Whether somebody has allowed a host for commands: in a rule that says so, or with an always."""
        rules = self.setup.permissions
        return rules.allows_hosts or any(
            saved.permission == "host" for saved in (*self.session.always, *rules.approved)
        )

    def permits(self, granted: frozenset[Access], access: Access) -> bool:
        """Whether a call may touch this: it was judged and granted, or nobody would be asked.

        What was granted once stands for itself alone, and not for what an always would have let pass.
        """
        verdict = self.setup.permissions.judge(access)
        if verdict == "ask":
            once = (msgspec.structs.replace(each, always="") for each in granted)
            return any(covers(each, access) for each in once) or self.saved(access)
        return verdict == "allow"

    @property
    def turn(self) -> OpenTurn:
        turn = self.record.session.turn
        assert turn is not None and turn.finish is None
        return turn

    @cached_property
    def setup(self) -> TurnSetup:
        """Taken once for each turn, so that nothing changes under its feet."""
        return self.turns.restore(self.session, self.turn.start)


def capped_output(active: ActiveTurn, name: str, output: str) -> tuple[str, str]:
    """What the model reads of an output, and the file that has the whole if that is too long."""
    text, capped = cap_output(sound(output))
    if not capped:
        return text, ""
    stored, where = active.store(name, output)
    return (f"{text}\n\n[{where}]" if where else text), stored
