"""Incremental parser for server-sent events: bytes in, the data of complete events out."""

from __future__ import annotations

MAX_EVENT_BYTES = 8 * 1024 * 1024


class TooLong(Exception):
    """An event exceeds `MAX_EVENT_BYTES`."""


class EventParts:
    """Parser for the data of events, in order. Comments, names, ids and blank events are dropped: no wire needs them.

    It works on bytes and whole chunks to keep long replies cheap: the data goes into a JSON decoder unchanged. Lines
    may end in LF, CRLF or CR, and chunks may be split anywhere.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._begun = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the events that this chunk completes; raises `TooLong`."""
        rest = self._rest
        seen = max(0, len(rest) - 1)
        rest += chunk
        if not self._begun and len(rest) >= 3:
            self._begun = True
            if rest.startswith(b"\xef\xbb\xbf"):
                del rest[:3]
                seen = 0
        # A CR at the end may be half of a CRLF, and a short beginning half of a byte order mark.
        end = max(rest.rfind(b"\n", seen), rest.rfind(b"\r", seen, -1))
        if end < 0 or not self._begun:
            if len(rest) + self._size > MAX_EVENT_BYTES:
                raise TooLong
            return []
        lines = bytes(rest[: end + 1])
        del rest[: end + 1]
        if len(rest) > MAX_EVENT_BYTES:
            raise TooLong
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._events(lines)

    def end(self) -> list[bytes]:
        """Return the events pending at the end of the stream; some servers omit the last blank line."""
        self._begun = True
        return self.feed(b"\n\n")

    def _events(self, lines: bytes) -> list[bytes]:
        found: list[bytes] = []
        data = self._data
        for line in lines.split(b"\n")[:-1]:
            if not line:
                if data:
                    found.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
                    self._size = 0
            elif line.startswith(b"data:") or line == b"data":
                data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._size += len(line)
                if self._size > MAX_EVENT_BYTES:
                    raise TooLong
        return found
