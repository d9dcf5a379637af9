"""Waiting for something to read, also in a process with more handles than `select` can take."""

import select


def readable(handle: int, seconds: float) -> bool:
    """Whether there is something to read from a handle within so many seconds, its end included."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
