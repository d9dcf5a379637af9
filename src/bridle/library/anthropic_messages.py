"""`from_anthropic`: makes a session's first messages from Anthropic API messages; `message_shapes` does the reverse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from bridle.core.history import sounded, whole
from bridle.core.messages import (
    AssistantBlock,
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    Message,
    ResultMessage,
    UserMessage,
)
from bridle.library.foreign_json import Dumps, Foreign, file_piece, text_file, user_messages, without_leading_system

ROLES = ("user", "assistant", "system")
THOUGHTS = ("thinking", "redacted_thinking")


def from_anthropic(messages: Iterable[Mapping[str, object] | Dumps]) -> list[Message]:
    """Return a conversation from messages in the shape of Anthropic's API.

    Thoughts are left out, and so are system messages before the conversation, since the agent has its own instructions;
    later ones are read as messages of the user. Files must be in the messages, in base64. A call without a result gets
    one that says so. Raises `ConfigError` that names the message and the key: for an unknown role or kind of block, and
    for a result without its call.
    """
    return list(whole(_read(messages)))


def _read(messages: Any) -> Iterator[tuple[str, Message]]:
    for role, message in without_leading_system(messages):
        message.need("role").one_of(ROLES)
        blocks = list(message.need("content").blocks())
        if role == "assistant":
            yield message.path, AssistantMessage("", tuple(_reply(blocks)))
            continue
        results = [block for kind, block in blocks if kind == "tool_result"]
        if results and [kind for kind, _ in blocks[: len(results)]] != ["tool_result"] * len(results):
            raise message.need("content").refused("must have its tool_result blocks first")
        yield from _results(message.path, results)
        yield from user_messages(message.path, (_piece(*block) for block in blocks[len(results) :]))


def _results(path: str, results: Iterable[Foreign]) -> Iterator[tuple[str, Message]]:
    files: list[Attachment] = []
    for block in results:
        content, failed = block.get("content"), block.get("is_error")
        pieces = [_piece(*inner) for inner in content.blocks()] if content is not None else []
        text = "\n".join(piece for piece in pieces if isinstance(piece, str))
        files += [piece for piece in pieces if isinstance(piece, Attachment)]
        call = block.need("tool_use_id")
        yield call.path, ResultMessage("", call.text(), "", text, failed=failed is not None and failed.value is True)
    if files:
        # Not every wire accepts files in results; all accept them in messages of the user.
        names = ", ".join(file.name for file in files)
        yield path, UserMessage("", f"[read: {names}]", tuple(files), "attached")


def _reply(blocks: Iterable[tuple[str, Foreign]]) -> Iterator[AssistantBlock]:
    for kind, block in blocks:
        if kind == "text":
            yield AssistantText(block.need("text").text())
        elif kind == "tool_use":
            yield CallMessage(block.need("id").text(), block.need("name").text(), _arguments(block.need("input")))
        elif kind not in THOUGHTS:
            raise block.need("type").refused(f"is {kind!r}; known: text, tool_use, {', '.join(THOUGHTS)}")


def _arguments(given: Foreign) -> str:
    if not isinstance(given.value, Mapping):
        raise given.refused(f"must be an object, not {type(given.value).__name__}")
    try:
        return msgspec.json.encode(sounded(dict(given.value))).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise given.refused(f"is not JSON: {error}") from error


def _piece(kind: str, block: Foreign) -> str | Attachment:
    if kind == "text":
        return block.need("text").text()
    if kind not in ("image", "document"):
        raise block.need("type").refused(f"is {kind!r}; known: text, image, document, tool_use, tool_result")
    source, title = block.need("source"), block.get("title")
    name = title.text() if title is not None else kind
    kind = source.need("type").one_of(("base64", "text", "content"))
    if kind == "base64":
        return file_piece(name, source.need("media_type").text(), source.need("data"))
    if kind == "text":
        return text_file(name, source.need("data").text())
    inner = [_piece(*each) for each in source.need("content").blocks()]
    if any(isinstance(piece, Attachment) for piece in inner):
        raise source.need("content").refused("has files inside a document: only text is known there")
    return text_file(name, "\n".join(str(piece) for piece in inner))
