"""Worlds of several workers on a PostgreSQL server: every invariant, and the model of the server beside a real one."""

import asyncio
import random

import psycopg
import pytest
from support.postgres import new_schema, server_url

from bridle.core.events import SessionInfo
from bridle.journal import (
    postgres_commits as commits,
    postgres_presence as presence,
    postgres_queries as queries,
    wakes,
)
from bridle.journal.postgres import PostgresJournal
from bridle.wire import entries as wire
from sim.check import check_seed
from sim.fresh import fresh_served_seeds
from sim.server_plan import SERVED, is_served
from sim.server_tables import Tables
from sim.world import simulate

SEEDS = 40
SESSIONS = ("ses_a", "ses_b", "ses_c")
ACCOUNTS = ("ses_a/1", "ses_b/1", "ses_b/1 2")
LONG, OVER = 1_000.0, -1_000.0
ROUNDS = 400


def test_every_invariant_holds_on_a_server():
    for seed in range(SERVED, SERVED + SEEDS):
        problem, _ = check_seed(seed)
        assert not problem, f"seed {seed}: {problem}"


def test_every_invariant_holds_on_a_server_in_worlds_that_are_new_every_day():
    for seed in fresh_served_seeds():
        assert is_served(seed)
        problem, _ = check_seed(seed)
        assert not problem, f"seed {seed}: {problem}"


SEEN = {
    "server: a holder was asked to abort": 2,
    "server: a session was taken over": 4,
    "server: a worker died": 0,
    "server: cut": 11,
    "server: frozen": 12,
    "server: killed": 0,
    "server: restarted": 0,
    "server: restarted, and something was lost": 6,
    "server: silent": 9,
}


@pytest.mark.parametrize("what", SEEN)
def test_everything_comes_to_pass_on_a_server(what):
    assert check_seed(SERVED + SEEN[what])[1][what]


def test_the_same_seed_gives_the_same_bytes_on_a_server():
    for seed in range(SERVED, SERVED + 5):
        assert written(seed) == written(seed), seed


def written(seed):
    history = simulate(seed)
    return {id: b"".join(map(wire.encode, kept.entries)) for id, kept in history.sessions.items()}, history.accounts


def test_the_model_answers_as_a_real_server_does():
    """The same queries in the same order; numbers are compared by what they stand for, times only by their presence."""

    async def work():
        journal = PostgresJournal(server_url(), schema=new_schema())
        await journal.wakes.ready()
        async with await journal.server.connect() as connection:
            both = Both(journal, connection)
            chance = random.Random(7)
            for _ in range(ROUNDS):
                await both.step(chance)
            # Each of these has come to an outcome of either kind.
            assert both.outcomes >= {
                (query, found)
                for query in ("acquire", "append", "beat", "is_held", "pending", "release", "entries")
                for found in (True, False)
            }
        await journal.close()

    asyncio.run(work())


