"""Attachments of a prompt: text files, images and documents, read with a size limit."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.values.media import media_of

MOST_BYTES = 20 * 1024 * 1024


def attached(path: Path, said: str) -> File:
    """Read a file as an attachment. Raises `ConfigError` with a message that begins with `said`."""
    try:
        if not path.is_file():
            raise ConfigError(f"{said} " + ("is no file" if path.exists() else "cannot be read: there is none"))
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"{said} is larger than {MOST_BYTES // 2**20} MB")
        return from_bytes(str(path), content) or File(str(path), content.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{said} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{said} is neither text nor PNG, JPEG, GIF, WebP or PDF: {error}") from error


def from_bytes(name: str, content: bytes) -> File | None:
    """Return an image or document as an attachment; None for any other content."""
    media = media_of(content)
    return File(name, media=media, data=b64encode(content).decode()) if media else None
