"""The contract of a hook: the moments of a turn at which it is asked, and the answers that it may give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec

from bridle.core.messages import Attachment, Message
from bridle.core.parts import Purpose
from bridle.core.states import Usage
from bridle.core.stream import ToolCall

if TYPE_CHECKING:
    from bridle.wire.events import Event


class Moment(msgspec.Struct, frozen=True):
    """A moment of a turn at which hooks are asked."""

    event: ClassVar[str]


class BeforeCall(Moment, frozen=True):
    """A permitted call is about to run. The arguments include the changes of earlier hooks."""

    event = "before_call"
    tool: str
    call: str
    arguments: Mapping[str, Any]


class AfterCall(Moment, frozen=True):
    """A call has ended; its output is recorded after the hooks."""

    event = "after_call"
    tool: str
    call: str
    failed: bool
    output: str


class BeforeRequest(Moment, frozen=True):
    """A request is about to be sent to the model. It is asked again for every retry of a failed request.

    `purpose` is "step", "closing", "compaction", "synthesis" or "title".
    """

    event = "before_request"
    purpose: Purpose
    step: int
    model: str
    system: str
    messages: Sequence[Message]
    tools: tuple[str, ...]


class ModelReply(msgspec.Struct, frozen=True):
    """The text and the tool calls of a reply. `arguments` of a call is the text that the model wrote."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()


class AfterRequest(Moment, frozen=True):
    """A whole reply has come; it is recorded after the hooks. Titles are recorded without them."""

    event = "after_request"
    purpose: Purpose
    step: int
    model: str
    reply: ModelReply
    usage: Usage
    cost: float


class StepBegins(Moment, frozen=True):
    """A step is about to begin."""

    event = "step_start"
    step: int


class StepEnds(Moment, frozen=True):
    """The request of a step has ended; its calls run next."""

    event = "step_end"
    step: int


class BeforeCompaction(Moment, frozen=True):
    """The context is about to be summarized."""

    event = "before_compaction"
    cause: str
    instruction: str


class Pauses(Moment, frozen=True):
    """The turn is about to wait for a person."""

    event = "pause"
    asks: list[str]


class LimitReached(Moment, frozen=True):
    """The turn is about to end at a limit."""

    event = "limit"
    reason: str


class TurnEnds(Moment, frozen=True):
    """The turn is about to end."""

    event = "turn_end"
    reason: str


class Heard(Moment, frozen=True):
    """A public event of the turn has happened; an answer has no effect."""

    event = "event"
    public: Event


class Change(msgspec.Struct, frozen=True):
    """Before a call: run it with these arguments. They are validated, and the rules judge them again."""

    arguments: Mapping[str, Any]


class Refuse(msgspec.Struct, frozen=True):
    """Before a call or a request: it does not happen, and `text` says why. At other moments: a complaint."""

    text: str


class NewOutput(msgspec.Struct, frozen=True):
    """Before a call: the call does not run and has this output. After a call: it has this one. None keeps a fact."""

    text: str
    attached: tuple[Attachment, ...] | None = None
    failed: bool | None = None


class NewReply(msgspec.Struct, frozen=True):
    """Before a request: it is not sent, and this is the reply. After a request: this replaces the reply."""

    reply: ModelReply


class NewInstruction(msgspec.Struct, frozen=True):
    """Before a compaction: this is its instruction."""

    instruction: str


Answer = Change | Refuse | NewOutput | NewReply | NewInstruction


class Hook(Protocol):
    """A command of the user or a function of the program that is asked at one kind of moment."""

    @property
    def name(self) -> str:
        """Its name in messages."""

    @property
    def on(self) -> str:
        """The event of its moments."""

    @property
    def tool(self) -> str:
        """A pattern: it is asked only about calls of these tools."""

    @property
    def seconds(self) -> float:
        """The time that it may take; a later answer counts as a refusal."""

    async def answer(self, moment: Moment, epoch: int) -> Answer | None:
        """Return the answer; None changes nothing. An exception counts as a refusal.

        `epoch` is that of the lease. May be cancelled at any await. Hooks are asked in order, and again about the same
        call or request if the process dies before its outcome is recorded.
        """
