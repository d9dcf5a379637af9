"""Reads the prompt of an editor: its words, and the files and images in it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.runtime.project import attachment
from bridle.surfaces.acp import requests as wire


class EditorPrompt(NamedTuple):
    """The words of a prompt with the mentioned files as `@path`, those that the person typed, and attachments."""

    text: str
    typed: str
    files: tuple[File, ...]


def read_prompt(blocks: Sequence[wire.Block], directory: Path) -> EditorPrompt:
    """Return the prompt of a client; raises `ConfigError` for content that no model can read."""
    words: list[str] = []
    typed: list[str] = []
    files: list[File] = []
    for block in blocks:
        match block:
            case wire.TextBlock(text=text):
                words.append(text)
                typed.append(text)
            case wire.LinkBlock(uri=uri):
                words.append(_mention(uri, directory))
            case wire.ResourceBlock(resource=resource):
                words.append(f"[{_name(resource.uri, directory)}]")
                files.append(_resource(resource, directory))
            case wire.ImageBlock(data=data):
                files.append(attachment(f"image-{len(files) + 1}", _bytes(data, "an image")))
            case wire.AudioBlock():
                raise ConfigError("audio cannot be sent to a model: leave out the audio block of the prompt")
    text = "".join(words).strip()
    if not text and not files:
        raise ConfigError("the prompt is empty")
    return EditorPrompt(text, "".join(typed), tuple(files))


def _resource(resource: wire.EmbeddedFile, directory: Path) -> File:
    name = _name(resource.uri, directory)
    if resource.blob is not None:
        return attachment(name, _bytes(resource.blob, name))
    return attachment(name, (resource.text or "").encode("utf-8", "surrogatepass"))


def _mention(uri: str, directory: Path) -> str:
    """Return a link as words: a file of the project by its path, which attaches it, anything else by its address."""
    name = _name(uri, directory)
    is_plain = urlsplit(uri).scheme in ("file", "") and not Path(name).is_absolute() and " " not in name
    return f"@{name}" if is_plain else name


def _name(uri: str, directory: Path) -> str:
    parts = urlsplit(uri)
    if parts.scheme not in ("file", ""):
        return uri
    path = Path(unquote(parts.path))
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)


def _bytes(data: str, name: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{name} is not valid base64: {error}") from error
