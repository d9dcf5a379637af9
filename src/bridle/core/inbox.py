"""Types of inbox items (`PromptItem`, `AbortItem`, …), which any process submits, and `TurnOptions` of a prompt."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bridle.core.limits import LimitName
from bridle.core.parts import Delegation, File, OnAsk
from bridle.core.permission import Approvals
from bridle.core.states import Ask, Report


class Submitted(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item, named by an id that counts once per session: a second submission changes nothing."""

    id: str


class PromptItem(Submitted, frozen=True, tag="prompt"):
    """A prompt on its way into a session, with its overrides."""

    text: str
    files: tuple[File, ...] = ()
    queue: bool = False
    reply: bool = True
    options: TurnOptions | None = None
    wants: tuple[str, ...] = ()
    subtask: str = ""
    metadata: dict[str, Any] = {}
    shell: str = ""
    """The command that a person typed, and that is run without asking the model or the person."""

    @property
    def of_parent(self) -> bool:
        """Whether a turn above this session gave it, and not a person."""
        return self.options is not None and self.options.delegation is not None


class TurnOptions(msgspec.Struct, frozen=True, omit_defaults=True):
    """Options of one prompt for the turn that it opens; omitted options keep their values."""

    agent: str | None = None
    model: str | None = None
    on_ask: OnAsk | None = None
    system: str = ""
    tools: dict[str, bool] = {}
    limits: dict[LimitName, int | float] = {}
    delegation: Delegation | None = msgspec.field(default=None, name="mandate")
    variant: str | None = None
    output: dict[str, Any] | None = None
    options: dict[str, Any] = {}
    """Options of the model for this turn, over those of the agent."""
    account: str = ""
    """The name that pays. Empty keeps the session's, or else that of the runtime."""
    fallbacks: tuple[str, ...] = ()
    """The models to ask, in this order, when `model` has failed for good."""


class AnswerItem(Submitted, frozen=True, tag="answer"):
    """A person's answer to an ask."""

    ask: str
    choice: Literal["once", "always", "reject"]
    feedback: str = ""
    arguments: dict[str, Any] | None = None
    """Arguments with which the call runs instead of the model's."""


class AbortItem(Submitted, frozen=True, tag="abort"):
    """A person aborts the running turn; `turn` 0 means any running turn."""

    turn: int = 0
    detail: str = ""


class ExtendItem(Submitted, frozen=True, tag="extend"):
    """A person raises a limit of the running turn."""

    limit: LimitName
    by: int | float


class CompactItem(Submitted, frozen=True, tag="compact"):
    """A person requests a compaction of the context."""


class SupplyItem(Submitted, frozen=True, tag="supply"):
    """The result of a deferred call, from outside."""

    call: str
    output: str
    failed: bool = False


class WithdrawItem(Submitted, frozen=True, tag="withdraw"):
    """A person takes back a prompt; one that was taken into a turn stays."""

    prompt: str


class DescribeItem(Submitted, frozen=True, tag="describe"):
    """A person changes facts about the session; None leaves a fact as it is."""

    title: str | None = None
    pinned: bool | None = None
    archived: float | None = None
    """The time; 0 takes the session out of the archive."""
    approvals: Approvals | None = None


class ChildAsksItem(Submitted, frozen=True, tag="child_asks"):
    """All open asks below a call; the newest of these items replaces the earlier ones."""

    call: str
    child: str
    asks: tuple[Ask, ...] = ()


class ChildEndedItem(Submitted, frozen=True, tag="child_ended"):
    """The ending of a subagent, for the call that started it."""

    call: str
    report: Report
    text: str
    headline: str = ""
    files: tuple[str, ...] = ()


TurnItem = PromptItem | AnswerItem | AbortItem | ExtendItem | CompactItem | SupplyItem | ChildAsksItem | ChildEndedItem
"""Items for a turn, which are taken at its decision boundaries."""

AtOnceItem = WithdrawItem | DescribeItem
"""Items that change no turn: the lease holder takes them as they come."""

InboxItem = TurnItem | AtOnceItem
