"""What `--format json` promises: one object a line, each of one of these kinds; the last one is always `result`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bridle.core.limits import Reason
from bridle.core.states import Bound, RefusalName, Usage

EndReason = Reason | Literal["paused", "held", "interrupted"]


class JsonLine(msgspec.Struct, frozen=True, tag_field="type", kw_only=True, forbid_unknown_fields=True):
    """A line, and the session that it is about."""

    session: str


class SessionLine(JsonLine, frozen=True, tag="session"):
    """The session in which everything happens."""


class StatusLine(JsonLine, frozen=True, tag="status"):
    """What the session is doing now."""

    state: Literal["idle", "busy", "retry", "paused", "interrupted"]
    attempt: int = 0
    message: str = ""
    next: float = 0.0


class StepStartLine(JsonLine, frozen=True, tag="step_start"):
    """A counted request begins; `closing` says why it is the last."""

    number: int
    cap: int
    closing: Reason | None


class TextLine(JsonLine, frozen=True, tag="text"):
    """Words of the model once they are whole, or of Bridle where it gave none."""

    text: str
    by: Literal["model", "bridle"]


class ReasoningLine(JsonLine, frozen=True, tag="reasoning"):
    """What the model thought aloud."""

    text: str


class ToolUseLine(JsonLine, frozen=True, tag="tool_use"):
    """A call that has ended, that waits for its subagent, or whose arguments the model still writes."""

    id: str
    tool: str
    input: Any
    state: Literal["pending", "waiting", "done", "failed", "refused"]
    output: str = ""
    child: str = ""
    refusal: RefusalName | None = None
    limit: Bound | None = None


class AskLine(JsonLine, frozen=True, tag="ask"):
    """A person is awaited: answer it with `bridle answer SESSION ID CHOICE`."""

    id: str
    call: str
    kind: Literal["permission", "question"]
    text: str
    choices: list[str]
    always: list[str] = []
    diff: str = ""


class NoticeLine(JsonLine, frozen=True, tag="notice"):
    """Something that the reader should know."""

    about: str
    text: str


class RetryLine(JsonLine, frozen=True, tag="retry"):
    """A request failed and is asked again at `next`, in active seconds of the turn."""

    attempt: int
    message: str
    status: int | None
    next: float


class StepFinishLine(JsonLine, frozen=True, tag="step_finish"):
    """The end of a step's request; its calls run after it."""

    number: int
    calls: int
    usage: Usage | None
    cost: float
    finish: str


class SentinelLine(JsonLine, frozen=True, tag="sentinel"):
    """Why the turn ended early."""

    kind: str
    reason: Reason
    text: str


class ErrorLine(JsonLine, frozen=True, tag="error"):
    """What kept the turn from beginning or from ending well."""

    message: str


class ResultLine(JsonLine, frozen=True, tag="result"):
    """What became of the prompt; always the last line."""

    reason: EndReason
    text: str
    output: Any
    steps: int
    tool_calls: int
    tokens: int
    cost: float
    seconds: float
    files: list[str]
    denied: bool
    cut: bool
    detail: str


AnyLine = (
    SessionLine
    | StatusLine
    | StepStartLine
    | TextLine
    | ReasoningLine
    | ToolUseLine
    | AskLine
    | NoticeLine
    | RetryLine
    | StepFinishLine
    | SentinelLine
    | ErrorLine
    | ResultLine
)


def lines_schema() -> dict[str, Any]:
    """The JSON schema of one line."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(AnyLine)}
