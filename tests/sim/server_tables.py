"""The tables of the model of a PostgreSQL journal: what each query of Bridle's does there, in one place of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account
from bridle.journal import (
    postgres_commits as commits,
    postgres_presence as presence,
    postgres_queries as queries,
    wakes,
)
from bridle.wire import entries as wire

Row = tuple[Any, ...]
MOST_DEATHS = 3


@dataclass
class SessionLine:
    """One row of the sessions, with its entries and its inbox."""

    number: int
    id: str
    info: bytes
    queue: str
    updated: float
    sequence: int = 1
    ends: int = 0
    epoch: int = 0
    holder: int | None = None
    wanted: float | None = None
    problem: str = ""
    deaths: int = 0
    entries: dict[int, tuple[float, float, bytes]] = field(default_factory=dict)
    inbox: dict[str, bytes | None] = field(default_factory=dict)
    """Items in their order; one that was taken stays without its content."""

    @property
    def aside(self) -> bool:
        return self.deaths >= MOST_DEATHS

    def copied(self) -> SessionLine:
        return replace(self, entries=dict(self.entries), inbox=dict(self.inbox))


@dataclass
class Job:
    """A wake in the queue; `worker` follows it."""

    session: str
    queue: str
    held: bool
    worker: int | None = None


class Tables:
    """All rows. Each method is one transaction; `now` is the server's clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sessions: dict[int, SessionLine] = {}
        self.numbers: dict[str, int] = {}
        self.workers: dict[int, float] = {}
        """The leases of each process, until when."""
        self.queues: dict[int, Sequence[str]] = {}
        self.accounts: dict[str, tuple[int, bool, bytes]] = {}
        self.jobs: list[Job] = []
        self.followers: dict[int, float] = {}
        """The last sign of life of each process that follows wakes."""
        self._last = 0
        # What the transaction under way asks for besides its rows.
        self.flushed = True
        self.told: list[str] = []
        self.problems: list[str] = []

    def copied(self) -> Tables:
        other = Tables()
        vars(other).update(vars(self))
        other.sessions = {number: line.copied() for number, line in self.sessions.items()}
        for name in ("numbers", "workers", "queues", "accounts", "followers"):
            setattr(other, name, dict(getattr(self, name)))
        other.jobs = [replace(job) for job in self.jobs]
        return other

    def run(self, query: str, values: Any) -> list[Row]:
        """The rows of a query of Bridle's."""
        return QUERIES[query](self, *values)

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _line(self, id: str) -> SessionLine | None:
        number = self.numbers.get(id)
        return None if number is None else self.sessions[number]

    def alive(self, holder: int | None) -> bool:
        return holder is not None and self.workers.get(holder, 0.0) > self.now

    def owns(self, number: int, epoch: int, me: int) -> bool:
        line = self.sessions.get(number)
        return line is not None and (line.epoch, line.holder) == (epoch, me)

    # What all do.

    def number(self, id: str) -> list[Row]:
        line = self._line(id)
        return [] if line is None else [(line.number,)]

    def create(self, id: str, info: bytes, queue: str, updated: float, at: float, elapsed: float, events: bytes) -> Any:
        self.flushed = False
        if id in self.numbers:
            return []
        line = SessionLine(self._next(), id, info, queue, updated, entries={1: (at, elapsed, events)})
        self.sessions[line.number], self.numbers[id] = line, line.number
        return [(None,)]

    def entries(self, id: str, after: int) -> list[Row]:
        line = self._line(id)
        return [] if line is None else [(n, *entry) for n, entry in sorted(line.entries.items()) if n > after]

    def submit(self, id: str, item: str, body: bytes, channel: str, power: bool) -> list[Row]:
        self.flushed = power
        line = self._line(id)
        if line is None:
            return []
        fresh = item not in line.inbox
        line.inbox.setdefault(item, body)
        line.wanted = self.now if line.wanted is None else line.wanted
        line.deaths, line.problem = 0, ""
        self.told = [f"@{line.number}"]
        return [(line.number, fresh, None, None)]

    def inbox(self, id: str) -> list[Row]:
        line = self._line(id)
        if line is None:
            return []
        return [(item,) for item in line.inbox.values() if item is not None] or [(None,)]

    def info(self, id: str) -> list[Row]:
        line = self._line(id)
        return [] if line is None else [(line.info,)]

    def mark(self, id: str) -> list[Row]:
        line = self._line(id)
        if line is None:
            return []
        last = max((place for place, item in enumerate(line.inbox.values()) if item is not None), default=None)
        return [(line.sequence, line.ends, line.epoch, self.alive(line.holder), last)]

    def notify(self, channel: str, payload: str) -> list[Row]:
        self.flushed = False
        return [(None, None)]

    # Leases.

    def arrive(self, seconds: float, host: str, process: int, queues: Sequence[str]) -> list[Row]:
        me = self._next()
        self.workers[me], self.queues[me] = self.now + seconds, queues
        return [(me,)]

    def beat(self, seconds: float, me: int) -> list[Row]:
        if not self.alive(me):
            return []
        self.workers[me] = self.now + seconds
        return [(me,)]

    def leave(self, me: int) -> list[Row]:
        for line in self.sessions.values():
            if line.holder == me:
                line.holder = None
                line.wanted = self.now if line.wanted is None else line.wanted
        self.workers.pop(me, None)
        return []

    def acquire(self, id: str, me: int) -> list[Row]:
        self.flushed = False
        line = self._line(id)
        if line is None or self.alive(line.holder):
            return []
        wanted, line.wanted = line.wanted, None
        line.epoch, line.holder, line.problem = line.epoch + 1, me, ""
        return [(line.number, line.epoch, wanted, None)]

    def holds(self, number: int, epoch: int, me: int) -> list[Row]:
        return [(1,)] if self.owns(number, epoch, me) else []

    def is_held(self, id: str) -> list[Row]:
        line = self._line(id)
        return [(1,)] if line is not None and self.alive(line.holder) else []

    def release(
        self, drove: bool, looked: bool, wanted: float | None, number: int, epoch: int, me: int, channel: str, told: str
    ) -> list[Row]:
        if not self.owns(number, epoch, me):
            return []
        line = self.sessions[number]
        line.holder, line.deaths = None, 0 if drove else line.deaths
        if not looked:
            line.wanted = wanted if wanted is not None else line.wanted
        self.told = [told]
        return [(None,)]

    def free_strays(self, me: int, held: Sequence[str]) -> list[Row]:
        for line in self.sessions.values():
            if line.holder == me and line.id not in held:
                line.holder = None
                line.wanted = self.now if line.wanted is None else line.wanted
        return []

    # Appends.

    def append(self, durable: bool, me: int, channel: str, told: str, *columns: Any) -> list[Row]:
        self.flushed = durable
        (
            *of_sessions,
            sessions,
            sequences,
            at,
            elapsed,
            events,
            ids,
            versions,
            holds,
            bodies,
            owners,
            _,
            taken_in,
            taken,
            told_of,
            infos,
            queues,
        ) = columns
        if problems := self._lost(me, *of_sessions[:3]) or self._moved(ids, versions):
            return problems
        for id, version, held, body in zip(ids, versions, holds, bodies, strict=True):
            self.accounts[id] = (version + 1, held, body)
        for number, last, ends, time in zip(of_sessions[0], *of_sessions[3:], strict=True):
            line = self.sessions[number]
            line.sequence, line.ends, line.updated = last, line.ends + ends, time
        for number, sequence, *entry in zip(sessions, sequences, at, elapsed, events, strict=True):
            assert sequence not in self.sessions[number].entries, "the server refuses a second entry of this number"
            self.sessions[number].entries[sequence] = (entry[0], entry[1], entry[2])
        for number, item in zip(taken_in, taken, strict=True):
            self.sessions[number].inbox[item] = None
        for number, info, queue in zip(told_of, infos, queues, strict=True):
            self.sessions[number].info, self.sessions[number].queue = info, queue
        assert owners == [], "the model keeps no budgets of accounts"
        self.told = [told] if told else []
        return []

    def _lost(self, me: int, sessions: Sequence[int], epochs: Sequence[int], firsts: Sequence[int]) -> list[Row]:
        return [
            ("lost", str(number), None, None)
            for number, epoch, first in zip(sessions, epochs, firsts, strict=True)
            if not (self.alive(me) and self.owns(number, epoch, me) and self.sessions[number].sequence == first - 1)
        ]

    def _moved(self, ids: Sequence[str], versions: Sequence[int]) -> list[Row]:
        found = []
        for id, version in zip(ids, versions, strict=True):
            known, _, body = self.accounts.get(id, (0, False, b""))
            if known != version:
                found.append(("moved", id, known, body))
        return found

    def read_accounts(self, ids: Sequence[str]) -> list[Row]:
        return [(id, self.accounts[id][0], self.accounts[id][2]) for id in ids if id in self.accounts]

    def account(self, id: str) -> list[Row]:
        return [(self.accounts[id][2],)] if id in self.accounts else []

    def holding(self, first: str, end: str) -> list[Row]:
        return [(body,) for id, (_, holds, body) in sorted(self.accounts.items()) if holds and first <= id <= end]

    # Wakes.

    def wake(self, ids: Sequence[str], held: bool) -> list[Row]:
        for line in filter(None, map(self._line, sorted(ids))):
            if held and (line.aside or line.problem):
                line.deaths, line.problem = 0, ""
            if not line.aside:
                self._defer(line, held=held)
        return [(None,)]

    def _defer(self, line: SessionLine, *, held: bool) -> None:
        waiting = next((job for job in self.jobs if job.session == line.id and job.worker is None), None)
        if waiting is None:
            self.jobs.append(Job(line.id, line.queue, held))
        else:
            waiting.queue, waiting.held = line.queue, waiting.held or held

    def sweep(self, patience: float) -> list[Row]:
        due = set()
        for line in self.sessions.values():
            if line.holder is not None and not self.alive(line.holder):
                line.holder, line.deaths = None, line.deaths + 1
                line.wanted = self.now if line.wanted is None else line.wanted
                due.add(line.id)
            elif line.holder is None and not line.aside and line.wanted is not None:
                due |= {line.id} if line.wanted < self.now - patience else set()
        self.wake(sorted(due), False)
        return [(len(due),)]

    def pending(self, id: str, stalled: float) -> list[Row]:
        waits = any(job.session == id and (job.worker is None or self._follows(job, stalled)) for job in self.jobs)
        return [(1,)] if waits else []

    def _follows(self, job: Job, stalled: float) -> bool:
        return job.worker is not None and self.followers.get(job.worker, -stalled) > self.now - stalled

    def clear(self, stalled: float) -> list[Row]:
        gone = [job for job in self.jobs if job.worker is not None and not self._follows(job, stalled)]
        self.jobs = [job for job in self.jobs if job not in gone]
        for job in gone:
            line = self._line(job.session)
            if line is not None and not line.aside:
                self._defer(line, held=job.held)
        return [(None,)]

    def problem(self, id: str) -> list[Row]:
        line = self._line(id)
        return [] if line is None else [(line.problem, line.aside)]

    def set_problem(self, problem: str, id: str) -> list[Row]:
        self.problems.append(problem)
        line = self._line(id)
        if line is not None:
            line.problem = problem
        return []

    def want(self, id: str) -> list[Row]:
        line = self._line(id)
        if line is not None and line.wanted is None:
            line.wanted = self.now
        return []

    # Procrastinate's own.

    def follow(self) -> int:
        me = self._next()
        self.followers[me] = self.now
        return me

    def fetch(self, me: int, queues: Sequence[str]) -> Job | None:
        found = next((job for job in self.jobs if job.worker is None and job.queue in queues), None)
        if found is not None:
            found.worker = me
        return found

    def finish(self, me: int, session: str) -> None:
        self.jobs = [job for job in self.jobs if (job.session, job.worker) != (session, me)]

    def sign(self, me: int) -> None:
        self.followers[me] = self.now

    # What the world looks at.

    def items(self, line: SessionLine) -> list[InboxItem]:
        return [wire.decode_item(item) for item in line.inbox.values() if item is not None]

    def ledger(self) -> dict[str, Account]:
        return {id: wire.decode_account(body) for id, (_, _, body) in self.accounts.items()}


