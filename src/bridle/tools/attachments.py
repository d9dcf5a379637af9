"""`Media`: an image, document or text file from a program or its tool for a model; also checks files of prompts."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from bridle.core.context import sound
from bridle.core.messages import Attachment
from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.values.media import media_of
from bridle.workspace.bounded_read import read_given

MOST_BYTES = 20 << 20


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a PDF or a text file: its bytes, or the path of a file. The kind is told by the first bytes."""

    source: bytes | str | Path
    name: str = ""
    """How the model refers to it; the file's own name if it is a path."""

    @property
    def title(self) -> str:
        return self.name or ("attachment" if isinstance(self.source, bytes) else Path(self.source).name)

    def read(self) -> bytes:
        """Return the bytes; raises `ConfigError` if the file cannot be read."""
        if isinstance(self.source, bytes):
            return self.source
        try:
            return read_given(Path(self.source), MOST_BYTES)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self.source} cannot be read: {error}") from error


def prompt_file(given: File | Media | bytes | str | Path) -> File:
    """Return a file for a prompt; raises `ConfigError` for a file that is neither text, an image nor a PDF."""
    if isinstance(given, File):
        return given
    media = given if isinstance(given, Media) else Media(given)
    content = media.read()
    if kind := media_of(content):
        return File(media.title, media=kind, data=b64encode(content).decode())
    try:
        return File(media.title, text=sound(content.decode("utf-8")))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{media.title} is neither text nor an image or PDF that a model reads") from error


def shown(media: Media) -> tuple[str, tuple[Attachment, ...]]:
    """Return the text and the attachments by which a model sees a file; raises `ConfigError`."""
    file = prompt_file(media)
    if not file.data:
        return file.text, ()
    return f"[{file.media}: {file.path}, shown below]", (Attachment(file.path, file.media, file.data),)
