"""`ActiveTurn`: state that the effects of a running turn share; and protocols for turn setup and other sessions."""

from __future__ import annotations

import asyncio
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Protocol

import msgspec

from bridle.core.context import cap_output, sound
from bridle.core.inbox import InboxItem, PromptItem
from bridle.core.ledger import Account, Shortage
from bridle.core.parts import Handoff, Notice, Prompt, TurnStart
from bridle.core.permission import Access, covers
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask, Report
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.turn.record import Record
from bridle.turn.scope import Scope
from bridle.turn.setup import ModelSetup, TurnSetup
from bridle.turn.text_growth import Growth

MOST_WRITTEN = 2
"""Number of replies with calls written as text after which the model gets its tools described in the prompt."""


@dataclass(slots=True, frozen=True)
class Opening:
    """A turn that may start, with its accounts and notices for the reader; or the problem that ends it at once.

    The first account is the turn's own; those of the day and the month may stand above it.
    """

    start: TurnStart
    accounts: tuple[Account, ...]
    notices: tuple[Notice, ...] = ()
    problem: str = ""


class TurnFactory(Protocol):
    """Makes a turn from a prompt, and restores the setup of a recorded turn."""

    async def check(self, session: Session, item: PromptItem) -> None:
        """Raise `ConfigError` if the turn of a prompt could not begin: its agent, model and limits. Changes nothing."""

    async def open(self, session: Session, item: PromptItem, number: int) -> Opening:
        """Prepare the turn that a prompt opens: system prompt, tools, accounts. Called once, by the driver.

        Never raises `ConfigError`: see `Opening`.
        """

    def restore(self, session: Session, start: TurnStart) -> TurnSetup:
        """Return the setup of a recorded turn; raises `ConfigError` if that no longer exists."""

    async def hand_over(self, session: Session, id: str, agent: str) -> Handoff:
        """Return the handoff of the open turn to an agent, with the agent's own limits.

        Raises `ConfigError` if that agent cannot continue it. May be called twice.
        """

    async def attach(self, session: Session) -> None:
        """Prepare what this process brings to the open turn; raises `TurnLeft` if it lacks something."""

    async def release(self, session: str) -> None:
        """Close what `open` and `attach` have prepared for a session, once its drive ends. May be called twice."""


class OtherSessions(Protocol):
    """Access of a turn to other sessions."""

    submitted: set[str]
    """Ids of prompts that this session is known to have submitted to its subagents."""

    async def submit(self, session: str, item: InboxItem) -> bool:
        """Put an item into the inbox of a session and wake it; return whether the item is new."""

    async def report(self, parent: str, item: InboxItem) -> None:
        """Put a report into the inbox of the parent; the engine decides whether to wake it."""

    async def settle_dead(self, short: Shortage) -> None:
        """Settle reservations that block this one and whose process is gone."""


class SideTask(Protocol):
    """Work that runs beside a turn, and ends before it does."""

    async def end(self, patience: float = 0.0) -> None:
        """Stop it, after at most this many seconds of waiting, and record its outcome.

        May be called twice; may raise `JournalError`.
        """


@dataclass(slots=True, frozen=True)
class Ready:
    """An authorized call: its arguments as the tool expects them, and the accesses granted to it."""

    arguments: Any
    granted: frozenset[Access]


@dataclass
class ActiveTurn:
    """The only state that the effects of a turn share."""

    record: Record
    turns: TurnFactory
    seams: Seams
    scope: Scope
    others: OtherSessions
    _: KW_ONLY
    held_prompts: bool = False
    ready: dict[str, Ready] = field(default_factory=dict)
    """Calls that are about to run."""
    mail: bool = True
    """Whether the inbox may hold unread items."""
    reported: tuple[Ask, ...] | None = None
    """The open asks last reported to the parent."""
    instruction: str = ""
    """The instruction for the coming compaction, as changed by hooks."""
    nested: dict[str, Report] = field(default_factory=dict)
    """The use of agents that running calls have run themselves."""
    beside: SideTask | None = None
    """The work beside the turn: the request for a title."""

    @cached_property
    def session(self) -> Session:
        return self.record.session

    @cached_property
    def taking(self) -> asyncio.Lock:
        """Held while items of the inbox are taken."""
        return asyncio.Lock()

    @cached_property
    def growth(self) -> Growth:
        return Growth(self.record)

    @property
    def asked(self) -> ModelSetup:
        """The model that is asked, with its options."""
        turn = self.record.session.turn
        assert turn is not None
        return self.setup.models[turn.model]

    @property
    def model(self) -> Model:
        """The model that is asked; one that keeps writing its calls as text gets its tools in the prompt."""
        asked = self.asked
        written = self.session.written.get(self.turn.model, 0)
        return asked.model if asked.info.calls != "unknown" or written < MOST_WRITTEN else asked.worded

    def store(self, name: str, text: str) -> tuple[str, str]:
        """Store a long text in a file; return its path, and a sentence that says where it is or why it is missing."""
        try:
            outputs = self.setup.outputs
            if outputs is None:
                return "", ""
            path = outputs.store(self.record.lease.session, name, text)
        except (OSError, ConfigError) as error:
            return "", f"the whole could not be stored: {error}"
        return path, f"the whole is in {path}"

    def saved(self, access: Access) -> bool:
        """Return whether a person granted this with "always", or named the subagent in a prompt of this turn."""
        saved = any(covers(saved, access) for saved in (*self.session.always, *self.setup.permissions.approved))
        return saved or (access.permission == "task" and access.pattern in self._named())

    def _named(self) -> set[str]:
        prompts = (self.session.parts.get(id) for id in self.turn.prompts)
        return {name for prompt in prompts if isinstance(prompt, Prompt) for name in prompt.wants}

    @property
    def hosts(self) -> bool:
        """Whether a host is allowed for commands, by a rule or by an "always"."""
        rules = self.setup.permissions
        return rules.allows_hosts or any(
            saved.permission == "host" for saved in (*self.session.always, *rules.approved)
        )

    def permits(self, granted: frozenset[Access], access: Access) -> bool:
        """Return whether a call may access this: it was granted, or would need no ask.

        A single grant covers exactly its access, not everything that an "always" would have covered.
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

    @property
    def turn_prompt(self) -> Prompt:
        """The prompt that opened the turn; empty for a turn without one."""
        first = self.session.parts.get(self.turn.prompts[0]) if self.turn.prompts else None
        return first if isinstance(first, Prompt) else Prompt("", "")

    @cached_property
    def setup(self) -> TurnSetup:
        """The setup of the turn, taken once so that nothing changes while it runs. Only a handoff renews it."""
        return self.turns.restore(self.session, self.turn.start)

    def renew_setup(self) -> None:
        """Take the setup anew for the agent that took over. Called between two actions."""
        self.__dict__.pop("setup", None)


def capped_output(active: ActiveTurn, name: str, output: str) -> tuple[str, str]:
    """Return the output as the model reads it, and the file with the full text if it is too long."""
    text, capped = cap_output(sound(output))
    if not capped:
        return text, ""
    stored, where = active.store(name, output)
    return (f"{text}\n\n[{where}]" if where else text), stored
