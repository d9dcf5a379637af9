"""`Printed`: the output of a running tool call, both ends in memory; `OutputFolder`, files for outputs too long."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOM = 100_000
HEAD = TAIL = 24_000
MOST_LINES = 900
MOST_KEPT = 50_000_000


class Printed:
    """The output of one call; `spill` returns the path of a file for output that is too long for memory."""

    def __init__(self, spill: Callable[[], str] | None = None) -> None:
        self._spill = spill
        self._whole: list[str] = []
        self._size = 0
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._handle = -1
        self._kept = 0
        self._hash = hashlib.blake2b(digest_size=9)
        self.stored = ""
        """The file with the complete output; empty if there is none."""

    def add(self, text: str) -> None:
        raw = text.encode("utf-8", errors="surrogatepass")
        self._hash.update(raw)
        self._size += len(raw)
        if self._size <= ROOM:
            self._whole.append(text)
            return
        if not self._head:
            text = "".join([*self._whole, text])
            raw = text.encode("utf-8", errors="surrogatepass")
            self._whole.clear()
            self._head = text[:HEAD]
            self._begin_file()
        self._keep(raw)
        self._tail.append(text[-TAIL:])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) > TAIL:
            self._tail_size -= len(self._tail.popleft())

    def _begin_file(self) -> None:
        # Without disk space the call continues with head and tail only.
        with suppress(OSError):
            if self._spill is not None:
                path = self._spill()
                self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
                self.stored = path

    def _keep(self, raw: bytes) -> None:
        if self._handle < 0 or self._kept >= MOST_KEPT:
            return
        try:
            self._kept += os.write(self._handle, raw[: MOST_KEPT - self._kept])
        except OSError:
            self.close()
            self.stored = ""

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def digest(self) -> str:
        """Return the digest of the complete output, including discarded parts."""
        return self._hash.hexdigest()

    def text(self) -> str:
        if self._size <= ROOM:
            return "".join(self._whole)
        head = "\n".join(self._head.split("\n")[:MOST_LINES])
        tail = "\n".join("".join(self._tail)[-TAIL:].split("\n")[-MOST_LINES:])
        where = f"; the whole is in {self.stored}" if self.stored else ""
        if self.stored and self._size > MOST_KEPT:
            where = f"; the first {MOST_KEPT} bytes are in {self.stored}"
        return f"{head}\n\n[… {self._size} bytes in all{where} …]\n\n{tail}"


@dataclass(slots=True, frozen=True)
class OutputFolder:
    """Files for outputs that are too long for the model: one per call, in a folder per session."""

    path: Path

    def file(self, session: str, call: str) -> str:
        """Return the path of the file for the output of a call; makes its folder. Raises `OSError`."""
        folder = self.path / session
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(folder / f"{call}.txt")

    def store(self, session: str, call: str, text: str) -> str:
        """Write the output of a call; return the path of its file. Raises `OSError`."""
        path = Path(self.file(session, call))
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)
