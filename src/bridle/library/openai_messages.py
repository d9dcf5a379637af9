"""`from_openai`: makes a session's first messages from OpenAI chat messages; `message_shapes` does the reverse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bridle.core.history import json_object, whole
from bridle.core.messages import (
    AssistantBlock,
    AssistantMessage,
    AssistantText,
    Attachment,
    CallMessage,
    Message,
    ResultMessage,
)
from bridle.library.foreign_json import Dumps, Foreign, file_piece, user_messages, without_leading_system

ADDRESS = re.compile(r"data:(?P<media>[^,]*?);base64,(?P<data>.*)", re.DOTALL)
ROLES = ("system", "developer", "user", "assistant", "tool")


def from_openai(messages: Iterable[Mapping[str, object] | Dumps]) -> list[Message]:
    """Return a conversation from messages in the shape of OpenAI's chat API.

    System messages before the conversation are left out, since the agent has its own instructions; later ones are read
    as messages of the user. Thoughts are left out. Files must be in the messages, as `data:` addresses. A call without
    a result gets one that says so. Raises `ConfigError` that names the message and the key: for an unknown role or kind
    of content, for a result without its call, and for arguments that are not a JSON object.
    """
    return list(whole(_read(messages)))


def _read(messages: Any) -> Iterator[tuple[str, Message]]:
    for role, message in without_leading_system(messages):
        message.need("role").one_of(ROLES)
        if role == "assistant":
            yield message.path, AssistantMessage("", tuple(_reply(message)))
        elif role == "tool":
            text = "\n".join(_texts(message.need("content")))
            yield f"{message.path}.tool_call_id", ResultMessage("", message.need("tool_call_id").text(), "", text)
        else:
            content = message.need("content")
            yield from user_messages(message.path, (_piece(*block) for block in content.blocks()))


def _texts(content: Foreign) -> Iterator[str]:
    for kind, block in content.blocks():
        if kind not in ("text", "refusal"):
            raise block.need("type").refused(f"is {kind!r}; here only text is known")
        yield block.need(kind).text()


def _reply(message: Foreign) -> Iterator[AssistantBlock]:
    content, refusal, older = message.get("content"), message.get("refusal"), message.get("function_call")
    if older is not None:
        raise older.refused("is the older form of a call: use tool_calls and a message with the role tool")
    yield from map(AssistantText, _texts(content) if content is not None else ())
    if refusal is not None:
        yield AssistantText(refusal.text())
    calls = message.get("tool_calls")
    for call in calls.items() if calls is not None else ():
        function = call.need("function")
        given = function.get("arguments")
        arguments = (given.text() if given is not None else "").strip() or "{}"
        if given is not None and not json_object(arguments):
            raise given.refused("is not a JSON object")
        yield CallMessage(call.need("id").text(), function.need("name").text(), arguments)


def _piece(kind: str, block: Foreign) -> str | Attachment:
    if kind == "text":
        return block.need("text").text()
    if kind == "image_url":
        return _file("image", block.need("image_url").need("url"))
    if kind == "file":
        file = block.need("file")
        name = file.get("filename")
        return _file(name.text() if name is not None else "document", file.need("file_data"))
    raise block.need("type").refused(f"is {kind!r}; known: text, image_url, file")


def _file(name: str, address: Foreign) -> str | Attachment:
    found = ADDRESS.fullmatch(address.text())
    if found is None:
        raise address.refused("must be a data: address in base64: files are not fetched from elsewhere")
    return file_piece(name, found["media"], Foreign(address.path, found["data"]))
