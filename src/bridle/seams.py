"""`Seams`: the clocks, randomness and threads, replaced in tests; and functions that start tasks, threads and locks."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, Protocol, TypeVar

from bridle.errors import ConfigError, error_text

Result = TypeVar("Result")

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


class Clock(Protocol):
    """Two clocks: one for people, which may jump, and one for deadlines, which may not."""

    def wall(self) -> float:
        """Return the seconds since 1970."""

    def monotonic(self) -> float:
        """Return the seconds since some moment; comparable within one process."""

    def since_boot(self) -> float:
        """Return the seconds since the machine started; it goes on while the machine sleeps."""


class Offload(Protocol):
    """Runs work that would block the event loop. Jobs of one instance run one after the other, in order."""

    async def run(self, job: Callable[[], Result]) -> Result:
        """Return the job's result; raises its exception. A cancelled caller does not stop the job."""

    def close(self) -> None:
        """Wait for the running job and stop. May be called twice."""


class SystemClock:
    """The machine's clocks."""

    wall = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    def since_boot(self) -> float:
        # Only Linux counts the time asleep apart; elsewhere the plain clock does or there is none.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ThreadOffload:
    """One thread, started with its first job; a plain queue, since a pool costs twice as much for each job."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, job: Callable[[], Result]) -> Result:
        future, work = _in_future(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="bridle-offload", daemon=True)
            self._thread.start()
        self._jobs.put(work)
        return await future

    def _serve(self) -> None:
        while (work := self._jobs.get()) is not None:
            work()

    def close(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None


def leave(status: int) -> NoReturn:
    """End the process: at once, if an abandoned thread is still working."""
    if any(not thread.daemon and thread is not threading.main_thread() for thread in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def at_exit(job: Callable[[], object], seconds: float) -> None:
    """Run a job when the process ends, which waits for it this long at most."""
    ends = threading.Event()

    def work() -> None:
        ends.wait()
        job()

    # Begun now: a process that ends begins no threads.
    thread = threading.Thread(target=work, name="bridle-exit", daemon=True)
    thread.start()

    def leave() -> None:
        ends.set()
        thread.join(seconds)

    atexit.register(leave)


def new_lock() -> AbstractContextManager[object]:
    """Return a lock for state that several threads change."""
    return threading.Lock()


def unguessable_key() -> str:
    """Return a key that cannot be guessed."""
    return os.urandom(24).hex()


async def in_thread(job: Callable[[], Result], *, until_exit: bool = False) -> Result:
    """Run the job in an own thread that is not joined, and return its result: a job that hangs blocks no abort.

    With `until_exit` the process does not end before the job has: for foreign code that must not be interrupted.
    """
    future, work = _in_future(partial(copy_context().run, job))
    threading.Thread(target=work, name="bridle-call", daemon=not until_exit).start()
    return await future


class _BackgroundLoop:
    """The event loop of a thread of its own, started with its first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            # A forked process has the loop, but not its thread.
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = asyncio.new_event_loop(), os.getpid()
                threading.Thread(target=self._loop.run_forever, name="bridle-loop", daemon=True).start()
            return self._loop


_BACKGROUND = _BackgroundLoop()


def run_in_background(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the background event loop and wait for its result, from any other thread.

    Context variables are those of the caller. An interrupted caller cancels the coroutine.
    """
    context, loop = copy_context(), _BACKGROUND.loop()
    if asyncio._get_running_loop() is loop:
        work.close()
        raise ConfigError(
            "run_sync was called by a coroutine of another run_sync, which would wait for ever: use await"
        )
    done: concurrent.futures.Future[Result] = concurrent.futures.Future()
    started: list[asyncio.Task[Result]] = []

    def ended(task: asyncio.Task[Result]) -> None:
        if task.cancelled():
            done.cancel()
        elif error := task.exception():
            done.set_exception(error)
        else:
            done.set_result(task.result())

    def start() -> None:
        task = loop.create_task(work, context=context)
        started.append(task)
        task.add_done_callback(ended)

    loop.call_soon_threadsafe(start)
    try:
        return done.result()
    except BaseException:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in started])
        raise


def _in_future(job: Callable[[], Result]) -> tuple[asyncio.Future[Result], Callable[[], None]]:
    """Return a future of this loop, and the work that fills it from another thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def work() -> None:
        settle: Callable[[Any], None] = future.set_result
        try:
            outcome: object = job()
        except BaseException as error:
            # Without an outcome the caller would wait for ever; a future takes no `StopIteration`.
            settle = future.set_exception
            text = f"exit {error.code}" if isinstance(error, SystemExit) else error_text(error)
            taken = isinstance(error, Exception) and not isinstance(error, StopIteration)
            outcome = error if taken else RuntimeError(text)

        def deliver() -> None:
            if not future.done():
                settle(outcome)

        # The loop may be closed when an abandoned job ends.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver)

    return future, work


@dataclass(slots=True)
class Seams:
    """The sources of nondeterminism of a runtime: clock, randomness and threads."""

    clock: Clock = field(default_factory=SystemClock)
    random: random.Random = field(default_factory=lambda: random.Random(os.urandom(16)))
    offload: Callable[[], Offload] = ThreadOffload

    def new_id(self, prefix: str) -> str:
        """Return an id that sorts by time and cannot be guessed: 10 letters of time, 16 of chance."""
        number = (int(self.clock.wall() * 1000) & (1 << 50) - 1) << 80 | self.random.getrandbits(80)
        return f"{prefix}_" + "".join(_LETTERS[number >> 5 * place & 31] for place in range(25, -1, -1))

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def begin(work: Coroutine[Any, Any, Result]) -> asyncio.Task[Result]:
    """Return a task that begins at the next turn of the loop, even if the host's tasks start eagerly."""
    return asyncio.Task(work, loop=asyncio.get_running_loop())


async def uninterrupted(work: Coroutine[Any, Any, Result] | asyncio.Future[Result]) -> Result:
    """Return the result of work that a cancelled caller must wait for; the cancellation is raised after its end."""
    task = work if isinstance(work, asyncio.Future) else begin(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as cancelled:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        # Also where the work has failed: a caller that goes on after the failure would never end.
        raise cancelled from None if task.cancelled() else task.exception()
