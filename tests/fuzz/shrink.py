"""The smallest input that still fails in the same place."""

from collections.abc import Callable, Iterator


def smallest(data: bytes, fails: Callable[[bytes], bool], most: int = 1_000) -> bytes:
    """Remove ever smaller pieces, then make bytes plain, as long as it goes on to fail; at most so many tries."""
    tried = {data}
    while True:
        for candidate in _smaller(data):
            if candidate in tried:
                continue
            tried.add(candidate)
            if len(tried) > most:
                return data
            if fails(candidate):
                data = candidate
                break
        else:
            return data


def _smaller(data: bytes) -> Iterator[bytes]:
    lines = data.split(b"\n")
    size = len(lines) // 2
    while size:
        for start in range(0, len(lines), size):
            yield b"\n".join(lines[:start] + lines[start + size :])
        size //= 2
    size = max(1, len(data) // 2)
    while size:
        for start in range(0, len(data), size):
            yield data[:start] + data[start + size :]
        size //= 2
    for start, byte in enumerate(data):
        if byte not in b"a\n":
            yield data[:start] + b"a" + data[start + 1 :]
