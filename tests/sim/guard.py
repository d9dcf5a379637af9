"""While a world lives, nothing of the real one may be touched: no clock, no chance, no socket, thread or process."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

FORBIDDEN: dict[Any, tuple[str, ...]] = {
    time: (
        "time",
        "time_ns",
        "monotonic",
        "monotonic_ns",
        "perf_counter_ns",
        "clock_gettime",
        "clock_gettime_ns",
        "sleep",
    ),
    os: ("urandom", "getrandom"),
    # The name that this Python starts its threads by.
    threading: tuple({"_start_new_thread", "_start_joinable_thread"} & vars(threading).keys()),
    uuid: ("uuid1", "uuid4"),
    random: (
        *("random", "randint", "randrange", "choice", "choices", "shuffle", "uniform", "getrandbits", "sample"),
        *("gauss", "normalvariate", "expovariate", "triangular", "betavariate", "randbytes"),
        # Where `secrets` and `SystemRandom` have theirs from.
        "_urandom",
    ),
}
EVENTS = ("socket.", "subprocess.", "os.fork", "os.posix_spawn", "os.exec", "os.system")


class Touched(BaseException):
    """Something real was used: whoever catches everything else does not catch this."""


class _Watch:
    """Audit hooks stay for ever, so there is one, and it knows when to look."""

    def __init__(self) -> None:
        self.on = False
        self.touched: list[str] = []
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _: Any) -> None:
        if self.on and event.startswith(EVENTS):
            self.refuse(event)

    def refuse(self, what: str) -> NoReturn:
        where = [frame for frame in traceback.extract_stack()[:-2] if "sim/guard" not in frame.filename][-3:]
        self.touched.append(f"{what} in {' < '.join(f'{frame.name}:{frame.lineno}' for frame in reversed(where))}")
        raise Touched(self.touched[-1])


_watch = _Watch()


@contextmanager
def nothing_real() -> Iterator[None]:
    """Raises `Touched` at its end if anything real was used, also where somebody has swallowed that."""
    kept = {(module, name): getattr(module, name) for module, names in FORBIDDEN.items() for name in names}
    counter, seeded = time.perf_counter, random.Random
    for module, name in kept:
        setattr(module, name, _refusing(f"{module.__name__}.{name}"))
    # A record of a log knows the time; what libraries log is for nobody here.
    logging.disable(logging.CRITICAL)
    # The HTTP client notes how long a response took, and nobody reads it.
    time.perf_counter = _virtual
    random.Random = _Seeded
    _watch.touched.clear()
    _watch.on = True
    try:
        yield
    finally:
        _watch.on = False
        logging.disable(logging.NOTSET)
        time.perf_counter, random.Random = counter, seeded
        for (module, name), real in kept.items():
            setattr(module, name, real)
    if _watch.touched:
        raise Touched(_watch.touched[0])


class _Seeded(random.Random):
    """Chance of a seed's; without one it would be the machine's."""

    def __new__(cls, *seed: Any) -> _Seeded:
        if not seed:
            _watch.refuse("random.Random()")
        return super().__new__(cls, *seed)


def _virtual() -> float:
    return asyncio.get_running_loop().time()


def _refusing(what: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        _watch.refuse(what)

    return refuse
