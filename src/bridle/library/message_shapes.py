"""The messages of a session as plain JSON, in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bridle.core.messages import Message

JsonMessage = dict[str, Any]
"""A message in the shape of another API."""
EVERYTHING = frozenset({"image", "pdf"})
"""Kinds of attachments: none is left out."""


def to_openai(messages: Iterable[Message]) -> list[JsonMessage]:
    """Return messages as OpenAI's chat API takes them. Thoughts are left out."""
    # The wires are imported on first use, because importing Bridle does not need them.
    from bridle.model.openai_chat import MessageForms
    from bridle.model.request_body import JsonForm

    form = JsonForm(MessageForms(takes=EVERYTHING).of)
    for message in messages:
        form.add(message)
    return _decoded(form.closed())


def to_anthropic(messages: Iterable[Message]) -> list[JsonMessage]:
    """Return messages as Anthropic's API takes them: user and assistant alternate. Thoughts are left out."""
    from bridle.model.anthropic import TurnForm

    form = TurnForm("", EVERYTHING)
    for message in messages:
        form.add(message)
    return _decoded(form.closed())


def _decoded(items: bytes | bytearray) -> list[JsonMessage]:
    found: list[JsonMessage] = msgspec.json.decode(b"".join((b"[", items, b"]")))
    return found
