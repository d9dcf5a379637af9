"""Budget accounting for journals: `post` adds spending, reservations and subagents to accounts, or refuses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from bridle.core.budget import Budget
from bridle.core.limits import NOTHING, ROWS, UNLIMITED, Bound, LimitName, Limits, Scope, Spent
from bridle.errors import BridleError


class TreeLimits(Limits, frozen=True, omit_defaults=True):
    """Limits that all turns under a root share, and the allowed number of subagents.

    `live` counts subagents that work or await a person; one that awaits its own lends its place to the first of them.
    """

    depth: int = 1
    live: int = 4
    total: int = 32


class Account(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the ledger: spending and reservations of a turn and everything below it; on a root, the tree's limits.

    `held` are the account's own reservations by id. `kept` is the amount that its own closing request will need while
    it awaits subagents. `reserved` and `keeps` are these sums with everything below it included. `children` are its own
    running subagents, `beside` those in the background. `live` and `total` are counted on the root alone. A turn that
    is itself in the `background` is lent no place.
    """

    id: str
    parent: str | None = None
    limits: Limits = UNLIMITED
    tree: TreeLimits | None = None
    spent: Spent = NOTHING
    reserved: Spent = NOTHING
    held: dict[str, Spent] = {}
    scope: Scope = "turn"
    kept: Spent = NOTHING
    keeps: Spent = NOTHING
    children: int = 0
    live: int = 0
    total: int = 0
    beside: int = 0
    background: bool = False
    owner: str = ""  # The name whose day or month it is; empty for the user's, and for a turn.


class Reservation(msgspec.Struct, frozen=True):
    """The worst case of a request in progress; `keep` must be left over for the closing request."""

    id: str
    amount: Spent
    keep: Spent = NOTHING


class AccountChange(msgspec.Struct, frozen=True):
    """The change that one append makes to the ledger, in the same transaction, to one account and its ancestors."""

    account: str
    opens: tuple[Account, ...] = ()
    settles: tuple[tuple[str, Spent], ...] = ()
    limits: Limits | None = None
    reserves: Reservation | None = None
    charges: Spent = NOTHING
    keeps: Spent | None = None
    """The amount kept for the closing request from now on; the account's own reservation ends the previous one."""
    starts: int = 0
    """Subagents that get a place; negative if they return it unused."""
    beside: int = 0  # How many of these are in the background.
    closes: bool = False
    """The turn ends: its place and the amount that it kept become free."""


class Shortage(msgspec.Struct, frozen=True):
    """Why an amount does not fit: the limit, the room now, and the room once other requests have settled.

    The room is negative where more must be kept than is left.
    """

    account: str
    limit: Bound
    scope: Scope
    fits_now: float
    fits_later: float
    spent: float = 0.0
    allowed: float = 0.0
    owner: str = ""


class BudgetRefused(BridleError):
    """The ledger has no room for a reservation, a charge or a subagent."""

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(f"no room for {shortage.limit} in account {shortage.account}")
        self.shortage = shortage


@lru_cache(maxsize=1_000)
def _bounds(limits: Limits) -> tuple[tuple[LimitName, float], ...]:
    """Return the limits to check: all that a tree counts, or those that a turn shares. Called at every request."""
    whole_tree = isinstance(limits, TreeLimits)
    rows = (row for row in ROWS if ("tree" in row.scopes if whole_tree else row.shared))
    return tuple((row.name, allowed) for row in rows if (allowed := limits.of(row.name)) is not None)


def post(
    change: AccountChange, account_of: Callable[[str], Account | None], budget_of: Callable[[str], Budget | None]
) -> dict[str, Account]:
    """Return the new rows that a change produces; raises `BudgetRefused`, and changes nothing itself."""
    chain = _chain(change, account_of, budget_of)
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
    kept = _kept(change, own)
    rows: dict[str, Account] = {}
    # From the root down, so that a shortage of the tree is reported before one of a single turn.
    for account in reversed(chain):
        mine = account is own
        limits = change.limits if mine and change.limits is not None else account.limits
        spent = account.spent.plus(actual)
        reserved = account.reserved.minus(freed)
        others = account.keeps.minus(own.kept)
        if wanted is not NOTHING:
            used = (spent, keep, others)
            if account.tree is not None:
                _check_room(account, account.tree, "tree", wanted, used=used, reserved=reserved)
            # For a subagent, the budget of a turn above it is the tree's.
            scope: Scope = "tree" if account.scope == "turn" and not mine else account.scope
            _check_room(account, limits, scope, wanted, used=used, reserved=reserved)
        rows[account.id] = msgspec.structs.replace(
            account,
            limits=limits,
            spent=spent.plus(change.charges),
            reserved=reserved.plus(taken),
            held=held if mine else account.held,
            kept=kept if mine else account.kept,
            keeps=others.plus(kept),
        )
    if change.starts or change.closes:
        _count_places(change, chain, rows)
    return rows


