"""`ScriptedModel`: a model for tests that plays replies, tool calls, errors, delays and cuts from a script or file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.core import stream
from bridle.core.agent import ModelInfo, Price
from bridle.core.context import estimate_tokens
from bridle.core.ids import is_below, read_step_request
from bridle.core.messages import AssistantMessage
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, StreamEvent
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_text


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call of the model; arguments given as text are sent unchanged, even if they are invalid JSON."""

    name: str
    arguments: dict[str, Any] | str = {}
    id: str = ""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else msgspec.json.encode(self.arguments).decode()


class ScriptedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A failure as a provider reports it."""

    message: str = "the provider failed"
    status: int | None = None
    headers: dict[str, str] = {}
    retryable: bool | None = None
    overflow: bool = False


MOST_BYTES = 100_000_000
"""Maximum size of a scenario file."""


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One reply. `chunk` cuts texts and arguments into deltas, `pace` waits between them, `delay` before the reply.

    `cut` is the number of events after which the stream ends without its terminator. `hang` never sends anything.
    An `error` follows the text, if there is any.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    finish: str | None = None
    usage: Usage | Literal["missing"] | None = None
    error: ScriptedError | None = None
    delay: float = 0.0
    pace: float = 0.0
    chunk: int = 0
    cut: int | None = None
    hang: bool = False
    times: int = 1

    def events(self) -> Iterable[StreamEvent]:
        """Yield the events of this reply, without its waits."""
        yield stream.Start()
        yield stream.StepBegin()
        if self.reasoning:
            yield stream.ReasoningStart()
            yield from (stream.ReasoningDelta(piece) for piece in self._pieces(self.reasoning))
            yield stream.ReasoningEnd()
        if self.text:
            yield stream.TextStart()
            yield from (stream.TextDelta(piece) for piece in self._pieces(self.text))
            yield stream.TextEnd()
        if self.error is not None:
            yield stream.ModelError(*msgspec.structs.astuple(self.error))
            return
        for index, made in enumerate(self.calls):
            id = made.id or f"call_{index}"
            yield stream.ToolInputStart(made.name, id)
            yield from (stream.ToolInputDelta(id, piece) for piece in self._pieces(made.text))
            yield stream.ToolInputEnd(id)
            yield stream.ToolCall(made.name, made.text, id)
        usage = self.usage if self.usage is not None else Usage(input=10, output=estimate_tokens(len(self.text)) + 1)
        finish = self.finish if self.finish is not None else ("tool_calls" if self.calls else "stop")
        yield stream.StepEnd(finish, None if usage == "missing" else usage)
        yield stream.StreamEnd()

    async def wait(self) -> None:
        """Wait as long as this reply keeps its client waiting for the first event."""
        if self.hang:
            await asyncio.Event().wait()
        if self.delay:
            await asyncio.sleep(self.delay)

    async def paced(self) -> AsyncIterator[StreamEvent]:
        """Yield the events of this reply up to its cut, with the waits between them."""
        for event in islice(self.events(), self.cut):
            if self.pace and isinstance(event, (stream.TextDelta, stream.ReasoningDelta, stream.ToolInputDelta)):
                await asyncio.sleep(self.pace)
            yield event

    def _pieces(self, text: str) -> Iterable[str]:
        size = self.chunk or max(len(text), 1)
        return (text[start : start + size] for start in range(0, len(text), size))


def call(name: str, /, **arguments: Any) -> ScriptedCall:
    """Return a tool call for a script: `call("read", filePath="README.md")`."""
    return ScriptedCall(name, arguments)


Scripted = Reply | ScriptedCall | str | Sequence[ScriptedCall]


def as_reply(scripted: Scripted) -> Reply:
    """Convert a text, a call or several calls to a reply."""
    match scripted:
        case Reply():
            return scripted
        case ScriptedCall():
            return Reply(calls=(scripted,))
        case str():
            return Reply(text=scripted)
        case [*calls] if all(isinstance(each, ScriptedCall) for each in calls):
            return Reply(calls=tuple(calls))
    raise ConfigError(f"ScriptedModel: {scripted!r} is no reply: give a text, call(…), a list of calls or a Reply")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a scenario file; `then` answers every request after the last reply.

    `summary` answers every request for a summary; without it, that request gets the next reply.
    `title` answers every request for a title.
    """

    replies: list[Reply | str] = []
    then: Reply | str | None = None
    summary: Reply | str | None = None
    title: Reply | str = "Scripted"
    context_window: int = 128_000
    max_output_tokens: int = 8_192
    price: Price | None = None
    closing_tools: Literal["omit", "none"] = "omit"


