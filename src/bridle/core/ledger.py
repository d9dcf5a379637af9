"""Accounts and reservations: what a tree of turns may still spend, computed the same in every journal."""

from __future__ import annotations

from collections.abc import Callable

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
    """Why an amount does not fit: the limit, what fits now, and what would once other requests have settled.

    Less than nothing fits where what must be kept is more than what is left.
    """

    account: str
    limit: LimitName
    scope: Scope
    fits_now: float
    fits_later: float


TREE_LIMITS: tuple[LimitName, ...] = ("steps", "tool_calls", "tokens", "cost")
OWN_LIMITS: tuple[LimitName, ...] = ("tokens", "cost")


def post(change: Change, account_of: Callable[[str], Account | None]) -> dict[str, Account] | Shortage:
    """The rows that a change makes anew, or what is short; nothing is touched."""
    chain = _chain(change, account_of)
    own = chain[0]
    freed, actual, held = NOTHING, NOTHING, own.held
    for id, spent in change.settles:
        if id in held:
            freed, actual = freed.plus(held[id]), actual.plus(spent)
            held = {kept: amount for kept, amount in held.items() if kept != id}
    wanted, keep, taken = change.charges, NOTHING, NOTHING
    if change.reserves is not None:
        taken, keep = change.reserves.amount, change.reserves.keep
        wanted = wanted.plus(taken)
        held = {**held, change.reserves.id: taken}
    rows: dict[str, Account] = {}
    # From the root down: what the whole tree lacks is said before what one turn lacks.
    for account in reversed(chain):
        mine = account is own
        limits = change.limits if mine and change.limits is not None else account.limits
        spent = account.spent if actual is NOTHING else account.spent.plus(actual)
        reserved = account.reserved if freed is NOTHING else account.reserved.minus(freed)
        short = _short(account.id, account.tree, "tree", TREE_LIMITS, wanted, keep, spent, reserved) or _short(
            account.id, limits, "turn", OWN_LIMITS, wanted, keep, spent, reserved
        )
        if short is not None:
            return short
        rows[account.id] = Account(
            account.id,
            account.parent,
            limits,
            account.tree,
            spent if change.charges is NOTHING else spent.plus(change.charges),
            reserved if taken is NOTHING else reserved.plus(taken),
            held if mine else account.held,
        )
    return rows


def _short(
    id: str,
    limits: Limits,
    scope: Scope,
    names: tuple[LimitName, ...],
    wanted: Spent,
    keep: Spent,
    spent: Spent,
    reserved: Spent,
) -> Shortage | None:
    """The first limit that has no room for what is wanted, beside what is spent, reserved and to be kept."""
    for name in names:
        allowed = limits.of(name)
        amount = getattr(wanted, name)
        if allowed is not None and amount:
            later = allowed - getattr(spent, name) - getattr(keep, name)
            now = later - getattr(reserved, name)
            if amount > now:
                return Shortage(id, name, scope, now, later)
    return None


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
