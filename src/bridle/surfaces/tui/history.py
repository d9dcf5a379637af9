"""`PromptHistory`: earlier prompts of all sessions, kept in a file of the person, for the arrow keys and the search."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bridle.surfaces.tui.paste import Pasted

MOST_KEPT = 2_000
MOST_CHARACTERS = 20_000
"""A longer prompt is not kept."""


class PromptHistory:
    """Prompts as they were typed, the newest last. A file that cannot be read or written only loses the history."""

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / "prompts.jsonl" if folder is not None else None
        self._typed = self._read()
        self._of_session: list[str] = []
        self._pasted: dict[str, Pasted] = {}
        self._at = 0
        self._draft = ""

    @property
    def prompts(self) -> list[str]:
        """All prompts without repetitions, the newest last; those of the open session count as new."""
        latest = dict.fromkeys(reversed([*self._typed, *self._of_session]))
        return [*reversed(latest)]

    def opened(self, prompts: Sequence[str]) -> None:
        """Put the prompts of the session that was opened last."""
        self._of_session = [*prompts]
        self._at = 0

    def add(self, words: str, pasted: Pasted) -> None:
        """Keep a prompt, with its pasted content until the end of the application."""
        self._of_session = [each for each in self._of_session if each != words]
        self._typed.append(words)
        self._pasted[words] = pasted
        self._at = 0
        self._write(words)

    def pasted(self, words: str) -> Pasted:
        """Return the pasted content of an earlier prompt."""
        return self._pasted.get(words) or Pasted()

    def step(self, by: int, draft: str) -> str | None:
        """Return the prompt that is `by` prompts away, or the draft behind the newest; None at either end."""
        prompts = self.prompts
        if self._at == 0:
            self._draft = draft
        if not 0 <= self._at - by <= len(prompts):
            return None
        self._at -= by
        return prompts[-self._at] if self._at else self._draft

    def _read(self) -> list[str]:
        if self._path is None:
            return []
        try:
            lines = self._path.read_bytes().splitlines()[-MOST_KEPT:]
            return [msgspec.json.decode(line, type=str) for line in lines if line.strip()]
        except (OSError, msgspec.MsgspecError):
            return []

    def _write(self, words: str) -> None:
        if self._path is None or len(words) > MOST_CHARACTERS:
            return
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(words) + b"\n")
        except (OSError, ValueError):
            # Without a place for it the history ends with the application; a half of a character cannot be kept.
            return