class ScriptedModel:
    """A model that plays replies in order and stores every request. Implements `Model`.

    Each session plays the script from its beginning, so that subagents may share one. After the last reply, `then`
    answers every request; without it, the request fails with an error that says so.
    A model whose first request comes in the middle of a turn, after a crash, begins at the reply for that step. Steps
    that another model has taken before a handoff do not count.
    `summary` answers every request for a summary; without it, that request gets the next reply.
    `title` answers every request for a title.
    A function instead of a list receives each request and returns the reply.
    `takes` are inputs that it accepts besides text: `image`, `pdf`.
    """

    def __init__(
        self,
        replies: Sequence[Scripted] | Callable[[ModelRequest], Scripted] = (),
        *,
        then: Scripted | None = None,
        summary: Scripted | None = None,
        title: Scripted = "Scripted",
        price: Price | None = None,
        context_window: int = 128_000,
        max_output_tokens: int = 8_192,
        closing_tools: Literal["omit", "none"] = "omit",
        ref: str = "scripted/model",
        takes: Iterable[Literal["image", "pdf"]] = (),
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.info = ModelInfo(ref, context_window, max_output_tokens, price, closing_tools, takes=frozenset(takes))
        self._then = None if then is None else as_reply(then)
        self._summary = None if summary is None else as_reply(summary)
        self._title = as_reply(title)
        self._next: dict[str, int] = {}
        if isinstance(replies, str) or not (callable(replies) or isinstance(replies, Iterable)):
            raise ConfigError(f"ScriptedModel: replies must be a list of replies or a function, not {replies!r}")
        self._play = replies if callable(replies) else None
        self._replies = [] if callable(replies) else unrolled(as_reply(scripted) for scripted in replies)

    @classmethod
    def load(cls, path: str | Path) -> ScriptedModel:
        """Read a scenario from a YAML or JSON file. Raises `ConfigError` with the file and the problem."""
        return cls(**msgspec.structs.asdict(read_scenario(Path(path))), ref=f"scripted:{path}")

    def reply(self, request: ModelRequest) -> Reply:
        """Store the request and return the next reply."""
        self.requests.append(request)
        if self._play is not None:
            return as_reply(self._play(request))
        if request.purpose == "title":
            return self._title
        if request.purpose == "compaction" and self._summary is not None:
            return self._summary
        index = self._next.get(request.session)
        if index is None:
            asked = read_step_request(request.id)
            index = asked.step - 1 - _steps_of_others(request, asked.turn) if asked is not None else 0
        self._next[request.session] = index + 1
        if index < len(self._replies):
            return self._replies[index]
        if self._then is not None:
            return self._then
        return Reply(error=ScriptedError(f"the script has no reply for request {index + 1}"))

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        reply = self.reply(request)
        await reply.wait()
        async for event in reply.paced():
            yield event


def _steps_of_others(request: ModelRequest, turn: int) -> int:
    """Return the number of steps of this turn that other models have taken."""
    said = (message for message in request.messages if isinstance(message, AssistantMessage) and message.model)
    return sum(message.model != request.model and is_below(message.id, str(turn)) for message in said)


def unrolled(replies: Iterable[Reply]) -> list[Reply]:
    return [reply for reply in replies for _ in range(reply.times)]


def read_scenario(path: Path) -> Scenario:
    """Return the scenario in a file. Raises `ConfigError`."""
    try:
        text = read_text(path, MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    try:
        value = _parse(path, text)
        return msgspec.convert({"replies": value} if isinstance(value, list) else value, Scenario)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ConfigError(f"{path}: not a scenario: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: not a scenario: it is nested too deeply") from error


def _parse(path: Path, text: str) -> Any:
    if path.suffix == ".json":
        return msgspec.json.decode(text)
    # Imported only for YAML, so that JSON scenarios load faster.
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        # Not the error itself, which quotes the file: clients of a server name files too, and may not read them all.
        place = getattr(error, "problem_mark", None)
        where = f" in line {place.line + 1}" if place is not None else ""
        raise ValueError(f"invalid YAML{where}") from error
