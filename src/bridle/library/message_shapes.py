"""`to_openai` and `to_anthropic`: convert a session's messages to JSON, with the encoders of the model adapters."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bridle.core.messages import Message
from bridle.library.foreign_json import JsonMessage
from bridle.values.argument_kinds import check_argument

EVERYTHING = frozenset({"image", "pdf"})
"""Kinds of attachments: none is left out."""


def to_openai(messages: Iterable[Message]) -> list[JsonMessage]:
    """Return messages as OpenAI's chat API takes them. Thoughts are left out."""
    # The wires are imported on first use, because importing Bridle does not need them.
    from bridle.model.openai_chat import MessageForms
    from bridle.model.request_body import JsonForm

    form = JsonForm(MessageForms(takes=EVERYTHING).of)
    for message in _checked(messages):
        form.add(message)
    return _decoded(form.closed())


def to_anthropic(messages: Iterable[Message]) -> list[JsonMessage]:
    """Return messages as Anthropic's API takes them: user and assistant alternate. Thoughts are left out."""
    from bridle.model.anthropic import TurnForm

    form = TurnForm("", EVERYTHING)
    for message in _checked(messages):
        form.add(message)
    return _decoded(form.closed())


def _checked(messages: Iterable[Message]) -> list[Message]:
    """Return the messages; raises `ConfigError` for anything else."""
    check_argument("messages", Iterable[Message], messages)
    check_argument("messages", list[Message], found := list(messages))
    return found


def _decoded(items: bytes | bytearray) -> list[JsonMessage]:
    found: list[JsonMessage] = msgspec.json.decode(b"".join((b"[", items, b"]")))
    return found
