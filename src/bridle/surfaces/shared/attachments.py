"""Reads the attachments of a user's prompt (text files, images, documents) with a size limit."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.runtime.project import MOST_ATTACHED_BYTES, attachment
from bridle.values.media import media_of


def attached(path: Path, said: str) -> File:
    """Read a file as an attachment. Raises `ConfigError` with a message that begins with `said`."""
    try:
        if not path.is_file():
            raise ConfigError(f"{said} " + ("is no file" if path.exists() else "cannot be read: there is none"))
        with path.open("rb") as stream:
            content = stream.read(MOST_ATTACHED_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{said} cannot be read: {error}") from error
    return attachment(str(path), content, said)


def from_bytes(name: str, content: bytes) -> File | None:
    """Return an image or document as an attachment; None for any other content."""
    media = media_of(content)
    return File(name, media=media, data=b64encode(content).decode()) if media else None
