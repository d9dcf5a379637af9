"""`found`: what a run has left in its journal, compared with what its calls have done."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from bench.workers.tree import Journaled
from bridle.core.fold import load
from bridle.core.ledger import Account
from bridle.core.limits import NOTHING
from bridle.core.parts import Call, TurnFinish, TurnStart
from bridle.core.replay import verified
from bridle.core.states import Done, Refused
from bridle.journal.postgres import PostgresJournal
from bridle.wire import entries as wire


class Found(NamedTuple):
    """What became of a run, and everything that is wrong with it."""

    sessions: int
    reasons: Counter[str]
    calls: int
    cut: int
    """Calls whose process ended in them: the model was told that their outcome is unknown."""
    problems: list[str]


async def found(given: Journaled) -> Found:
    journal = given.journal()
    try:
        return await _look(given, journal)
    finally:
        await journal.close()


async def _look(given: Journaled, journal: PostgresJournal) -> Found:
    lines = [line.split() for line in given.acts.read_text().splitlines()]
    begun = Counter(call for word, call in lines if word == "begun")
    done = {call for word, call in lines if word == "done"}
    problems = [f"call {call} ran {times} times" for call, times in begun.items() if times > 1]
    reasons: Counter[str] = Counter()
    known: dict[str, object] = {}
    rows = await journal.sessions()
    for row in rows:
        session, entries = row.info.id, await journal.load(row.info.id)
        difference = verified(entries)
        if difference is not None:
            problems.append(f"{session}: {difference}")
        parts = list(load(entries).parts.values())
        starts = [part.number for part in parts if isinstance(part, TurnStart)]
        finishes = [part for part in parts if isinstance(part, TurnFinish)]
        if starts != [1] or [part.number for part in finishes] != starts:
            ended = [part.number for part in finishes]
            problems.append(f"{session} ({row.info.parent or 'a root'}): turns {starts} begun, {ended} ended")
        reasons.update(part.reason for part in finishes)
        known |= {f"{session}/{part.id}": part.state for part in parts if isinstance(part, Call) and part.name == "act"}
    problems += [f"call {call} is not recorded" for call in begun if call not in known]
    cut = 0
    for call, state in known.items():
        if isinstance(state, Done):
            problems += [f"call {call} is recorded as done, but was not"] if call not in done else []
        elif isinstance(state, Refused) and state.refusal.name == "unknown_outcome":
            cut += 1
        elif call in begun:
            problems.append(f"call {call} ran, and is recorded as {state}")
    problems += [f"{left} jobs left" for (left,) in await _jobs(journal) if left]
    accounts = await journal.rows("SELECT account FROM bridle.account WHERE version > 0")
    for (body,) in accounts:
        problems += _wrong(wire.decode_account(body))
    return Found(len(rows), reasons, sum(begun.values()), cut, problems)


async def _jobs(journal: PostgresJournal) -> list[tuple[int]]:
    return [(int(row[0]),) for row in await journal.rows("SELECT count(*) FROM bridle_queue.procrastinate_jobs")]


def _wrong(account: Account) -> list[str]:
    wrong = []
    if (account.reserved, account.held, account.live) != (NOTHING, {}, 0):
        wrong.append(f"account {account.id} still holds {account.held}, {account.live} live")
    for limits in (account.limits, *([account.tree] if account.tree is not None else [])):
        over = {name: most for name, most in limits.given.items() if account.spent.of(name) > most + 1e-9}
        wrong += [f"account {account.id} spent {account.spent.of(name)} of {most}" for name, most in over.items()]
    return wrong
