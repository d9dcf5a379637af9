"""Shared parsing for `from_openai` and `from_anthropic`: every refusal names the path to the JSON value."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from bridle.core.context import prompt_text, sound
from bridle.core.messages import Attachment, Message, UserMessage
from bridle.core.parts import File
from bridle.errors import ConfigError

JsonMessage = dict[str, Any]
"""A message in the shape of another API."""
Pieces = Iterable[str | Attachment]
"""The content of a message in its order: texts and files."""


@runtime_checkable
class Dumps(Protocol):
    """An object of another library that stands for JSON, as the SDKs of both providers return them."""

    def model_dump(self) -> Any: ...


class Foreign:
    """A value and its path. Every method raises `ConfigError` for a value that it cannot return."""

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.value = value.model_dump() if isinstance(value, Dumps) else value

    def refused(self, problem: str) -> ConfigError:
        return ConfigError(f"{self.path} {problem}")

    def get(self, key: str) -> Foreign | None:
        """Return a field of an object; None if it is missing or null."""
        if not isinstance(self.value, Mapping):
            raise self.refused(f"must be an object, not {type(self.value).__name__}")
        value = self.value.get(key)
        return None if value is None else Foreign(f"{self.path}.{key}", value)

    def need(self, key: str) -> Foreign:
        found = self.get(key)
        if found is None:
            raise ConfigError(f"{self.path}.{key} is missing")
        return found

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.refused(f"must be a text, not {type(self.value).__name__}")
        return sound(self.value)

    def one_of(self, known: Iterable[str]) -> str:
        """Return a text of a closed set."""
        found = self.text()
        if found not in known:
            raise self.refused(f"is {found!r}; known: {', '.join(known)}")
        return found

    def items(self) -> Iterator[Foreign]:
        """Yield the items of a list, or of any other iterable."""
        if isinstance(self.value, (str, bytes, Mapping)) or not isinstance(self.value, Iterable):
            raise self.refused(f"must be a list, not {type(self.value).__name__}")
        for place, item in enumerate(self.value):
            yield Foreign(f"{self.path}[{place}]", item)

    def blocks(self) -> Iterator[tuple[str, Foreign]]:
        """Yield the blocks of a content with their types; a plain text is one block of text."""
        if isinstance(self.value, str):
            yield "text", Foreign(self.path, {"text": self.value})
        else:
            for block in self.items():
                yield block.need("type").text(), block


def file_piece(name: str, media: str, data: Foreign) -> str | Attachment:
    """Return a file as the model reads it: a text file is text."""
    media = media.partition(";")[0].strip().lower()
    if not media.startswith("text/"):
        return Attachment(name, media, data.text())
    try:
        return text_file(name, b64decode(data.text(), validate=True).decode("utf-8", "replace"))
    except ValueError as error:
        raise data.refused(f"is not base64: {error}") from error


def text_file(name: str, text: str) -> str:
    """Return a text file as a prompt contains it."""
    return prompt_text("", [File(name, text)])


def user_messages(path: str, pieces: Pieces) -> Iterator[tuple[str, Message]]:
    """Yield the messages of a user with this content: each text begins one, files belong to the text before them."""
    text: str | None = None
    files: list[Attachment] = []
    for piece in pieces:
        if isinstance(piece, Attachment):
            files.append(piece)
            continue
        if text is not None or files:
            yield path, UserMessage("", text or "", tuple(files))
        text, files = piece, []
    if text is not None or files:
        yield path, UserMessage("", text or "", tuple(files))


def without_leading_system(messages: Any) -> Iterator[tuple[str, Foreign]]:
    """Yield every message with its role, without the system messages that precede the conversation.

    The instructions of the agent take their place.
    """
    begun = False
    for message in Foreign("messages", messages).items():
        role = message.need("role").text()
        begun = begun or role not in ("system", "developer")
        if begun:
            yield role, message
