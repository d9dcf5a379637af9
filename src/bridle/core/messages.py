"""What the model reads: messages in order, never edited while a turn runs, each put into a wire's form once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeVar, cast, overload

import msgspec

ATTACHMENT_CHARACTERS = 6_000
"""What an image weighs in the estimate of a context, until the provider has counted."""
BYTES_TO_CHARACTERS_OF_A_DOCUMENT = 8


class Attachment(msgspec.Struct, frozen=True):
    """An image or a document that goes with a prompt; `data` is base64."""

    name: str
    media: str
    data: str

    @property
    def sort(self) -> str:
        """What a model must be able to look at: `image` or `pdf`."""
        return "pdf" if self.media == "application/pdf" else self.media.partition("/")[0]


class UserMessage(msgspec.Struct, frozen=True):
    """A prompt, or something that Bridle tells the model."""

    id: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    kind: Literal["told", "attached", "summary", "shortened"] = "told"
    """What calls have read, the summary of a compaction, a prompt that one has shortened, or anything else."""

    def seen_by(self, takes: frozenset[str]) -> tuple[str, tuple[Attachment, ...]]:
        """The text and the attachments for a model that can look at so much; what it cannot see it is told of."""
        seen = tuple(attached for attached in self.attachments if attached.sort in takes)
        if len(seen) == len(self.attachments):
            return self.text, seen
        hidden = [attached.name for attached in self.attachments if attached not in seen]
        return f"{self.text}\n\n[attached, but you cannot see it: {', '.join(hidden)}]", seen


class AssistantText(msgspec.Struct, frozen=True):
    """What the model said."""

    text: str


class Thought(msgspec.Struct, frozen=True):
    """What the model thought; `seal` is what its provider wants back with it, and means nothing to others."""

    text: str
    seal: str = ""


class CallMessage(msgspec.Struct, frozen=True):
    """A call as the model made it; arguments are always a JSON object."""

    id: str
    name: str
    arguments: str
    seal: str = ""


class AssistantMessage(msgspec.Struct, frozen=True):
    """One reply, its blocks in the order in which the model wrote them."""

    id: str
    blocks: tuple[AssistantText | Thought | CallMessage, ...]
    model: str = ""
    """Who wrote it: seals go back to that model alone."""

    @property
    def text(self) -> str:
        return "".join(block.text for block in self.blocks if isinstance(block, AssistantText))

    @property
    def calls(self) -> tuple[CallMessage, ...]:
        return tuple(block for block in self.blocks if isinstance(block, CallMessage))


class ResultMessage(msgspec.Struct, frozen=True):
    """The one result of one call."""

    id: str
    call: str
    name: str
    text: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ResultMessage


class Form(Protocol):
    """The messages in the form of one wire, which only grows."""

    count: int
    """How many messages it holds; kept by `Messages.form`."""

    def add(self, message: Message) -> None:
        """Put one more message at the end."""


AnyForm = TypeVar("AnyForm", bound=Form)


class MessageList:
    """The messages of a session, and the forms in which wires have read them."""

    __slots__ = ("forms", "items")

    def __init__(self, items: list[Message] | None = None) -> None:
        self.items = items if items is not None else []
        self.forms: dict[str, Form] = {}


class Messages(Sequence[Message]):
    """The first `length` messages of a transcript: a snapshot that costs nothing to take."""

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
        """These messages in the form that `key` names: what is new is added to it, what it has is never done again."""
        forms = self._transcript.forms
        form = cast(AnyForm | None, forms.get(key))
        if form is None or form.count > self._length:
            form = forms[key] = make()
        for message in self._transcript.items[form.count : self._length]:
            form.add(message)
        form.count = self._length
        return form


FRAME = 40
"""What a wire adds to each message and call: its role, its kind, its id."""


def characters(message: Message) -> int:
    """The size of a message for the estimate of its tokens."""
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