QUERIES: dict[str, Callable[..., list[Row]]] = {
    "SELECT 1": lambda tables: [(1,)],
    queries.NUMBER: Tables.number,
    queries.CREATE: Tables.create,
    queries.ENTRIES: Tables.entries,
    queries.SUBMIT: Tables.submit,
    queries.INBOX: Tables.inbox,
    queries.INFO: Tables.info,
    queries.MARK: Tables.mark,
    queries.NOTIFY: Tables.notify,
    queries.ACQUIRE: Tables.acquire,
    queries.HOLDS: Tables.holds,
    queries.IS_HELD: Tables.is_held,
    queries.RELEASE: Tables.release,
    queries.FREE_STRAYS: Tables.free_strays,
    queries.ACCOUNT: Tables.account,
    queries.HOLDING: Tables.holding,
    presence.ARRIVE: Tables.arrive,
    presence.BEAT: Tables.beat,
    presence.LEAVE: Tables.leave,
    commits.APPEND: Tables.append,
    commits.ACCOUNTS: Tables.read_accounts,
    wakes.WAKE: Tables.wake,
    wakes.SWEEP: Tables.sweep,
    wakes.PENDING: Tables.pending,
    wakes.PROBLEM: Tables.problem,
    wakes.SET_PROBLEM: Tables.set_problem,
    wakes.WANT: Tables.want,
    wakes.CLEAR: Tables.clear,
}
