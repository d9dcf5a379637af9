"""The message types that a model reads, and their append-only list, encoded once per wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar, cast, overload

import msgspec

ATTACHMENT_CHARACTERS = 6_000
"""The weight of an image in the estimated size of a context, until the provider has counted."""
BYTES_TO_CHARACTERS_OF_A_DOCUMENT = 8


class Attachment(msgspec.Struct, frozen=True):
    """An image or a document sent with a prompt; `data` is base64."""

    name: str
    media: str
    data: str

    @property
    def sort(self) -> str:
        """The input that a model must accept for it: `image` or `pdf`."""
        return "pdf" if self.media == "application/pdf" else self.media.partition("/")[0]


class UserMessage(msgspec.Struct, frozen=True, tag_field="role", tag="user", omit_defaults=True):
    """A prompt, or a message from Bridle to the model."""

    id: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    kind: Literal["told", "attached", "summary", "shortened"] = "told"
    """Files that calls read, the summary of a compaction, a prompt shortened by one, or anything else."""

    def seen_by(self, takes: frozenset[str]) -> tuple[str, tuple[Attachment, ...]]:
        """Return text and attachments for a model that accepts these inputs; others are mentioned in the text."""
        seen = tuple(attached for attached in self.attachments if attached.sort in takes)
        if len(seen) == len(self.attachments):
            return self.text, seen
        hidden = [attached.name for attached in self.attachments if attached not in seen]
        return f"{self.text}\n\n[attached, but you cannot see it: {', '.join(hidden)}]", seen


class AssistantText(msgspec.Struct, frozen=True, tag_field="block", tag="text", omit_defaults=True):
    """Text written by the model."""

    text: str


class Thought(msgspec.Struct, frozen=True, tag_field="block", tag="thought", omit_defaults=True):
    """A thought of the model; `seal` is returned to its provider, and means nothing to others."""

    text: str
    seal: str = ""


class CallMessage(msgspec.Struct, frozen=True, tag_field="block", tag="call", omit_defaults=True):
    """A tool call of the model; `arguments` is always a JSON object."""

    id: str
    name: str
    arguments: str
    seal: str = ""


AssistantBlock = AssistantText | Thought | CallMessage


class AssistantMessage(msgspec.Struct, frozen=True, tag_field="role", tag="assistant", omit_defaults=True):
    """One reply, with its blocks in the order in which the model wrote them."""

    id: str
    blocks: tuple[AssistantBlock, ...]
    model: str = ""
    """The model that wrote it: seals are sent back to that model alone."""

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, AssistantText))

    @property
    def calls(self) -> tuple[CallMessage, ...]:
        return tuple(block for block in self.blocks if isinstance(block, CallMessage))


class ResultMessage(msgspec.Struct, frozen=True, tag_field="role", tag="result", omit_defaults=True):
    """The only result of a call."""

    id: str
    call: str
    name: str
    text: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ResultMessage
"""One message of a conversation, as a model reads it."""


class Form(Protocol):
    """The messages encoded for one wire; append-only."""

    count: int
    """Number of messages it holds; maintained by `Messages.form`."""

    def add(self, message: Message) -> None:
        """Append a message."""


AnyForm = TypeVar("AnyForm", bound=Form)


class MessageList:
    """The messages of a session, and their encodings for the wires that have read them."""

    __slots__ = ("forms", "items")

    def __init__(self, items: list[Message] | None = None) -> None:
        self.items = items if items is not None else []
        self.forms: dict[str, Form] = {}


class Messages(Sequence[Message]):
    """The first `length` messages of a transcript: a snapshot without copying."""

    __slots__ = ("_length", "_transcript")

    def __init__(self, transcript: MessageList | list[Message], length: int | None = None) -> None:
        self._transcript = transcript if isinstance(transcript, MessageList) else MessageList(transcript)
        self._length = len(self._transcript.items) if length is None else length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        items = self._transcript.items
        if isinstance(index, slice):
            return [items[at] for at in range(*index.indices(self._length))]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return items[index]

    def __iter__(self) -> Iterator[Message]:
        items = self._transcript.items
        for index in range(self._length):
            yield items[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and list(self) == list(other)

    def form(self, key: str, make: Callable[[], AnyForm]) -> AnyForm:
        """Return these messages in the form named `key`: new messages are added, existing ones never encoded again."""
        forms = self._transcript.forms
        form = cast(AnyForm | None, forms.get(key))
        if form is None or form.count > self._length:
            form = forms[key] = make()
        for message in self._transcript.items[form.count : self._length]:
            form.add(message)
        form.count = self._length
        return form


FRAME = 40
"""The characters that a wire adds to each message and call: role, kind, id."""


def characters(message: Message) -> int:
    """Return the size of a message for the estimate of its tokens."""
    match message:
        case UserMessage():
            return FRAME + len(message.text) + sum(_weight(attached) for attached in message.attachments)
        case AssistantMessage():
            return FRAME + sum(
                FRAME + len(block.name) + len(block.arguments) if isinstance(block, CallMessage) else len(block.text)
                for block in message.blocks
            )
        case ResultMessage():
            return FRAME + len(message.text)


def _weight(attached: Attachment) -> int:
    if attached.media.startswith("image/"):
        return ATTACHMENT_CHARACTERS
    return max(ATTACHMENT_CHARACTERS, len(attached.data) // BYTES_TO_CHARACTERS_OF_A_DOCUMENT)
