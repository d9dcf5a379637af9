"""`check_rows`: reads all sessions and the ledger of any journal by `Rows`; returns a `Finding` for each fault."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from bridle.core.events import Entry
from bridle.core.ids import read_account
from bridle.core.ledger import Account
from bridle.core.limits import LIMIT_NAMES, NOTHING, Spent, counted
from bridle.core.session import Session
from bridle.errors import JournalRefused
from bridle.journal.finding import Finding
from bridle.journal.journal import folded
from bridle.journal.rows import AccountRow, Rows, WholeSession
from bridle.wire import entries as wire

ROUNDING = 1e-6


async def check_rows(rows: Rows) -> list[Finding]:
    """Return a fault for each damaged session or account, and a line that counts what was read."""
    marks = await rows.marks()
    found: list[Finding] = []
    accounts: dict[str, Account] = {}
    for mark in marks:
        session = await rows.session(mark.id)
        if session is None:
            continue
        found += [Finding("fault", f"{problem}: {_way_out(mark.id)}") for problem in _problems(session, mark.sequence)]
        found += _read_accounts(session.accounts, accounts)
        found += _without_turn(session, accounts)
    ledger = await rows.ledger([mark.id for mark in marks])
    found += _read_accounts(ledger.accounts, accounts)
    for row in ledger.budgets:
        try:
            wire.decode_budget(row.budget)
        except ValueError as error:
            found.append(Finding("fault", f"a budget of {row.owner} cannot be read ({error}): set it again"))
    found += _orphans(ledger.accounts, accounts)
    found += _sums(accounts)
    if not found:
        found.append(Finding("good", f"{counted(len(marks), 'session')} and the ledger can be read and add up"))
    return found


def _way_out(session: str) -> str:
    return f"restore the journal from a backup, or delete the session: bridle sessions delete {session} --yes"


def _problems(session: WholeSession, last: int) -> Iterator[str]:
    sequences = [sequence for sequence, *_ in session.entries]
    wanted = list(range(1, len(sequences) + 1))
    if sequences != wanted or not sequences:
        gap = next((one for one, other in zip(wanted, sequences, strict=True) if one != other), len(sequences) + 1)
        yield f"session {session.id}: entry {gap} is missing"
        return
    if sequences[-1] != last:
        yield f"session {session.id}: its last entry should be {last}, and is {sequences[-1]}"
    entries = []
    for sequence, at, elapsed, events in session.entries:
        try:
            entries.append(Entry(sequence, at, elapsed, wire.decode_events(events)))
        except ValueError as error:
            yield f"session {session.id}: entry {sequence} cannot be read ({error})"
    if len(entries) == len(sequences):
        try:
            folded(session.id, entries, Session())
        except JournalRefused as error:
            yield str(error)
    for id, item in session.items:
        try:
            if item is not None:
                wire.decode_item(item)
        except ValueError as error:
            yield f"session {session.id}: item {id} of its inbox cannot be read ({error})"


def _read_accounts(rows: Sequence[AccountRow], accounts: dict[str, Account]) -> Iterator[Finding]:
    """Add the accounts that can be read."""
    for id, body in rows:
        try:
            accounts[id] = wire.decode_account(body)
        except ValueError as error:
            yield Finding("fault", f"account {id} cannot be read ({error}): restore the journal from a backup")


def _without_turn(session: WholeSession, accounts: dict[str, Account]) -> Iterator[Finding]:
    """Find reservations of turns that have ended: an open turn settles its own when it continues."""
    holding = {id: account for id, _ in session.accounts if (account := accounts.get(id)) and account.held}
    if not holding:
        return
    try:
        entries = [Entry(number, at, elapsed, wire.decode_events(raw)) for number, at, elapsed, raw in session.entries]
        running = folded(session.id, entries, Session()).running
    except (ValueError, JournalRefused):
        # Reported already as a damaged session.
        return
    for id, account in holding.items():
        turn = read_account(id)
        if turn is None or running is None or turn.turn != running.start.number:
            yield _reserved(id, account, "its turn has ended")


def _orphans(rows: Sequence[AccountRow], accounts: dict[str, Account]) -> Iterator[Finding]:
    for id, _ in rows:
        account = accounts.get(id)
        if account is not None and account.held and read_account(id) is not None:
            yield _reserved(id, account, "its session is gone")


def _reserved(id: str, account: Account, why: str) -> Finding:
    held = ", ".join(account.held)
    way = "restore the journal from a backup, or let the budgets of this day and this month run out"
    return Finding("fault", f"account {id} holds a reservation ({held}), but {why}: {way}")


def _sums(accounts: dict[str, Account]) -> Iterator[Finding]:
    """Find accounts whose sum of reservations is not that of their own and of those below them."""
    below: defaultdict[str, Spent] = defaultdict(lambda: NOTHING)
    for account in accounts.values():
        if account.parent is not None:
            below[account.parent] = below[account.parent].plus(account.reserved)
    for id, account in accounts.items():
        wanted = below[id]
        for amount in account.held.values():
            wanted = wanted.plus(amount)
        wrong = [name for name in LIMIT_NAMES if abs(account.reserved.of(name) - wanted.of(name)) > ROUNDING]
        if wrong:
            name = wrong[0]
            yield Finding(
                "fault",
                f"account {id} counts {account.reserved.of(name):g} {name} as reserved, and requests hold "
                f"{wanted.of(name):g}: restore the journal from a backup, or let the day and the month run out",
            )
