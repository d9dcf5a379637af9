"""`TextCalls`: adds tool calls to a model without native ones, described in the prompt and parsed from its text."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Literal

import msgspec

from bridle.core import messages, stream
from bridle.core.agent import ModelInfo
from bridle.core.messages import Message, MessageList, Messages
from bridle.core.stream import ModelRequest, StreamEvent, ToolSpec
from bridle.core.thinking import Kind, Thinking
from bridle.model.model import Model
from bridle.model.unparsed_calls import ARGUMENT_KEYS, called, objects, only_objects
from bridle.values.options import layered

BEGUN = re.compile(r'\s*\{\s*"tool"\s*:\s*"(?P<name>[^"]+)"\s*,\s*"arguments"\s*:\s*(?P<arguments>\{.*)', re.DOTALL)
CUT_ANSWER = re.compile(r'^\s*\{\s*"answer"\s*:\s*"')
OPENING = ("{", "[", "`", "<", "functools")
"""Beginnings of calls; a reply that begins otherwise has none."""
ANSWER = "answer"


EXAMPLES = (
    (
        "write",
        "Put the word sun into sky.txt",
        '{"filePath":"sky.txt","content":"sun"}',
        "written",
        "It is in sky.txt now.",
    ),
    ("bash", "List the files here", '{"command":"ls"}', "a.txt\nb.txt", "There are two files: a.txt and b.txt."),
    ("read", "What does hello.txt say?", '{"filePath":"hello.txt"}', "Good day to you.", "It says: Good day to you."),
)
"""Example conversations for these tools: small models imitate better than they follow instructions."""


class TextCalls:
    """Adds tool calls to a model that only writes text. Meets the contract of `Model`.

    If possible, replies are constrained to a schema: each is then one call, or an answer.
    """

    def __init__(self, inner: Model, info: ModelInfo, *, constrained: bool) -> None:
        self.info = info
        self._inner = inner
        self._constrained = constrained

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        offered = request.tools if request.tool_choice == "auto" else ()
        held = _Held(offered)
        async with aclosing(_generator(self._inner.stream(self._in_words(request, offered)))) as events:
            async for event in events:
                for told in held.take(event):
                    yield told

    def _in_words(self, request: ModelRequest, offered: Sequence[ToolSpec]) -> ModelRequest:
        options = dict(request.options)
        system = request.system
        if request.tools:
            # Even if calls are off: an unchanged beginning of the prompt keeps the cache valid.
            system = f"{request.system}\n\n{told(request.tools)}".strip()
            if offered and self._constrained:
                options = layered(
                    options, {"response_format": reply_format(offered, must_call=_must_call(request.messages))}
                )
        names = {spec.name for spec in request.tools}
        shown = [example for example in EXAMPLES if example[0] in names]
        key = "words " + " ".join(example[0] for example in shown)
        form = request.messages.form(key, lambda: _WordsForm(shown))
        messages = Messages(form.transcript)
        return msgspec.structs.replace(request, system=system, messages=messages, tools=(), options=options)


class _WordsForm:
    """The messages with calls and results as text. See `Form`."""

    def __init__(self, examples: Sequence[tuple[str, str, str, str, str]]) -> None:
        self.count = 0
        self.transcript = MessageList([said for example in examples for said in _conversation(*example)])

    def add(self, message: Message) -> None:
        self.transcript.items.append(as_words(message))


def _conversation(tool: str, prompt: str, arguments: str, result: str, answer: str) -> Iterator[Message]:
    id = f"example.{tool}"
    yield messages.UserMessage(id, prompt)
    yield as_words(messages.AssistantMessage(id, (messages.CallMessage(id, tool, arguments),)))
    yield as_words(messages.ResultMessage(id, id, tool, result))
    yield messages.AssistantMessage(id, (messages.AssistantText(msgspec.json.encode({ANSWER: answer}).decode()),))


def _must_call(history: Messages) -> bool:
    """Return whether to require a call because no tool has run since the prompt: small models make up answers."""
    before = next((message for message in reversed(history) if not isinstance(message, messages.UserMessage)), None)
    return not isinstance(before, messages.ResultMessage)


async def _generator(events: AsyncIterator[StreamEvent]) -> Any:
    """Wrap an iterator so that closing the wrapper closes the iterator."""
    try:
        async for event in events:
            yield event
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()


def told(specs: Sequence[ToolSpec]) -> str:
    """Return a short description of the tools."""
    lines = [f"- {spec.name}({_arguments(spec.schema)}): {spec.description.split('. ')[0]}." for spec in specs]
    first = specs[0]
    example = msgspec.json.encode({"tool": first.name, "arguments": _example(first.schema)}).decode()
    return "\n".join(
        [
            "You have these tools:",
            *lines,
            f"To use one, write one JSON object and nothing else, such as: {example}",
            "You then see its result. When you are done, write:",
            f'{{"{ANSWER}": "what you found or did"}}',
        ]
    )


def _arguments(schema: Mapping[str, Any]) -> str:
    return ", ".join(schema.get("required") or schema.get("properties") or ())


def _example(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {key: "…" if properties[key].get("type") == "string" else 1 for key in schema.get("required") or ()}


def reply_format(specs: Sequence[ToolSpec], *, must_call: bool) -> dict[str, Any]:
    """Return the JSON schema of replies: a call of one of the tools or, unless `must_call`, an answer."""
    calls = [
        {
            "type": "object",
            "properties": {"tool": {"const": spec.name}, "arguments": _needed(spec.schema)},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }
        for spec in specs
    ]
    answer = {
        "type": "object",
        "properties": {ANSWER: {"type": "string"}},
        "required": [ANSWER],
        "additionalProperties": False,
    }
    choices = calls if must_call else [*calls, answer]
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"anyOf": choices}}}


def _needed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema with required arguments only: optional ones confuse small models."""
    required = schema.get("required") or []
    properties = {key: value for key, value in (schema.get("properties") or {}).items() if key in required}
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def as_words(message: Message) -> Message:
    """Return a message with calls and results as text."""
    match message:
        case messages.UserMessage():
            return message
        case messages.ResultMessage():
            return messages.UserMessage(
                message.id, f"Result of {message.name}{' (failed)' if message.failed else ''}:\n{message.text}"
            )
        case messages.AssistantMessage():
            calls = [f'{{"tool":"{made.name}","arguments":{made.arguments}}}' for made in message.calls]
            return messages.AssistantMessage(
                message.id, (messages.AssistantText("\n".join(filter(None, [message.text, *calls]))),), message.model
            )


