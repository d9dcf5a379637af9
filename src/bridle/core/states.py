"""The states of a tool call and of a model request (pending, running, done, …), with the data of each."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import Bound, Reason, Spent
from bridle.core.messages import Attachment
from bridle.core.permission import Access
from bridle.core.todos import Todo
from bridle.core.usage import ModelUse, Usage as Usage

NotAllowed = Literal["denied", "unasked", "rejected", "hook"]
"""Refusals by rules, a person or a hook."""
RefusalName = Literal[
    NotAllowed, "doom_loop", "limit", "tools_off", "invalid", "aborted", "unknown_outcome", "superseded"
]


OutputBy = Literal["tool", "hook"]
ReplyBy = Literal["model", "hook"]


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a call was not run: a closed set, so that programs need not parse text."""

    name: RefusalName
    limit: Bound | None = None


class Ask(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question to a person, as every surface shows it; `session` names the subagent that raised it, if one did."""

    id: str
    text: str
    accesses: tuple[Access, ...]
    choices: tuple[str, ...] = ("once", "always", "reject")
    detail: str = ""
    session: str = ""
    kind: Literal["permission", "question", "deferred"] = "permission"
    """A permission is answered with once, always or no; a question with any text; a deferred result is supplied."""
    diff: str = ""
    """The change that the call would make, as a unified diff."""


class Pending(msgspec.Struct, frozen=True, tag="pending"):
    """Requested by the model; nothing is decided yet."""


class Asking(msgspec.Struct, frozen=True, tag="asking"):
    """Waits for a person."""

    ask: Ask


class Approved(msgspec.Struct, frozen=True, tag="approved", omit_defaults=True):
    """A person granted this permission; the call has not started."""

    permission: str
    always: tuple[Access, ...] = ()
    accesses: tuple[Access, ...] = ()
    """The accesses that were granted; any other access of the call is asked for again."""


class Running(msgspec.Struct, frozen=True, tag="running", omit_defaults=True):
    """Charged and started. If recovery finds it, its outcome is unknown."""

    below: int = 0
    """Number of agents that the tool itself has run so far."""


class Repeat(msgspec.Struct, frozen=True, tag="repeat"):
    """Was running when the process died, and its tool is safe to repeat: already charged, to be run again."""


class Queued(msgspec.Struct, frozen=True, tag="queued"):
    """A subagent that may start, and waits for a place in its tree."""


class Waiting(msgspec.Struct, frozen=True, tag="waiting", omit_defaults=True):
    """Charged, and its subagent was started; `asks` are open below, `recalled` means that it was told to stop."""

    child: str
    asks: tuple[Ask, ...] = ()
    recalled: bool = False
    told: str = ""
    """In the background: the result that the model read when the subagent started. Empty: the call is awaited."""


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a subagent ended, and the use of it and everything below it."""

    child: str
    reason: Reason
    spent: Spent
    usage: Usage
    unasked: bool = False
    models: dict[str, ModelUse] = {}
    """The use by reference of the model; empty in records of older versions."""


class Returned(msgspec.Struct, frozen=True, omit_defaults=True):
    """Ended after it ran; `output` is for the model, capped, and `digest` is of the raw result."""

    output: str
    digest: str
    files: tuple[str, ...] = ()
    stored: str = ""
    report: Report | None = None
    by: OutputBy = "tool"
    """A hook may give the output, before the call or after it."""


class Done(Returned, frozen=True, tag="done"):
    """Ended well."""

    synthesize: bool = False
    kept: bool = False
    """Whether the output stays available to later calls, even after a compaction."""
    seen: dict[str, str] = {}
    """Files that the model has seen through this call, with a digest of their content."""
    attached: tuple[Attachment, ...] = ()
    """Images and documents for the model."""
    answers: bool = False
    """The call gives the answer of the turn, which must fit a schema."""
    todos: tuple[Todo, ...] | None = None
    """The task list, if this call wrote it."""
    diff: str = ""
    """The change that this call made to files, for people; empty if it is long."""


class Failed(Returned, frozen=True, tag="failed"):
    """Ended with an error; `output` tells it to the model, with everything printed before."""


class Refused(msgspec.Struct, frozen=True, tag="refused", omit_defaults=True):
    """Never run; `output` tells the model why."""

    refusal: Refusal
    output: str
    by_check: bool = False
    """The program's check refused this answer, which fits its schema."""


CallState = Pending | Asking | Approved | Repeat | Queued | Running | Waiting | Done | Failed | Refused
Ended = (Done, Failed, Refused)


class Try(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failed try; the request is sent again at `next`, in active seconds of the turn."""

    error: str
    next: float
    status: int | None = None
    usage: Usage = Usage()
    cost: float = 0.0


class Open(msgspec.Struct, frozen=True, tag="open", omit_defaults=True):
    """Sent, about to be sent, or waiting for its next try."""

    tries: tuple[Try, ...] = ()


class Replied(msgspec.Struct, frozen=True, tag="done", omit_defaults=True):
    """The reply arrived whole."""

    usage: Usage
    cost: float = 0.0
    finish: str = ""
    by: ReplyBy = "model"
    """A hook may give the reply, instead of the request or after it."""


class Interrupted(msgspec.Struct, frozen=True, tag="interrupted", omit_defaults=True):
    """The process died during the request, or handed the turn over; the worst case is charged."""

    tokens: int
    cost: float = 0.0
    handed_over: bool = False
    """Such a request does not count among the attempts of its step."""


CutBy = Literal["abort", "chant", "deadline"]


class Cut(msgspec.Struct, frozen=True, tag="cut", omit_defaults=True):
    """Ended on purpose before the reply was whole: by an abort, repetitive text, or the end of the turn's time."""

    by: CutBy
    usage: Usage
    cost: float = 0.0


class Broken(msgspec.Struct, frozen=True, tag="failed", omit_defaults=True):
    """Failed for good with its model; `overflow` means that the context did not fit the model's window."""

    error: str
    usage: Usage = Usage()
    cost: float = 0.0
    overflow: bool = False
    by: ReplyBy = "model"
    """A hook may refuse the request, or the reply."""
    fallback: str = ""
    """The model that is asked instead, in another attempt."""
    status: int | None = None
    """The HTTP status of the refusal; None if there was none, and in records of older versions."""


RequestState = Open | Replied | Interrupted | Cut | Broken
