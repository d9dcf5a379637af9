"""What a session is made of: an append-only list of parts, of which some move from state to state."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LimitName, Limits, Reason, Spent
from bridle.core.permission import Access

Purpose = Literal["step", "closing"]
OnAsk = Literal["person", "pause", "deny", "allow"]
Scope = Literal["turn", "tree", "day", "month"]
RefusalName = Literal[
    "denied",
    "unasked",
    "rejected",
    "hook",
    "doom_loop",
    "limit",
    "tools_off",
    "invalid",
    "aborted",
    "unknown_outcome",
    "superseded",
]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request in disjoint fields: no token is counted in two of them."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input + self.output + self.reasoning + self.cache_read + self.cache_write

    def plus(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.reasoning + other.reasoning,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.estimated or other.estimated,
        )


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a call was not run. A closed set, so that nobody reads text to learn it."""

    name: RefusalName
    limit: LimitName | None = None


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a person, as every surface shows it."""

    id: str
    text: str
    accesses: tuple[Access, ...]
    choices: tuple[str, ...] = ("once", "always", "reject")
    detail: str = ""


class Pending(msgspec.Struct, frozen=True, tag="pending"):
    """Asked for by the model; nothing is decided yet."""


class Asking(msgspec.Struct, frozen=True, tag="asking"):
    """A person is awaited."""

    ask: Ask


class Approved(msgspec.Struct, frozen=True, tag="approved", omit_defaults=True):
    """A person said yes to this permission; the call has not started."""

    permission: str
    always: tuple[Access, ...] = ()


class Running(msgspec.Struct, frozen=True, tag="running"):
    """Charged and started. Found by recovery, its outcome is unknown."""


class Repeat(msgspec.Struct, frozen=True, tag="repeat"):
    """Was running when the process died, and its tool is safe to repeat: charged already, to be run again."""


class Done(msgspec.Struct, frozen=True, tag="done", omit_defaults=True):
    """Ended; `output` is what the model reads, capped, and `digest` is of the raw result."""

    output: str
    digest: str
    files: tuple[str, ...] = ()
    stored: str = ""


class Failed(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """Ended with an error; `output` says so to the model, with what was printed before."""

    output: str
    digest: str
    files: tuple[str, ...] = ()
    stored: str = ""


class Refused(msgspec.Struct, frozen=True, tag="refused", omit_defaults=True):
    """Never run; `output` is what the model is told."""

    refusal: Refusal
    output: str


CallState = Pending | Asking | Approved | Repeat | Running | Done | Failed | Refused
Ended = (Done, Failed, Refused)


class Try(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request that failed and is asked again at `next`, in active seconds of the turn."""

    error: str
    next: float
    status: int | None = None
    usage: Usage = Usage()
    cost: float = 0.0


class Open(msgspec.Struct, frozen=True, tag="open", omit_defaults=True):
    """Sent, or about to be, or waiting for its next try."""

    tries: tuple[Try, ...] = ()


class Replied(msgspec.Struct, frozen=True, tag="done", omit_defaults=True):
    """The reply arrived whole."""

    usage: Usage
    cost: float = 0.0
    finish: str = ""


class Interrupted(msgspec.Struct, frozen=True, tag="interrupted", omit_defaults=True):
    """The process died in mid-request; the worst case is charged."""

    tokens: int
    cost: float = 0.0


CutBy = Literal["abort", "chant", "deadline"]


class Cut(msgspec.Struct, frozen=True, tag="cut", omit_defaults=True):
    """Ended on purpose before the reply was whole: by an abort, by chanting, or because the turn's time was up."""

    by: CutBy
    usage: Usage
    cost: float = 0.0


class Broken(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """Failed for good."""

    error: str
    usage: Usage = Usage()
    cost: float = 0.0


RequestState = Open | Replied | Interrupted | Cut | Broken


class File(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file that a person attached to a prompt, as text."""

    path: str
    text: str


class Prompt(msgspec.Struct, frozen=True, tag="prompt", tag_field="kind", omit_defaults=True):
    """What a person, or a parent, asked for."""

    id: str
    text: str
    files: tuple[File, ...] = ()
    turn: int = 0


class Text(msgspec.Struct, frozen=True, tag="text", tag_field="kind", omit_defaults=True):
    """Words of the model, or of Bridle where the model gave none."""

    id: str
    text: str = ""
    by: Literal["model", "bridle"] = "model"


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning", tag_field="kind", omit_defaults=True):
    """What the model thought aloud."""

    id: str
    text: str = ""


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="kind", omit_defaults=True):
    """One call of a tool, with the arguments as the model wrote them."""

    id: str
    name: str
    arguments: str
    digest: str
    state: CallState = Pending()
    note: str = ""
    invalid: str = ""


class StepStart(msgspec.Struct, frozen=True, tag="step_start", tag_field="kind", omit_defaults=True):
    """A counted request begins."""

    id: str
    number: int
    cap: int
    closing: Reason | None = None


class StepFinish(msgspec.Struct, frozen=True, tag="step_finish", tag_field="kind", omit_defaults=True):
    """The end of a step's request; what it asked for runs after this."""

    id: str
    number: int
    calls: int = 0
    empty: bool = False
    cut: bool = False


class Request(msgspec.Struct, frozen=True, tag="request", tag_field="kind", omit_defaults=True):
    """One request to a model, recorded before it is sent."""

    id: str
    purpose: Purpose
    number: int
    attempt: int
    model: str
    state: RequestState = Open()


class Notice(msgspec.Struct, frozen=True, tag="notice", tag_field="kind", omit_defaults=True):
    """Something that the reader is told; `told` ones the model reads too."""

    id: str
    about: str
    text: str
    told: bool = False
    limit: LimitName | None = None


class ReservationRefused(msgspec.Struct, frozen=True, tag="refused", tag_field="kind", omit_defaults=True):
    """The ledger had no room for a request."""

    id: str
    limit: LimitName
    scope: Scope = "turn"
    closing: bool = False


class Extension(msgspec.Struct, frozen=True, tag="extension", tag_field="kind"):
    """A person raised a limit of the running turn."""

    id: str
    limit: LimitName
    by: float


class Halt(msgspec.Struct, frozen=True, tag="halt", tag_field="kind", omit_defaults=True):
    """The turn must end without a closing request."""

    id: str
    reason: Reason
    detail: str = ""


class Sentinel(msgspec.Struct, frozen=True, tag="sentinel", tag_field="kind", omit_defaults=True):
    """Why a turn ended early, for the reader."""

    id: str
    reason: Reason
    text: str
    mark: str = "cap_hit"


class TurnStart(msgspec.Struct, frozen=True, tag="turn_start", tag_field="kind", omit_defaults=True):
    """The first edge of a turn: everything that holds until its end, whatever the configuration says later."""

    id: str
    number: int
    agent: str
    model: str
    cap: int
    limits: Limits
    on_ask: OnAsk
    tools: tuple[str, ...] = ()
    system: str = ""
    account: str = ""
    at: float = 0.0


class TurnFinish(msgspec.Struct, frozen=True, tag="turn_finish", tag_field="kind", omit_defaults=True):
    """The last edge of a turn."""

    id: str
    number: int
    reason: Reason
    spent: Spent
    usage: Usage
    answer: tuple[str, ...] = ()
    detail: str = ""
    cut: bool = False
    unasked: bool = False
    files: tuple[str, ...] = ()


Part = (
    Prompt
    | Text
    | Reasoning
    | Call
    | StepStart
    | StepFinish
    | Request
    | Notice
    | ReservationRefused
    | Extension
    | Halt
    | Sentinel
    | TurnStart
    | TurnFinish
)
