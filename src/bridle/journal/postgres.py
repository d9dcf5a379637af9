"""`PostgresJournal`: keeps sessions on a PostgreSQL server, shared by the processes of any number of machines."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

import msgspec

from bridle.core.budget import BudgetChange
from bridle.core.events import Entry, SessionInfo
from bridle.core.ids import account_range, is_account_in
from bridle.core.inbox import InboxItem
from bridle.core.ledger import Account, AccountChange
from bridle.errors import JournalError, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal import postgres_queries as queries
from bridle.journal.journal import Lease, SessionQuery, SessionRow, Wake, Weight, session_entry
from bridle.journal.postgres_append import Append
from bridle.journal.postgres_budget import store_budget
from bridle.journal.postgres_changes import Changes
from bridle.journal.postgres_commits import PostgresCommits
from bridle.journal.postgres_deltas import Deltas
from bridle.journal.postgres_lists import list_sessions
from bridle.journal.postgres_pool import Pool, Values
from bridle.journal.postgres_presence import LeaseTimes, Presence
from bridle.journal.postgres_server import Connection, Server
from bridle.journal.queue_tables import prepare_queue
from bridle.journal.wakes import WakeQueue, queue_of
from bridle.process.lifelines import Lifelines
from bridle.seams import Seams, uninterrupted
from bridle.wire import entries as wire

MOST_NUMBERS = 10_000


@dataclass(slots=True)
class _Held:
    """A lease of this process."""

    session: str
    number: int
    epoch: int
    presence: Presence
    wanted: datetime | None
    """The time since which the session had waited for a drive."""
    drove: bool = False
    """Whether its inbox was read: a holder that only renames the session leaves it waiting."""


class PostgresJournal:
    """A journal on PostgreSQL; see `Journal`. It belongs to the event loop of its first use.

    With durability "power" intents and endings survive a crash of the server, else only of this process. A lease lasts
    as long as the heartbeat of its process: after a process has died, others get its leases when `times` are over.
    """

    def __init__(
        self,
        url: str,
        *,
        listen_url: str = "",
        schema: str = "bridle",
        seams: Seams | None = None,
        durability: Literal["power", "process"] = "power",
        times: LeaseTimes | None = None,
    ) -> None:
        self.server = self._server = Server(url, listen_url=listen_url, schema=schema)
        seams = seams or Seams()
        self._clock = seams.clock
        self._power = durability == "power"
        self.times = times or LeaseTimes()
        self._pool = Pool(self._server)
        self._arriving = asyncio.Lock()
        self._presence: Presence | None = None
        self._changes = Changes(self._server)
        self.deltas = Deltas(schema, self._changes, self.rows, seams.clock, seams.new_id("live"))
        self.wakes = WakeQueue(self.rows, self._server.text, self._prepare_queue, self.times.lease_seconds)
        self._queues: tuple[str, ...] = ()
        self._commits = PostgresCommits(self._server, self._written)
        self._held: dict[str, _Held] = {}
        self._numbers: dict[str, int] = {}
        """Numbers of watched sessions."""
        self._taking: Counter[str] = Counter()  # How often a lease is being taken.
        self._heard: set[str] = set()
        """Sessions whose inbox was looked at since their lease was taken."""

    async def rows(self, query: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Run a query to its end, even if the caller is cancelled; raises `JournalError`."""
        # The pool may swallow a cancellation, and the driver would cancel the query over another connection.
        return await uninterrupted(self._pool.rows(query, values))

    async def _in_time(self, held: _Held, query: str, values: Values) -> list[tuple[Any, ...]]:
        """Return the rows of a lease holder's query; raises `LeaseLost` once the lease must not be used any more."""
        now = asyncio.get_running_loop().time
        while held.presence.there:
            left = held.presence.seconds_left
            ends = now() + left
            try:
                return await uninterrupted(self._pool.rows(query, values, seconds=left))
            except JournalError:
                # If the server was silent until then, a heartbeat may have moved the deadline.
                if now() < ends:
                    raise
        raise LeaseLost(f"session {held.session} may be driven elsewhere now: the database has not answered in time")

    async def _number(self, session: str) -> int:
        held = self._held.get(session)
        if held is not None:
            return held.number
        rows = await self.rows(queries.NUMBER, (session,))
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        return int(rows[0][0])

    async def _watched_number(self, session: str) -> int:
        """Return the number of a session, from memory even if the session is deleted meanwhile: it is never reused."""
        number = self._numbers.get(session)
        if number is None:
            number = await self._number(session)
            if len(self._numbers) > MOST_NUMBERS:
                self._numbers.clear()
            self._numbers[session] = number
        return number

    def _written(self, number: int, ends: bool) -> None:
        self._changes.own(self._commits.pid)
        self._changes.tell(number, "entry")
        if ends:
            self._changes.tell(number, "rest")

    @contextmanager
    def _sound(self, what: str) -> Iterator[None]:
        """Raise `JournalRefused` for data that cannot be read: it was readable when written, so it is damaged."""
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            raise JournalRefused(f"{self._server.place}: {what} is damaged ({error})") from error

    async def create(self, info: SessionInfo) -> None:
        entry = session_entry(info)
        row = (info.id, wire.encode(info), queue_of(info), entry.at, entry.at, entry.elapsed, wire.encode_events(entry))
        await self.rows(queries.CREATE, row)

    async def append(
        self,
        lease: Lease,
        entry: Entry,
        *,
        change: AccountChange | None = None,
        take: Sequence[str] = (),
        weight: Weight = "plain",
        before: Sequence[Entry] = (),
    ) -> None:
        held = self._lease(lease)
        append = Append(
            session=lease.session,
            number=held.number,
            epoch=lease.epoch,
            holder=held.presence,
            entries=(*before, entry),
            change=change,
            take=take,
            durable=self._power and weight in ("intent", "ending"),
            ends=weight == "ending",
            done=asyncio.get_running_loop().create_future(),
        )
        await uninterrupted(self._commits.write(append))

    def _lease(self, lease: Lease) -> _Held:
        """Return the state of a lease of this process; raises `LeaseLost`."""
        held = self._held.get(lease.session)
        if held is None or held.epoch != lease.epoch or not held.presence.there:
            raise _lost(lease.session)
        return held

    async def load(self, session: str, after: int = 0) -> list[Entry]:
        rows = await self.rows(queries.ENTRIES, (session, after))
        if not rows and not after:
            raise NoSuchSession(f"there is no session {session}")
        with self._sound(f"session {session}"):
            found = [Entry(number, at, elapsed, wire.decode_events(events)) for number, at, elapsed, events in rows]
            if [entry.sequence for entry in found] != list(range(after + 1, after + len(found) + 1)):
                raise ValueError("its entries are not one after the other")
            return found

    async def submit(self, session: str, item: InboxItem, *, wake: Wake | None = None) -> bool:
        return await uninterrupted(self._submit(session, item, wake))

    async def _submit(self, session: str, item: InboxItem, wake: Wake | None) -> bool:
        values = (session, item.id, wire.encode(item), self._server.channel, self._power)
        if wake is None:
            rows = await self._pool.rows(queries.SUBMIT, values)
        else:
            rows = await self._submit_with(wake, values)
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        number, fresh, *_ = rows[0]
        self._changes.tell(number, "item")
        return bool(fresh)

    async def _submit_with(self, wake: Wake, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Submit an item and call `wake` in one transaction; return the rows of the query, none without a session."""

        async def put(connection: Connection) -> list[tuple[Any, ...]]:
            async with connection.transaction():
                rows = await (await connection.execute(self._server.text(queries.SUBMIT), values)).fetchall()
                if rows:
                    # After the item: a worker that takes this wake or an earlier one waits here for the session's row.
                    done = wake(connection)
                    if inspect.isawaitable(done):
                        await done
                return rows

        return await self._pool.run(put)

    async def inbox(self, session: str) -> list[InboxItem]:
        held, wanted = self._held.get(session), (session,)
        if held is not None:
            held.drove = True
        rows = await (self._in_time(held, queries.INBOX, wanted) if held else self.rows(queries.INBOX, wanted))
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        with self._sound(f"the inbox of {session}"):
            return [wire.decode_item(item) for (item,) in rows if item is not None]

    async def acquire(self, session: str) -> Lease | None:
        presence = await self._present()
        self._taking[session] += 1
        try:
            rows = await self.rows(queries.ACQUIRE, (session, presence.id))
            if not rows:
                await self._number(session)
                return None
            number, epoch, wanted, _ = rows[0]
            self._held[session] = _Held(session, number, epoch, presence, wanted)
        finally:
            self._taking[session] -= 1
        return Lease(session, epoch)

    async def _present(self) -> Presence:
        """Return the identity under which this process takes leases; a lost one is replaced."""
        await self._pool.ready()
        async with self._arriving:
            if self._presence is None or not self._presence.there:
                if self._presence is not None:
                    await self._presence.leave()
                presence = Presence(self._server, self.times, self._clock, self._queues)
                await presence.arrive()
                self._presence = presence
            return self._presence

    async def serve(self, queues: Iterable[str]) -> None:
        """Register this process as a worker for the wakes of these queues. Called again after a lost identity."""
        self._queues = tuple(queues)
        await self.wakes.ready()
        # Followers are known before the first turn begins.
        self._changes.begin()
        presence = await self._present()
        # A lease whose release failed, while the server was unreachable, has no holder: its session is woken.
        self._taking = +self._taking
        await self.rows(queries.FREE_STRAYS, (presence.id, [*self._held, *self._taking]))

    @property
    def is_present(self) -> bool:
        """Whether this process may hold leases now."""
        return self._presence is not None and self._presence.there

    def lifelines(self, session: str) -> Lifelines | None:
        """Return the signals without which commands of a session end; for an unknown one those of this process."""
        held = self._held.get(session)
        presence = held.presence if held is not None else self._presence
        return presence.lifelines if presence is not None else None

    async def _prepare_queue(self) -> None:
        await self._pool.ready()
        # A connection of its own: all of the pool's may wait for this.
        async with await self._server.connect() as connection:
            await prepare_queue(self._server, connection)

    async def renew(self, lease: Lease) -> None:
        held = self._lease(lease)
        rows = await self._in_time(held, queries.HOLDS, (held.number, lease.epoch, held.presence.id))
        if not rows or not held.presence.there:
            raise _lost(lease.session)

    async def release(self, lease: Lease) -> None:
        held = self._held.get(lease.session)
        if held is None or held.epoch != lease.epoch:
            return
        self._heard.discard(lease.session)
        values = (held.drove, held.drove, held.wanted, held.number, lease.epoch, held.presence.id)
        try:
            # If this process loses its leases, the server may be out of reach, and they end by themselves.
            with suppress(LeaseLost):
                await self._in_time(held, queries.RELEASE, (*values, self._server.channel, f"!{held.number}"))
        finally:
            if self._held.get(lease.session) is held:
                del self._held[lease.session]
        self._changes.tell(held.number, "rest")

    async def held(self, session: str) -> bool:
        rows = await self.rows(queries.IS_HELD, (session,))
        return bool(rows)

    async def posted(self, session: str) -> None:
        number = await self._watched_number(session)
        held = self._held.get(session)
        with self._changes.watch(number, "item") as waiter:
            if session not in self._heard:
                # An item may have come before this process listened.
                self._heard.add(session)
                return
            if held is None:
                await waiter.wait()
                return
            await waiter.wait(held.presence.seconds_left)
            if not held.presence.there:
                raise _lost(session)

    async def changed(self, session: str, since: int, *, every: bool = False) -> int:
        number = await self._watched_number(session)
        kinds: tuple[Literal["entry", "rest", "item"], ...] = ("entry", "rest", "item") if every else ("rest", "item")
        with self._changes.watch(number, *kinds) as waiter:
            while (mark := await self._mark(session, every=every)) == since:
                await waiter.wait()
            return mark

    async def _mark(self, session: str, *, every: bool) -> int:
        rows = await self.rows(queries.MARK, (session,))
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        sequence, *rest = rows[0]
        return hash((sequence if every else 0, *rest)) | 1

    async def account(self, id: str) -> Account | None:
        rows = await self.rows(queries.ACCOUNT, (id,))
        with self._sound(f"account {id}"):
            return wire.decode_account(rows[0][0]) if rows else None

    async def set_budget(self, account: str, change: BudgetChange) -> bool:
        return await uninterrupted(self._pool.run(partial(store_budget, self._server, account, change)))

    async def budgets(self, account: str, most: int = 1) -> list[BudgetChange]:
        rows = await self.rows(queries.BUDGETS, (account, most))
        with self._sound(f"the budget of {account}"):
            return [BudgetChange(wire.decode_budget(budget), at) for budget, at in rows]

    async def holding(self, root: str) -> list[Account]:
        rows = await self.rows(queries.HOLDING, (root, f"{root}\U0010ffff"))
        with self._sound("an account"):
            found = [wire.decode_account(row[0]) for row in rows]
        return [account for account in found if account.held and is_account_in(account.id, root)]

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        with self._sound("a session"):
            return await list_sessions(self.rows, query)

    async def delete(self, lease: Lease) -> None:
        held = self._lease(lease)
        first, end = account_range(lease.session)
        values = {"number": held.number, "epoch": lease.epoch, "me": held.presence.id, "first": first, "end": end}
        if not await self.rows(queries.DELETE, values):
            raise _lost(lease.session)
        self._commits.forget(first, end)

    async def info(self, session: str) -> SessionInfo:
        """Return the facts about a session besides its parts."""
        rows = await self.rows(queries.INFO, (session,))
        if not rows:
            raise NoSuchSession(f"there is no session {session}")
        with self._sound(f"session {session}"):
            return msgspec.json.decode(rows[0][0], type=SessionInfo)

    async def size(self, session: str) -> int:
        return int((await self.rows(queries.SIZE, (await self._number(session),)))[0][0] or 0)

    async def shrink(self) -> None:
        """Do nothing: the server reuses the space of deleted sessions."""

    async def close(self) -> None:
        presence, self._presence = self._presence, None
        self._held.clear()
        await self._commits.close()
        await self.deltas.close()
        await self._changes.close()
        if presence is not None:
            await presence.leave()
        await self._pool.close()


def _lost(session: str) -> LeaseLost:
    return LeaseLost(f"session {session} is written by another process now")
