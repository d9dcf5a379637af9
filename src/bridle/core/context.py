"""What the model sees: messages built once, in order, and never edited while a turn runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from bridle.core.parts import File

CHARACTERS_PER_TOKEN = 4
TOKENS_OF_A_TOOL = 100
MAX_OUTPUT_LINES = 2_000
MAX_OUTPUT_BYTES = 50_000


class UserMessage(msgspec.Struct, frozen=True):
    """A prompt, or something that Bridle tells the model."""

    id: str
    text: str


class CallMessage(msgspec.Struct, frozen=True):
    """A call as the model made it; arguments are always a JSON object."""

    id: str
    name: str
    arguments: str


class AssistantMessage(msgspec.Struct, frozen=True):
    """One reply of the model."""

    id: str
    text: str
    reasoning: str = ""
    calls: tuple[CallMessage, ...] = ()


class ResultMessage(msgspec.Struct, frozen=True):
    """The one result of one call."""

    id: str
    call: str
    name: str
    text: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ResultMessage


class Messages(Sequence[Message]):
    """The first `length` messages of a list that only grows: a snapshot that costs nothing to take."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: list[Message], length: int | None = None) -> None:
        self._items = items
        self._length = len(items) if length is None else length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> list[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | list[Message]:
        if isinstance(index, slice):
            return [self._items[at] for at in range(*index.indices(self._length))]
        if index < 0:
            index += self._length
        if not 0 <= index < self._length:
            raise IndexError(index)
        return self._items[index]

    def __iter__(self) -> Iterator[Message]:
        items = self._items
        for index in range(self._length):
            yield items[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Messages) and list(self) == list(other)


def sound(text: str) -> str:
    """Text that can be written: a half of a character, as a file name or a model may hold it, becomes a mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def characters(message: Message) -> int:
    """The size of a message for the estimate of its tokens."""
    match message:
        case UserMessage():
            return len(message.text)
        case AssistantMessage():
            return (
                len(message.text)
                + len(message.reasoning)
                + sum(len(call.name) + len(call.arguments) for call in message.calls)
            )
        case ResultMessage():
            return len(message.text)


def estimate_tokens(count: int) -> int:
    """Tokens of so many characters, rounded up; a guess until the provider has counted."""
    return -(-count // CHARACTERS_PER_TOKEN)


def prompt_text(text: str, files: Sequence[File]) -> str:
    """A prompt with its files, as the model reads it."""
    if not files:
        return text
    attached = "\n\n".join(f'<file path="{file.path}">\n{file.text}\n</file>' for file in files)
    return f"{text}\n\n{attached}" if text else attached


def cap_output(output: str) -> tuple[str, bool]:
    """Head and tail of an output that is too long for the model, and whether anything was left out."""
    lines = output.count("\n") + 1
    if lines <= MAX_OUTPUT_LINES and len(output) <= MAX_OUTPUT_BYTES // 4:
        return output, False
    raw = output.encode(errors="surrogatepass")
    if lines <= MAX_OUTPUT_LINES and len(raw) <= MAX_OUTPUT_BYTES:
        return output, False
    kept = output.split("\n")
    half = MAX_OUTPUT_LINES // 2
    head, tail = ("\n".join(kept[:half]), "\n".join(kept[-half:])) if lines > MAX_OUTPUT_LINES else (output, output)
    room = MAX_OUTPUT_BYTES // 2
    head = head.encode(errors="surrogatepass")[:room].decode(errors="ignore")
    tail = tail.encode(errors="surrogatepass")[-room:].decode(errors="ignore")
    left_out = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head}\n\n[… {left_out} bytes of {len(raw)} left out …]\n\n{tail}", True
