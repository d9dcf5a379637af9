"""Builds and reads the ids that OpenCode's clients see: prefix, fixed width, ascending in the order of the record."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from bridle.core.ids import (
    AskAddress,
    ReplyPart,
    ask_address,
    read_ask_address,
    read_reply_part,
    step_request_id,
    synthesis_id,
)

SHOWN_AS_IS = re.compile("ses_")
OTHER_SESSION = "ses_."
"""Prefix of sessions whose own id does not begin as OpenCode's ids do."""
TIME_BITS = 48
STEPS_PER_MILLISECOND = 4096
FIRST, FINISH, ENDING = 0, 998, 999
"""Places of a step's start, of its finish, and of the text after it, among the attempts of the step."""
SYNTHESIS = 500
"""Attempts of a synthesis follow those of its step."""


class PartPlace(NamedTuple):
    """Where a part stands: the numbers of its id."""

    turn: int
    step: int = 0
    attempt: int = 0
    failures: int = 0
    place: int = 0


def shown_session(session: str) -> str:
    """Return a session's id as clients see it."""
    return session if SHOWN_AS_IS.match(session) else OTHER_SESSION + session


def read_session(shown: str) -> str:
    """Return the session that a client names."""
    return shown.removeprefix(OTHER_SESSION)


def mark(*words: str) -> str:
    """Return eight letters that tell ids of different sessions apart."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:8]


def message_id(created: int, *words: str) -> str:
    """Return the id of a message that began at this millisecond: it ascends with the time, as OpenCode's own do."""
    return f"msg_{_time(created)}{mark(*words)}"


def is_message(shown: str) -> bool:
    """Return whether an id that a client gives is one of a message."""
    return shown.startswith("msg")


def part_id(place: PartPlace, session: str) -> str:
    """Return the id of a part of an assistant message."""
    turn, step, attempt, failures, number = place
    return f"prt_{turn:06}{step:05}{attempt:03}{failures:03}{number:05}{mark(session)}"


def prompt_part_id(message: str, number: int) -> str:
    """Return the id of a part of a user message."""
    return f"prt_{mark(message)}{number:05}"


def place_of(part: str) -> PartPlace | None:
    """Return the position of a part in its reply; None for another part."""
    read = read_reply_part(part)
    return PartPlace(*_numbers(read)) if read is not None else None


def request_of(part: str) -> str:
    """Return the request whose reply a part belongs to; empty for another part."""
    read = read_reply_part(part)
    if read is None:
        return ""
    build = synthesis_id if read.purpose == "synthesis" else step_request_id
    return build(read.turn, read.step, read.attempt)


def permission_id(session: str, ask: str, call: str) -> str:
    """Return the id of an ask; it has everything that its answer needs."""
    return f"per_{_order(call)}{ask_address(session, ask)}"


def ask_question_id(session: str, ask: str, call: str) -> str:
    """Return the id of a question; it has everything that its answer needs."""
    return f"que_{_order(call)}{ask_address(session, ask)}"


ASK_START = len("per_") + 22


def read_ask(shown: str) -> AskAddress:
    """Return the session and the ask that a client names; both are empty for an id of another shape."""
    found = read_ask_address(shown[ASK_START:])
    return found if found.session else AskAddress("", "")


def event_id(created: int, number: int) -> str:
    """Return the id of an event."""
    return f"evt_{_time(created)}{number:014}"


def _time(created: int) -> str:
    return f"{created * STEPS_PER_MILLISECOND % (1 << TIME_BITS):012x}"


def _order(call: str) -> str:
    place = place_of(call) or PartPlace(0)
    return f"{place.turn:06}{place.step:05}{place.attempt:03}{place.failures:03}{place.place:05}"


def _numbers(read: ReplyPart) -> tuple[int, int, int, int, int]:
    attempt = read.attempt + SYNTHESIS if read.purpose == "synthesis" else read.attempt
    return read.turn, read.step, attempt, read.failures, read.place