def _kept(change: AccountChange, own: Account) -> Spent:
    """Return the amount that the account keeps for its closing request after the change."""
    if change.keeps is not None:
        return change.keeps
    return NOTHING if change.reserves is not None or change.closes else own.kept


def _check_room(
    account: Account, limits: Limits, scope: Scope, wanted: Spent, *, used: tuple[Spent, Spent, Spent], reserved: Spent
) -> None:
    """Raise `BudgetRefused` for the first limit without room for the wanted amount."""
    for name, allowed in _bounds(limits):
        amount = getattr(wanted, name)
        # An amount of zero needs no room, even if none is left.
        if amount:
            spent, keep, others = used
            later = allowed - (getattr(spent, name) + getattr(keep, name) + getattr(others, name))
            now = later - getattr(reserved, name)
            if amount > now:
                had, owner = getattr(spent, name), account.owner
                short = Shortage(account.id, name, scope, now, later, spent=had, allowed=allowed, owner=owner)
                raise BudgetRefused(short)


def _count_places(change: AccountChange, chain: list[Account], rows: dict[str, Account]) -> None:
    """Count subagents that were started, given up or ended in the rows; raises `BudgetRefused`."""
    turns = [account for account in chain if account.scope == "turn"]
    own, root = turns[0], turns[-1]
    if change.starts:
        tree = root.tree or TreeLimits()
        if root.total + change.starts > tree.total:
            room = tree.total - root.total
            raise BudgetRefused(Shortage(root.id, "total", "tree", room, room))
        taken = _taken(own, root, change.starts, change.beside)
        if taken > 0 and root.live + taken > tree.live:
            room = tree.live - root.live + change.starts - taken
            raise BudgetRefused(Shortage(root.id, "live", "tree", room, room))
        _more(rows, own.id, children=change.starts, beside=change.beside)
        _more(rows, root.id, live=taken, total=max(0, change.starts))
    if change.closes and own is not root:
        parent, beside = turns[1], -1 if own.background else 0
        _more(rows, parent.id, children=-1, beside=beside)
        _more(rows, root.id, live=_taken(parent, root, -1, beside))


def places(children: int, beside: int, *, lends: bool) -> int:
    """Return the places that subagents take: a waiting turn lends its place to the first that is not `beside` it."""
    return beside + max(0, children - beside - 1) if lends else children


def _taken(account: Account, root: Account, children: int, beside: int) -> int:
    """Return how many more places are taken once the account has this many more subagents."""
    lends = account is not root
    after = places(account.children + children, account.beside + beside, lends=lends)
    return after - places(account.children, account.beside, lends=lends)


def _more(rows: dict[str, Account], id: str, **counts: int) -> None:
    row = rows[id]
    rows[id] = msgspec.structs.replace(row, **{name: getattr(row, name) + by for name, by in counts.items()})


def _chain(
    change: AccountChange, account_of: Callable[[str], Account | None], budget_of: Callable[[str], Budget | None]
) -> list[Account]:
    """Return the account and its ancestors, from turn to month; reopened accounts keep their sums.

    Days and months that the change opens have the stored budget of their owner, if there is one.
    """
    opened = {account.id: account for account in change.opens} if change.opens else {}
    chain: list[Account] = []
    id: str | None = change.account
    while id is not None:
        account = account_of(id)
        if id in opened:
            fresh = opened[id]
            if fresh.owner and (budget := budget_of(fresh.owner)) is not None:
                fresh = msgspec.structs.replace(fresh, limits=budget.of(fresh.scope))
            kept = account and msgspec.structs.replace(account, limits=fresh.limits, parent=fresh.parent)
            account = kept or fresh
        assert account is not None, id
        chain.append(account)
        id = account.parent
    return chain
