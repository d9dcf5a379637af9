"""`copy_journal`: copies sessions, inboxes, ledger and budgets from one journal to another, and compares them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from bridle.core.ledger import Account
from bridle.core.limits import LIMIT_NAMES
from bridle.errors import JournalRefused
from bridle.journal.rows import AccountRow, BudgetRow, Ledger, Rows, SessionMark, WholeSession
from bridle.wire import entries as wire

MOST_NAMED = 5

Progress = Callable[[int, int], None]
"""Called with the number of sessions that are done, and of all."""


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied, and what the target had already. Everything was compared at the end."""

    sessions: int
    present: int
    entries: int
    bytes: int
    items: int
    accounts: int
    budgets: int
    changed: Sequence[str] = ()
    """Sessions that changed in the source meanwhile: the target has them as they were at the beginning."""


class _Counts:
    """Sums over the sessions that were compared."""

    def __init__(self) -> None:
        self.entries = self.bytes = self.items = self.accounts = 0

    def add(self, session: WholeSession) -> None:
        self.entries += len(session.entries)
        self.bytes += session.size
        self.items += len(session.items)
        self.accounts += len(session.accounts)


async def copy_journal(source: Rows, target: Rows, progress: Progress) -> Copied:
    """Copy what the target lacks, and compare all of it with the source, which was opened as a snapshot.

    Each session is one transaction, so that a copy that was interrupted can be started again. Raises `JournalRefused`,
    with nothing written, if a session is being driven, or if the target has other content under the same id.
    """
    marks = await source.marks()
    await _refuse_leased(source)
    await _refuse_leased(target)
    ids = [mark.id for mark in marks]
    there = [mark.id for mark in await target.marks()]
    digests = await _present(source, target, set(ids) & set(there))
    ledger = await source.ledger(ids)
    missing = _missing(ledger, await target.ledger(ids), target.place, is_own=set(there) <= set(ids))
    total = 2 * len(ids)
    # The ledger first: a session in the target must find its day and its month.
    if missing.accounts or missing.budgets:
        await target.set_ledger(missing)
    present = len(digests)
    done = present
    for id in ids:
        if id not in digests:
            session = await _read(source, id)
            if not await target.add_session(session):
                raise JournalRefused(f"{target.place}: session {id} was created there meanwhile: start the copy again")
            digests[id] = session.digest
            done += 1
        progress(done, total)
    counts = await _compare(source, target, marks, ledger=ledger, digests=digests, progress=progress)
    return Copied(
        sessions=len(ids) - present,
        present=present,
        entries=counts.entries,
        bytes=counts.bytes,
        items=counts.items,
        accounts=counts.accounts + len(ledger.accounts),
        budgets=len(ledger.budgets),
        changed=await _changed(source, marks),
    )


async def _refuse_leased(rows: Rows) -> None:
    if leased := await rows.leased():
        raise JournalRefused(
            f"{rows.place}: {_named(leased)} being driven now: wait until the turn ends, or end it with "
            f"`bridle abort {leased[0]}`, and stop workers"
        )


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
    return f"{', '.join(ids[:MOST_NAMED])}{more} {'is' if len(ids) == 1 else 'are'}"


async def _read(rows: Rows, id: str) -> WholeSession:
    session = await rows.session(id)
    if session is None:
        raise JournalRefused(f"{rows.place}: session {id} was deleted meanwhile: start the copy again")
    return session


async def _present(source: Rows, target: Rows, ids: Collection[str]) -> dict[str, bytes]:
    """Return the digests of sessions that the target has already; raises `JournalRefused` for different ones."""
    digests: dict[str, bytes] = {}
    different = []
    for id in sorted(ids):
        ours = await _read(source, id)
        if (await _read(target, id)).digest != ours.digest:
            different.append(id)
        digests[id] = ours.digest
    if different:
        raise JournalRefused(
            f"{target.place}: {_named(different)} different there; nothing was copied. If the source is right, delete "
            "there with `bridle sessions delete`, else delete in the source, and start the copy again"
        )
    return digests


def _missing(source: Ledger, target: Ledger, place: str, *, is_own: bool) -> Ledger:
    """Return what the target's ledger lacks. Rows of an older copy are replaced if the target has no other sessions.

    Raises `JournalRefused` for a row that other sessions of the target have used.
    """
    there = dict(target.accounts)
    accounts: list[AccountRow] = []
    for id, body in source.accounts:
        if id in there and there[id] != body and not (is_own and _covers(body, there[id])):
            raise JournalRefused(
                f"{place}: the spending of {id} is different there; nothing was copied. Copy into a new journal "
                "(another file, or another journal.schema), or take single sessions over with `bridle export` and "
                "`bridle import`"
            )
        if there.get(id) != body:
            accounts.append((id, body))
    budgets: list[BudgetRow] = []
    for owner in dict.fromkeys(row.owner for row in source.budgets):
        ours = [row for row in source.budgets if row.owner == owner]
        theirs = [row for row in target.budgets if row.owner == owner]
        if theirs != ours[: len(theirs)]:
            raise JournalRefused(
                f"{place}: the account {owner or 'of the user'} has other budgets there; nothing was copied. Copy into "
                "a new journal (another file, or another journal.schema)"
            )
        budgets += ours[len(theirs) :]
    return Ledger(tuple(accounts), tuple(budgets))


def _covers(newer: bytes, older: bytes) -> bool:
    """Return whether an account has at least the spending of an earlier state."""
    new, old = _account(newer), _account(older)
    return all(new.spent.of(name) >= old.spent.of(name) for name in LIMIT_NAMES)


def _account(body: bytes) -> Account:
    try:
        return wire.decode_account(body)
    except ValueError as error:
        raise JournalRefused(f"an account is damaged ({error}): see `bridle database check --deep`") from error


async def _compare(
    source: Rows,
    target: Rows,
    marks: Sequence[SessionMark],
    *,
    ledger: Ledger,
    digests: dict[str, bytes],
    progress: Progress,
) -> _Counts:
    """Read everything from the target, and compare; raises `JournalRefused` for a difference."""
    counts = _Counts()
    for done, mark in enumerate(marks, len(marks) + 1):
        session = await _read(target, mark.id)
        if session.digest != digests[mark.id]:
            raise JournalRefused(f"{target.place}: session {mark.id} is different from the source after the copy")
        counts.add(session)
        progress(done, 2 * len(marks))
    copied = await target.ledger([mark.id for mark in marks])
    if not set(ledger.accounts) <= set(copied.accounts):
        raise JournalRefused(f"{target.place}: the ledger is different from the source after the copy")
    for owner in {row.owner for row in ledger.budgets}:
        if [row for row in copied.budgets if row.owner == owner] != [
            row for row in ledger.budgets if row.owner == owner
        ]:
            raise JournalRefused(f"{target.place}: the budgets of {owner} are different from the source after the copy")
    return counts


async def _changed(source: Rows, before: Sequence[SessionMark]) -> list[str]:
    """Return the sessions that were created, changed or deleted in the source since the snapshot began."""
    await source.renew()
    after = await source.marks()
    different = set(before) ^ set(after)
    return list(dict.fromkeys(mark.id for mark in [*before, *after] if mark in different))
