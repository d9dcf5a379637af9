"""`Pasted`: pasted content of a prompt (long text, images, documents), a short mark in the editor until it is sent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.runtime.project import MOST_ATTACHED_BYTES, own_program
from bridle.surfaces.shared.attachments import attached, from_bytes
from bridle.values.media import media_of

LONG_LINES = 20
LONG_CHARACTERS = 2_000
MOST_PATH = 1_000
CLIPBOARD_SECONDS = 2.0
CLIPBOARDS = (
    ("wl-paste", "--type", "image/png"),
    ("xclip", "-selection", "clipboard", "-target", "image/png", "-out"),
    ("pngpaste", "-"),
)
"""Programs that read the desktop clipboard; a terminal pastes only text."""


@dataclass(slots=True)
class Pasted:
    """Pasted content of one prompt. It is sent with the prompt if its mark is still in the text."""

    _texts: dict[str, str] = field(default_factory=dict)
    _files: dict[str, File] = field(default_factory=dict)

    def mark_of(self, words: str) -> str:
        """Return the editor text for pasted words: a mark, or the words themselves. Raises `ConfigError`."""
        # Terminals send a carriage return for each pasted line end.
        words = words.replace("\r\n", "\n").replace("\r", "\n")
        path = _path(words)
        if path is not None:
            return self.add(attached(path, str(path)))
        lines = words.count("\n") + 1
        if lines <= LONG_LINES and len(words) <= LONG_CHARACTERS:
            return words
        mark = f"[pasted text {len(self._texts) + 1}: {lines} lines]"
        self._texts[mark] = words
        return mark

    def add(self, file: File) -> str:
        """Add an image or document and return its mark."""
        mark = f"[{file.media.partition('/')[0]} {len(self._files) + 1}: {Path(file.path).name}]"
        self._files[mark] = file
        return mark

    def sent(self, words: str) -> tuple[str, tuple[File, ...]]:
        """Return the prompt with marks replaced by their text, and the files whose marks are still in it."""
        files = tuple(file for mark, file in self._files.items() if mark in words)
        for mark, text in self._texts.items():
            words = words.replace(mark, text)
        return words, files


def _path(words: str) -> Path | None:
    """Return the image or document whose path was pasted: terminals paste the path of a dropped file."""
    name = words.strip().strip("'\"")
    if not name or len(name) > MOST_PATH or "\n" in name:
        return None
    try:
        if name.startswith("file://"):
            name = unquote(urlsplit(name).path)
        path = Path(name.replace("\\ ", " ")).expanduser()
        if not path.is_absolute() or not path.is_file():
            return None
        with path.open("rb") as stream:
            return path if media_of(stream.read(64)) else None
    except (OSError, ValueError, RuntimeError):
        return None


async def clipboard_image(project: Path) -> File | None:
    """Return the image on the clipboard; None without one or without a clipboard program.

    No program of the project is run: a model may have written it. Raises `ConfigError` if the image is too large.
    """
    for name, *words in CLIPBOARDS:
        program = own_program(name, project)
        if program is None:
            continue
        running = await asyncio.create_subprocess_exec(
            program, *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(CLIPBOARD_SECONDS):
                content, _ = await running.communicate()
        except TimeoutError:
            running.kill()
            await running.wait()
            continue
        if len(content) > MOST_ATTACHED_BYTES:
            raise ConfigError(f"the image on the clipboard is larger than {MOST_ATTACHED_BYTES // 2**20} MB")
        if (image := from_bytes("clipboard.png", content)) is not None:
            return image
    return None