class Both:
    """The model and a real server, asked the same."""

    def __init__(self, journal: PostgresJournal, connection: psycopg.AsyncConnection) -> None:
        self._text = journal.server.text
        self._channel = journal.server.channel
        self._connection = connection
        self._tables = Tables()
        self._numbers = {}
        """The number of each session: in the model, and on the server."""
        self._workers = []
        self._leases = {}
        """The last lease of each session: its epoch and its worker."""
        self._items = 0
        self.outcomes = set()
        self._steps = [self._acquire, self._append, self._append, self._release, self._mail, self._look, self._wakes]

    async def ask(self, name, query, modelled, real):
        """The rows of both, without what stands for itself; they must be the same."""
        found = self._tables.run(query, modelled)
        rows = await (await self._connection.execute(self._text(query), real)).fetchall()
        self.outcomes.add((name, any(any(value not in (None, b"") for value in row) for row in rows)))
        return found, rows

    async def do(self, query, values, real=None):
        """Run what has no rows on both."""
        self._tables.run(query, values)
        await self._connection.execute(self._text(query), real if real is not None else values)

    async def same(self, name, query, values, real=None):
        found, rows = await self.ask(name, query, values, real if real is not None else values)
        mine, real = list(map(plain, found)), list(map(plain, rows))
        # Neither promises an order of accounts.
        assert (mine, real) == (mine, mine) or (name == "holding" and sorted(mine) == sorted(real)), (name, values)

    async def step(self, chance):
        session = chance.choice(SESSIONS)
        if len(self._workers) < 2 or chance.random() < 0.05:
            await self._arrive(chance)
        elif session not in self._numbers:
            await self._create(session)
        else:
            await chance.choice(self._steps)(session, chance)

    async def _arrive(self, chance):
        given = (chance.choice([LONG, LONG, OVER]), "host", 1, [])
        ((mine,),), ((real,),) = await self.ask("arrive", presence.ARRIVE, given, given)
        self._workers.append((mine, real))

    async def _create(self, session):
        info = wire.encode(SessionInfo(session, "/project"))
        given = (session, info, "@", 1.0, 1.0, 0.0, b"[]")
        await self.ask("create", queries.CREATE, given, given)
        await self.ask("create", queries.CREATE, given, given)
        ((mine,),), ((real,),) = await self.ask("number", queries.NUMBER, (session,), (session,))
        self._numbers[session] = mine, real

    async def _acquire(self, session, chance):
        mine, real = chance.choice(self._workers)
        found, rows = await self.ask("acquire", queries.ACQUIRE, (session, mine), (session, real))
        assert [row[1] for row in found] == [row[1] for row in rows]
        assert [row[2] is None for row in found] == [row[2] is None for row in rows]
        if rows:
            self._leases[session] = rows[0][1], (mine, real)

    async def _append(self, session, chance):
        epoch, worker = self._leases.get(session, (0, self._workers[0]))
        line = self._tables.sessions[self._numbers[session][0]]
        first = line.sequence + chance.choice([1, 1, 1, 2])
        ids = sorted(chance.sample(ACCOUNTS, chance.choice([0, 1, 2])))
        versions = [self._tables.accounts.get(id, (0,))[0] + chance.choice([0, 0, 0, 1]) for id in ids]
        taken = list(line.inbox)[:1]
        ends = chance.choice([0, 1])

        def values(which):
            number = self._numbers[session][which]
            return (
                *(chance is None, worker[which], self._channel, f"{number}"),
                *([number], [epoch], [first], [first], [ends], [2.0]),
                *([number], [first], [2.0], [1.0], [b"[]"]),
                *(ids, versions, [True for _ in ids], [f"{first}".encode() for _ in ids]),
                *([], []),
                *([number for _ in taken], taken, [], [], []),
            )

        found, rows = await self.ask("append", commits.APPEND, values(0), values(1))
        names = [{f"{numbers[which]}": name for name, numbers in self._numbers.items()} for which in (0, 1)]
        mine, real = (
            sorted((what, known.get(key, key), version, body if version else b"") for what, key, version, body in told)
            for known, told in zip(names, (found, rows), strict=True)
        )
        assert mine == real
        read, real = await self.ask("accounts", commits.ACCOUNTS, (ids,), (ids,))
        # Version 0 stands for a row that is being opened, and counts as absent.
        assert sorted(read) == sorted(plain(row) for row in real if row[1])
        await self.same("holding", queries.HOLDING, ("ses_b", "ses_b\U0010ffff"))

    async def _release(self, session, chance):
        epoch, worker = self._leases.get(session, (0, self._workers[0]))
        drove = chance.choice([True, False])
        given = [
            (drove, drove, None, self._numbers[session][which], epoch, worker[which], self._channel, "!")
            for which in (0, 1)
        ]
        found, rows = await self.ask("release", queries.RELEASE, *given)
        assert len(found) == len(rows)
        self.outcomes.add(("release", bool(rows)))

    async def _mail(self, session, chance):
        self._items += chance.choice([0, 1])
        given = (session, f"item{self._items}", b"{}", self._channel, True)
        found, rows = await self.ask("submit", queries.SUBMIT, given, given)
        assert [row[1] for row in found] == [row[1] for row in rows]
        await self.same("inbox", queries.INBOX, (session,))

    async def _look(self, session, chance):
        await self.same("entries", queries.ENTRIES, (session, chance.choice([0, 1, 5, 1_000])))
        await self.same("inbox", queries.INBOX, (session,))
        await self.same("is_held", queries.IS_HELD, (session,))
        (mine,), (real,) = await self.ask("mark", queries.MARK, (session,), (session,))
        assert mine[:4] == real[:4]
        worker = chance.choice(self._workers)
        found, rows = await self.ask("beat", presence.BEAT, (LONG, worker[0]), (LONG, worker[1]))
        assert len(found) == len(rows)
        epoch, holder = self._leases.get(session, (0, worker))
        asked = [(self._numbers[session][which], epoch, holder[which]) for which in (0, 1)]
        await self.same("holds", queries.HOLDS, *asked)
        strays = [(holder[which], list(SESSIONS[:2])) for which in (0, 1)]
        await self.do(queries.FREE_STRAYS, *strays)

    async def _wakes(self, session, chance):
        match chance.randrange(5):
            case 0:
                await self.do(wakes.WAKE, ([session], chance.choice([True, False])))
            case 1:
                await self.same("sweep", wakes.SWEEP, (chance.choice([LONG, OVER]),))
            case 2:
                await self.do(wakes.SET_PROBLEM, ("broken", session))
            case 3:
                await self.do(wakes.WANT, (session,))
            case _:
                await self.do(wakes.CLEAR, (LONG,))
        await self.same("pending", wakes.PENDING, (session, LONG))
        await self.same("problem", wakes.PROBLEM, (session,))


def plain(row):
    """Bytes as bytes, and nothing that differs by nature."""
    return tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
