"""Fills a journal's tables in bulk with copies of sessions that were really run."""

from __future__ import annotations

import random
from pathlib import Path

import psycopg

from bench.postgres.server import Server
from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition
from bridle.core.messages import ResultMessage, UserMessage
from bridle.core.stream import ModelRequest

PATTERNS = 10
"""Sessions that are run for copies."""
TURNS = 2
STEPS = 10
RESULT_CHARACTERS = 1_500
CHUNK = 200_000
"""Entries that are copied in one transaction."""
WORDS = [f"word{number}" for number in range(500)]

TABLES = ("session", "entry", "inbox", "account")
PREPARE = [f"CREATE TABLE pattern_{name} AS SELECT * FROM bridle.{name}" for name in TABLES]
COPY = [
    """
    INSERT INTO bridle.session (number, id, info, sequence, updated, ends, epoch, queue) OVERRIDING SYSTEM VALUE
    SELECT g * %(width)s + p.number, p.id || g, convert_to(replace(convert_from(p.info, 'UTF8'), p.id, p.id || g),
        'UTF8'), p.sequence, p.updated + g, p.ends, p.epoch, p.queue
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g, pattern_session AS p ORDER BY g, p.number
    """,
    """
    INSERT INTO bridle.entry SELECT g * %(width)s + p.session, p.sequence, p.at + g, p.elapsed, p.events
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g, pattern_entry AS p ORDER BY g, p.sequence, p.session
    """,
    """
    INSERT INTO bridle.inbox (session, id, item) SELECT g * %(width)s + p.session, p.id || g, NULL
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g, pattern_inbox AS p
    """,
    """
    INSERT INTO bridle.account SELECT replace(p.id, s.id, s.id || g), p.version, p.holds,
        convert_to(replace(convert_from(p.account, 'UTF8'), s.id, s.id || g), 'UTF8')
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS g, pattern_account AS p
    JOIN pattern_session AS s ON starts_with(p.id, s.id)
    """,
]
"""Sessions that run at the same time lie among each other in the tables, as those of a pattern do here."""
LAST = "SELECT setval(pg_get_serial_sequence('bridle.session', 'number'), (SELECT max(number) FROM bridle.session))"


@tool
async def look(key: str) -> str:
    """Look at something."""
    chosen = random.Random(key)
    return " ".join(chosen.choices(WORDS, k=RESULT_CHARACTERS // 8))[:RESULT_CHARACTERS]


def reply(request: ModelRequest) -> Reply:
    last = max(at for at, message in enumerate(request.messages) if isinstance(message, UserMessage))
    done = sum(isinstance(message, ResultMessage) for message in list(request.messages)[last:])
    if done == STEPS:
        return Reply(text="That is all there is to say about it. " * 5)
    return Reply(text="I look at the next of them now. " * 5, calls=(call("look", key=f"{last} {done}"),))


def config(address: str, directory: Path) -> RuntimeConfig:
    """The configuration of a runtime whose sessions look at things."""
    return RuntimeConfig(
        journal=address,
        models={"m": ScriptedModel(reply)},
        agents=[AgentDefinition("build", model="m")],
        tools=[look],
        directory=directory,
    )


async def run_patterns(address: str, directory: Path) -> list[str]:
    """Run the sessions that are copied, and return their ids."""
    async with Runtime(config(address, directory)) as runtime:
        sessions = [await runtime.create() for _ in range(PATTERNS)]
        for session in sessions:
            for _ in range(TURNS):
                result = await runtime.wait(session, await runtime.prompt(session, "Look at them all."))
                if result.reason != "answered":
                    raise SystemExit(f"a session for copies ended with {result.reason}: {result.detail}")
    return sessions


class Filler:
    """Grows a journal from its patterns."""

    def __init__(self, server: Server, address: str) -> None:
        self._server = server
        self._address = address
        with server.connected(address) as connection:
            for query in PREPARE:
                connection.execute(query.encode())
            self.per_round = count(connection, "SELECT count(*) FROM pattern_entry")
        self.entries = 0

    def grow(self, entries: int) -> None:
        """Copy sessions until there are so many entries."""
        rounds = max(1, CHUNK // self.per_round)
        with self._server.connected(self._address) as connection:
            connection.execute("SET synchronous_commit = off")
            # Others may have made sessions since the last time.
            self.entries = count(connection, "SELECT count(*) FROM bridle.entry")
            first = count(connection, "SELECT max(number) FROM bridle.session") // PATTERNS + 1
            while self.entries < entries:
                missing = -(-(entries - self.entries) // self.per_round)
                last = first + min(rounds, missing) - 1
                given = {"width": PATTERNS, "first": first, "last": last}
                with connection.transaction():
                    for query in COPY:
                        connection.execute(query.encode(), given)
                self.entries += self.per_round * (last - first + 1)
                first = last + 1
            connection.execute(LAST.encode())


def count(connection: psycopg.Connection[tuple[object, ...]], query: str) -> int:
    """Return the one number that a query gives."""
    row = connection.execute(query.encode()).fetchone()
    return int(str(row[0])) if row is not None and row[0] is not None else 0
