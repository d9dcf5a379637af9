"""Checks and completes an earlier conversation with which a session begins; `library` converts other APIs' formats."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle.core.context import sound
from bridle.core.ids import earlier_block_id, earlier_message_id
from bridle.core.messages import (
    AssistantBlock,
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    Message,
    ResultMessage,
    Thought,
    UserMessage,
)
from bridle.core.parts import Call, File, Prompt, Reasoning, Text
from bridle.core.states import Done, Failed
from bridle.errors import ConfigError
from bridle.values.media import media_of

MOST_MESSAGES = 20_000
NO_RESULT = "[no result of this call was recorded]"
PLAIN_ID = re.compile(r"(?!\d+-)[A-Za-z0-9_-]{1,64}")
"""Ids of calls that every provider accepts and that no call of a turn has."""
SEEN = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")


def sounded(value: Any) -> Any:
    """Return JSON data with every lone surrogate in it replaced."""
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, (list, tuple)):
        return [sounded(each) for each in value]
    if isinstance(value, dict):
        return {sounded(key): sounded(each) for key, each in value.items()}
    return value


def json_object(text: str) -> bool:
    """Return whether a text is a JSON object."""
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return False


class _Whole:
    """A conversation that grows message by message; every call in it has one result."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._open: dict[str, CallMessage] = {}
        """Calls without a result, by the id that they were given."""
        self._ids: set[str] = set()

    def add(self, path: str, message: Message) -> None:
        if isinstance(message, ResultMessage):
            call = self._open.pop(message.call, None)
            if call is None:
                raise ConfigError(f"{path} is a result, but no call {message.call!r} before it awaits one")
            self._put(replace(message, call=call.id, name=call.name))
            return
        self.settle()
        if isinstance(message, AssistantMessage):
            message = self._reply(path, message)
        if not isinstance(message, AssistantMessage) or message.blocks:
            self._put(message)

    def settle(self) -> None:
        """Give every open call a result that says that there is none."""
        for call in self._open.values():
            self._put(ResultMessage("", call.id, call.name, NO_RESULT, failed=True))
        self._open.clear()

    def _put(self, message: Message) -> None:
        self.messages.append(replace(message, id=self._next))
        if len(self.messages) > MOST_MESSAGES:
            raise ConfigError(f"messages: there are more than {MOST_MESSAGES:,}")

    @property
    def _next(self) -> str:
        return earlier_message_id(len(self.messages) + 1)

    def _reply(self, path: str, message: AssistantMessage) -> AssistantMessage:
        blocks = [block for block in message.blocks if not isinstance(block, AssistantText) or block.text]
        while blocks and isinstance(blocks[-1], Thought):
            # Providers refuse a reply that ends in a thought.
            blocks.pop()
        return replace(message, blocks=tuple(self._block(path, place, block) for place, block in enumerate(blocks)))

    def _block(self, path: str, place: int, block: AssistantBlock) -> AssistantBlock:
        if isinstance(block, CallMessage):
            if block.id in self._open:
                raise ConfigError(f"{path} has two calls with the id {block.id!r}")
            if not block.name or not json_object(block.arguments):
                wrong = "no name" if not block.name else "arguments that are not a JSON object"
                raise ConfigError(f"{path}: call {block.id!r} has {wrong}")
            free = PLAIN_ID.fullmatch(block.id) and block.id not in self._ids
            call = replace(block, id=block.id if free else earlier_block_id(self._next, place))
            self._open[block.id] = call
            self._ids.add(call.id)
            block = call
        if not isinstance(block, AssistantText) and block.seal and not _is_json(block.seal):
            raise ConfigError(f"{path} has a seal that is not JSON")
        return block


def whole(given: Iterable[tuple[str, Message]]) -> tuple[Message, ...]:
    """Return a conversation that a model can read, from messages with their paths for errors; raises `ConfigError`.

    Messages get new ids. Every call gets exactly one result, right after its message: a missing one is added and says
    so, a result without its call is refused. Replies without text and calls are left out. Applying it again changes
    nothing.
    """
    found = _Whole()
    for path, message in given:
        found.add(path, _checked(path, message))
    found.settle()
    return tuple(found.messages)


def _checked(path: str, message: Message) -> Message:
    """Return a message with sound text; raises `ConfigError` if a field has a wrong type."""
    if not isinstance(message, Message):
        raise ConfigError(f"{path} is no message of Bridle: from_openai and from_anthropic read those of other APIs")
    try:
        read: Message = msgspec.convert(sounded(msgspec.to_builtins(message)), Message)
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if isinstance(read, UserMessage):
        return replace(read, attachments=tuple(_attachment(path, attached) for attached in read.attachments))
    return read


def _attachment(path: str, attached: Attachment) -> Attachment:
    try:
        media = media_of(b64decode(attached.data, validate=True)) or attached.media
    except ValueError as error:
        raise ConfigError(f"{path}: {attached.name or 'its attachment'} is not base64: {error}") from error
    if media not in SEEN:
        raise ConfigError(f"{path}: {attached.name or 'its attachment'} is neither an image nor a PDF that models read")
    return replace(attached, media=media)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def parts_of(messages: Iterable[Message]) -> Iterator[Prompt | Text | Reasoning | Call]:
    """Yield the parts by which a reader sees a conversation from before the first turn."""
    messages = tuple(messages)
    results = {message.call: message for message in messages if isinstance(message, ResultMessage)}
    for message in messages:
        if isinstance(message, UserMessage):
            files = tuple(File(each.name, media=each.media, data=each.data) for each in message.attachments)
            yield Prompt(message.id, message.text, files)
        elif isinstance(message, AssistantMessage):
            for place, block in enumerate(message.blocks):
                yield _part(earlier_block_id(message.id, place), block, results)


def _part(id: str, block: AssistantBlock, results: dict[str, ResultMessage]) -> Text | Reasoning | Call:
    match block:
        case AssistantText(text=text):
            return Text(id, text)
        case Thought(text=text, seal=seal):
            return Reasoning(id, text, seal)
        case CallMessage():
            # Only a record that was edited by hand lacks a result.
            result = results.get(block.id)
            if result is None or result.failed:
                return Call(id, block.name, block.arguments, "", Failed(result.text if result else NO_RESULT, ""))
            state = Done(result.text, "")
            return Call(id, block.name, block.arguments, "", state)
