"""Many inputs against one target: which were tried, and the smallest of those that failed."""

import hashlib
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

from fuzz.mutate import mutated
from fuzz.shrink import smallest
from fuzz.target import Target

HUNG_SECONDS = 20.0
MOST_KEPT = 400
MOST_FAILURES = 5


class Hung(BaseException):
    """An input that keeps its target busy for longer than anybody would wait; nothing on its way out may catch it."""


@dataclass(frozen=True)
class Failure:
    """What an input has done; two that come from the same place are one."""

    place: str
    told: str
    data: bytes


@dataclass
class Outcome:
    """What became of a campaign."""

    tried: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def campaign(target: Target, seed: int, *, seconds: float | None = None, count: int | None = None) -> Outcome:
    """Try what is kept, then what can be made of it, for so long or so often."""
    random = Random(f"{target.name} {seed}")
    pool = [*target.seeds, *(path.read_bytes() for path in target.kept())]
    outcome = Outcome()
    began = time.monotonic()
    for data in _inputs(random, target, pool):
        outcome.seconds = time.monotonic() - began
        if (count is not None and outcome.tried >= count) or (seconds is not None and outcome.seconds >= seconds):
            break
        outcome.tried += 1
        failure = tried(target, data)
        if failure is not None and failure.place not in {known.place for known in outcome.failures}:
            outcome.failures.append(shrunk(target, failure))
            if len(outcome.failures) == MOST_FAILURES:
                break
    return outcome


def _inputs(random: Random, target: Target, pool: list[bytes]) -> Iterator[bytes]:
    yield from tuple(pool)
    beginnings = len(pool)
    while True:
        made = mutated(random, random.choice(pool), pool, target.words, structured=target.structured)
        yield made
        # Some are gone on with, so that changes add up; what the campaign began with is never lost.
        if random.random() < 0.05:
            if len(pool) < beginnings + MOST_KEPT:
                pool.append(made)
            else:
                pool[random.randrange(beginnings, len(pool))] = made


def tried(target: Target, data: bytes) -> Failure | None:
    """What an input does, if that is not what it should."""
    try:
        with _guarded():
            target.check(data)
    except (Exception, Hung) as error:
        # Whatever a target raises is a defect: that is what is looked for.
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = "hung" if isinstance(error, Hung) else f"{type(error).__name__} {last.filename}:{last.lineno}"
        return Failure(place, "".join(traceback.format_exception(error)), data)
    return None


def shrunk(target: Target, failure: Failure) -> Failure:
    """The same failure of a smaller input."""

    def fails(data: bytes) -> bool:
        found = tried(target, data)
        return found is not None and found.place == failure.place

    if failure.place == "hung":
        return failure
    return tried(target, smallest(failure.data, fails)) or failure


def keep(target: Target, failure: Failure) -> Path:
    """Write an input where it is tried again from now on."""
    target.corpus.mkdir(parents=True, exist_ok=True)
    path = target.corpus / hashlib.sha256(failure.data).hexdigest()[:12]
    path.write_bytes(failure.data)
    return path


@contextmanager
def _guarded() -> Iterator[None]:
    """Not a measure of time: only so that an endless loop is found instead of waited for."""

    def hung(number: int, frame: FrameType | None) -> None:
        raise Hung(f"no end within {HUNG_SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, HUNG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