class _Held:
    """Holds a reply back that may be a call until it is complete; any other passes through."""

    def __init__(self, offered: Sequence[ToolSpec]) -> None:
        self._names = {spec.name for spec in offered}
        self._thinking = Thinking()
        self._text = ""
        self._kind: Literal["unknown", "words", "call"] = "unknown"
        self._calls = 0
        self._open = False

    def take(self, event: StreamEvent) -> Iterator[StreamEvent]:
        if isinstance(event, stream.TextDelta):
            yield from self._split(self._thinking.take(event.text))
        elif isinstance(event, stream.StepEnd):
            yield from self._split(self._thinking.end())
            yield from self._release()
            finish = "tool_calls" if self._calls and event.finish == "stop" else event.finish
            yield stream.StepEnd(finish, event.usage)
        elif not isinstance(event, (stream.TextStart, stream.TextEnd)):
            yield event

    def _split(self, pieces: Iterator[tuple[Kind, str]]) -> Iterator[StreamEvent]:
        """Separate reasoning first: calls mentioned in it are not calls."""
        for kind, words in pieces:
            if kind == "reasoning":
                yield stream.ReasoningDelta(words)
            else:
                yield from self._hear(words)

    def _hear(self, text: str) -> Iterator[StreamEvent]:
        self._text += text
        begun = self._text.lstrip() if self._kind == "unknown" else ""
        if begun.startswith(OPENING):
            self._kind = "call"
        elif begun and not any(mark.startswith(begun) for mark in OPENING):
            self._kind = "words"
        if self._kind == "words":
            held, self._text = self._text, ""
            yield from self._say(held)

    def _say(self, text: str) -> Iterator[StreamEvent]:
        if not self._open:
            self._open = True
            yield stream.TextStart()
        yield stream.TextDelta(text)

    def _release(self) -> Iterator[StreamEvent]:
        held, self._text = self._text, ""
        begun = BEGUN.match(held)
        calls, rest = read_reply(held, self._names)
        if not calls and begun is not None and begun["name"] in self._names and not _is_complete(held):
            # A truncated or garbled call: validation of all calls reports the problem.
            calls, rest = [(begun["name"], begun["arguments"])], ""
        rest = CUT_ANSWER.sub("", rest)
        if rest.strip():
            yield from self._say(rest)
        if self._open:
            self._open = False
            yield stream.TextEnd()
        for name, arguments in calls:
            id = str(self._calls)
            self._calls += 1
            yield stream.ToolInputStart(name, id)
            yield stream.ToolInputDelta(id, arguments)
            yield stream.ToolInputEnd(id)
            yield stream.ToolCall(name, arguments, id)


def read_reply(text: str, names: set[str]) -> tuple[list[tuple[str, str]], str]:
    """Return the calls and the words of a reply; words beside JSON only show it, so that all of it is words."""
    folded = {name.casefold() for name in names}
    calls: list[tuple[str, str]] = []
    words: list[str] = []
    for value in only_objects(text):
        found = called(value, folded) or _flat_call(value, folded)
        if found is not None:
            calls.append(found)
        elif isinstance(value.get(ANSWER), str) and len(value) == 1:
            words.append(value[ANSWER])
        else:
            return [], text
    return (calls, "\n".join(words)) if calls or words else ([], text)


def _is_complete(text: str) -> bool:
    """Return whether the first brace of a text begins a complete object."""
    first = next(objects(text), None)
    return first is not None and first[0] == text.find("{")


def _flat_call(value: Mapping[str, Any], names: set[str]) -> tuple[str, str] | None:
    """Return a call whose arguments stand beside the key `tool`, which only models that are told of it write."""
    name = value.get("tool")
    if not isinstance(name, str) or name.casefold() not in names or value.keys() & set(ARGUMENT_KEYS):
        return None
    given = {key: argument for key, argument in value.items() if key != "tool"}
    return name, msgspec.json.encode(given).decode()
