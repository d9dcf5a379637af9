"""Accounts and reservations: what a tree of turns may still spend, computed the same in every journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bridle.core.limits import NOTHING, UNLIMITED, LimitName, Limits, Spent
from bridle.core.parts import Scope


class Account(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the ledger: what a turn and everything below it has spent and holds, and a root's limits for all.

    `held` are the account's own reservations by id; `reserved` is their sum with those of everything below it.
    """

    id: str
    parent: str | None = None
    limits: Limits = UNLIMITED
    tree: Limits = UNLIMITED
    spent: Spent = NOTHING
    reserved: Spent = NOTHING
    held: dict[str, Spent] = {}


class Reservation(msgspec.Struct, frozen=True):
    """The worst case of a request that is under way; `keep` is what must be left for the closing request."""

    id: str
    amount: Spent
    keep: Spent = NOTHING


class Change(msgspec.Struct, frozen=True):
    """What one append does to the ledger, in the same transaction; all of it to one account and its ancestors."""

    account: str
    opens: Account | None = None
    settles: tuple[tuple[str, Spent], ...] = ()
    limits: Limits | None = None
    reserves: Reservation | None = None
    charges: Spent = NOTHING


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


def post(change: Change, account_of: Callable[[str], Account | None]) -> dict[str, Account] | Shortage:
    """The rows that a change makes anew, or what is short; nothing is touched."""
    chain = _chain(change, account_of)
    own = chain[0]
    if change.limits is not None:
        own = msgspec.structs.replace(own, limits=change.limits)
    freed, actual, held = NOTHING, NOTHING, own.held
    for id, spent in change.settles:
        if id in held:
            freed, actual = freed.plus(held[id]), actual.plus(spent)
            held = {kept: amount for kept, amount in held.items() if kept != id}
    if change.reserves is not None:
        held = {**held, change.reserves.id: change.reserves.amount}
    chain[0] = msgspec.structs.replace(own, held=held)
    chain = [_moved(account, freed=freed, spent=actual) for account in chain]
    taken = change.reserves.amount if change.reserves is not None else NOTHING
    keep = change.reserves.keep if change.reserves is not None else NOTHING
    short = shortage(chain, taken.plus(change.charges), keep)
    if short is not None:
        return short
    return {account.id: _moved(account, reserved=taken, spent=change.charges) for account in chain}


def _chain(change: Change, account_of: Callable[[str], Account | None]) -> list[Account]:
    """The account and its ancestors, from the turn up to the root."""
    chain: list[Account] = []
    id: str | None = change.account
    while id is not None:
        account = account_of(id)
        if account is None and change.opens is not None and change.opens.id == id:
            account = change.opens
        assert account is not None, id
        chain.append(account)
        id = account.parent
    return chain


def _moved(account: Account, *, freed: Spent = NOTHING, reserved: Spent = NOTHING, spent: Spent) -> Account:
    if freed is NOTHING and reserved is NOTHING and spent is NOTHING:
        return account
    left = account.reserved.minus(freed).plus(reserved)
    return msgspec.structs.replace(account, reserved=left, spent=account.spent.plus(spent))
