"""Accounts and reservations: what a tree of turns may still spend, computed the same in every journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bridle.core.limits import NOTHING, UNLIMITED, LimitName, Limits, Spent
from bridle.core.parts import Scope


class Account(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the ledger: a turn's tokens and cost with everything below it, and the tree's limits on a root."""

    id: str
    parent: str | None = None
    limits: Limits = UNLIMITED
    tree: Limits = UNLIMITED
    spent: Spent = NOTHING
    reserved: Spent = NOTHING


class Reservation(msgspec.Struct, frozen=True):
    """The worst case of a request that is under way; `keep` is what must be left for the closing request."""

    id: str
    account: str
    amount: Spent
    keep: Spent = NOTHING


class Charge(msgspec.Struct, frozen=True):
    """Something that is spent at once, such as the start of a call."""

    account: str
    amount: Spent


class Change(msgspec.Struct, frozen=True):
    """What one append does to the ledger, in the same transaction."""

    opens: Account | None = None
    reserves: Reservation | None = None
    settles: tuple[tuple[str, Spent], ...] = ()
    charges: Charge | None = None
    amends: tuple[str, Limits] | None = None


class Shortage(msgspec.Struct, frozen=True):
    """Why an amount does not fit: the limit, what fits now, and what would once other requests have settled."""

    account: str
    limit: LimitName
    scope: Scope
    fits_now: float
    fits_later: float


def shortage(chain: Sequence[Account], amount: Spent, keep: Spent) -> Shortage | None:
    """The first account, from the root down, that has no room for the amount."""
    for account in reversed(chain):
        scope: Scope = "turn" if account.parent is not None or account.tree == UNLIMITED else "tree"
        found = _short(account, account.tree, scope, ("steps", "tool_calls", "tokens", "cost"), amount, keep)
        found = found or _short(account, account.limits, "turn", ("tokens", "cost"), amount, keep)
        if found is not None:
            return found
    return None


def _short(
    account: Account, limits: Limits, scope: Scope, names: Sequence[LimitName], amount: Spent, keep: Spent
) -> Shortage | None:
    if limits is UNLIMITED or limits == UNLIMITED:
        return None
    for name in names:
        allowed = limits.of(name)
        wanted = getattr(amount, name)
        if allowed is None or not wanted:
            continue
        later = allowed - getattr(account.spent, name) - getattr(keep, name)
        now = later - getattr(account.reserved, name)
        if wanted > now:
            return Shortage(account.id, name, scope, max(0, now), max(0, later))
    return None


class Postings(msgspec.Struct, frozen=True):
    """What a change makes of the ledger's rows."""

    accounts: dict[str, Account]
    added: Reservation | None
    removed: tuple[str, ...]


def post(
    change: Change,
    account_of: Callable[[str], Account | None],
    reservation_of: Callable[[str], Reservation | None],
) -> Postings | Shortage:
    """The rows after a change, or what is short; nothing is touched."""
    rows: dict[str, Account] = {}

    def chain(id: str | None) -> list[Account]:
        found: list[Account] = []
        while id is not None:
            account = rows.get(id) or account_of(id)
            assert account is not None, id
            found.append(account)
            id = account.parent
        return found

    if change.opens is not None and account_of(change.opens.id) is None:
        rows[change.opens.id] = change.opens
    removed = []
    for id, actual in change.settles:
        held = reservation_of(id)
        if held is not None:
            removed.append(id)
            for account in chain(held.account):
                rows[account.id] = msgspec.structs.replace(
                    account, reserved=account.reserved.minus(held.amount), spent=account.spent.plus(actual)
                )
    if change.amends is not None:
        id, limits = change.amends
        rows[id] = msgspec.structs.replace(chain(id)[0], limits=limits)
    if change.reserves is not None:
        accounts = chain(change.reserves.account)
        short = shortage(accounts, change.reserves.amount, change.reserves.keep)
        if short is not None:
            return short
        for account in accounts:
            rows[account.id] = msgspec.structs.replace(account, reserved=account.reserved.plus(change.reserves.amount))
    if change.charges is not None:
        accounts = chain(change.charges.account)
        short = shortage(accounts, change.charges.amount, NOTHING)
        if short is not None:
            return short
        for account in accounts:
            rows[account.id] = msgspec.structs.replace(account, spent=account.spent.plus(change.charges.amount))
    return Postings(rows, change.reserves, tuple(removed))
