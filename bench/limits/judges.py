"""What was observed of a contender, and whether that is what a row of the comparison asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.limits.scripts import CHILD, FIRST_WORDS, LAST_WORDS, POLLS
from bench.limits.server import Provider

LOOP_CALLS = 40
CUTS = 10


@dataclass
class Seen:
    """What was observed of one contender in one row."""

    provider: Provider
    effects: list[str]
    outcome: Mapping[str, Any] | None
    """What it gave in the end: `text`, and `ended` with the name of an exception or a reason."""
    stopped: str
    """Why the comparison ended it, or nothing."""
    seconds: float
    before_crash: int = 0
    """Requests that had come when the process was killed."""

    @property
    def requests(self) -> int:
        return len(self.provider.asked)

    @property
    def text(self) -> str:
        """The text that it ended with; what the model said before its calls is none, unless more follows."""
        text = str(self.outcome.get("text") or "") if self.outcome else ""
        return "" if text.startswith(FIRST_WORDS) and LAST_WORDS not in text else text

    @property
    def ended(self) -> bool:
        return not self.stopped and self.outcome is not None

    @property
    def answered(self) -> bool:
        """Ended by itself, with a text that a person can read."""
        return self.ended and bool(self.text.strip())

    @property
    def finished(self) -> bool:
        """Ended with the model's own last words."""
        return self.ended and LAST_WORDS in self.text

    def words(self, *more: str) -> str:
        """The observation for a cell."""
        count = f"{self.requests} request{'s' if self.requests != 1 else ''}"
        if self.stopped:
            return ", ".join([count, *more, self.stopped])
        if self.finished:
            text = "the model's text"
        elif self.answered:
            text = "a text of its own"
        else:
            text = f"no text ({(self.outcome or {}).get('ended') or 'empty'})"
        return ", ".join([count, *more, text])


Judged = tuple[bool, str]


def counted(effects: list[str]) -> str:
    return f"{len(effects)} call{'s' if len(effects) != 1 else ''}"


def capped(cap: int) -> Callable[[Seen], Judged]:
    def judge(seen: Seen) -> Judged:
        passed = seen.answered and seen.requests <= cap + 1 and len(seen.effects) <= cap
        return passed, seen.words(counted(seen.effects))

    return judge


def none_at_all(seen: Seen) -> Judged:
    refused = seen.ended and not seen.requests
    passed = (refused or (seen.answered and seen.requests == 1)) and not seen.effects
    return passed, seen.words(counted(seen.effects))


def budgeted(seen: Seen) -> Judged:
    return seen.answered and len(seen.effects) <= 4, seen.words(counted(seen.effects))


def children(seen: Seen) -> dict[str, int]:
    """How many requests each child made."""
    found: dict[str, int] = {}
    for asked in seen.provider.asked:
        if asked.prompted(CHILD):
            first = next(each for each in asked.body["messages"] if each["role"] == "user")
            found[str(first)] = found.get(str(first), 0) + 1
    return found


def nested_caps(seen: Seen) -> Judged:
    below = children(seen)
    own = seen.requests - sum(below.values())
    most = max(below.values(), default=0)
    passed = seen.answered and own <= 4 and 0 < most <= 3
    return passed, seen.words(f"{own} of the parent, at most {most} of a child")


def tree_budget(seen: Seen) -> Judged:
    below = children(seen)
    # Each agent may write one closing answer besides.
    return seen.answered and bool(below) and seen.requests <= 6 + 1 + len(below), seen.words(
        f"{len(below)} child{'ren' if len(below) != 1 else ''}"
    )


def looped(seen: Seen) -> Judged:
    passed = seen.ended and len(seen.effects) < LOOP_CALLS
    return passed, seen.words(counted(seen.effects))


def polled(seen: Seen) -> Judged:
    return seen.finished and len(seen.effects) == POLLS, seen.words(f"{len(seen.effects)} of {POLLS} polls")


def went_on(seen: Seen) -> Judged:
    return seen.finished and len(seen.effects) == 1, seen.words()


def gave_up(seen: Seen) -> Judged:
    return seen.ended and seen.requests <= 2 * CUTS, seen.words(f"{seen.seconds:.0f} s")


def compacted(seen: Seen) -> Judged:
    return seen.ended, seen.words()


def resumed(seen: Seen) -> Judged:
    later = seen.provider.asked[seen.before_crash :]
    kept = bool(later) and all(f"{FIRST_WORDS} {at}" in later[0].words for at in (1, 2))
    repeated = len(seen.effects) - 2
    more = [f"{repeated} repeated", "text kept" if kept else "text lost"]
    return seen.finished and repeated == 0 and kept, seen.words(*more)


def not_repeated(seen: Seen) -> Judged:
    times = len(seen.effects)
    return seen.answered and times == 1, seen.words(f"the effect {times} time{'s' if times != 1 else ''}")


def still_capped(seen: Seen) -> Judged:
    # The request that the crash cut off may be asked again, and a closing answer may come besides.
    return seen.answered and seen.requests <= 4 + 2, seen.words(f"{seen.before_crash} before the crash")


def tokens_kept(seen: Seen) -> Judged:
    spent = sum(seen.provider.tokens)
    return seen.ended and spent <= 12_000 + 3_000, seen.words(f"{spent:,} tokens")


def cost_kept(seen: Seen) -> Judged:
    spent = seen.provider.cost
    return seen.ended and spent <= 0.12 + 0.03, seen.words(f"${spent:.2f}")


def time_kept(seen: Seen) -> Judged:
    asked = seen.provider.asked
    taken = asked[-1].seconds - asked[0].seconds if asked else 0.0
    return seen.ended and taken <= 3 + 2, seen.words(f"{taken:.1f} s of requests")
