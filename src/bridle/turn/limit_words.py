"""Builds texts about limits for people and models: the limit, whose it is, and both numbers."""

from __future__ import annotations

from typing import Literal

from bridle.core.ids import notice_id
from bridle.core.limits import LIMITS, NOTHING, UNLIMITED, LimitName, Limits, Scope
from bridle.core.parts import Notice, ReservationRefused
from bridle.turn.active_turn import ActiveTurn

WHOSE: dict[Scope, str] = {"turn": "", "tree": "tree ", "day": "daily ", "month": "monthly "}
ABOVE = "parent turn's "


def limit_name(whose: str, name: LimitName, owner: str = "") -> str:
    """Return the name of a limit, like "Daily cost limit of tenant-7"."""
    words = f"{whose}{LIMITS[name].noun} limit{f' of {owner}' if owner else ''}"
    return words[0].upper() + words[1:]


def shared_limit(
    limit: str, name: LimitName, state: Literal["reached", "nearly reached"], spent: float, most: float
) -> str:
    """Return a headline like "Tree cost limit reached ($0.98 of $1.00)"."""
    row = LIMITS[name]
    return f"{limit} {state} ({row.amount(spent, most)} of {row.amount(most, most)})"


def too_low(refused: ReservationRefused) -> str:
    """Return the text for a limit under which not even the first request fits; empty if one does."""
    if refused.spent or refused.needs <= refused.allowed:
        return ""
    row = LIMITS[refused.limit]
    most = row.amount(refused.allowed, refused.allowed)
    needs = row.amount(refused.needs, refused.allowed)
    name = limit_name(WHOSE[refused.scope], refused.limit, refused.owner)
    return f"{name} too low for a request ({most} allowed, one may need {needs})"


async def budget_notices(active: ActiveTurn) -> list[Notice]:
    """Return the 80 % notices of budgets that this turn shares: with its tree, with the day and the month."""
    turn = active.turn
    own = turn.start.delegation is None and turn.below == NOTHING and not active.setup.limited_above
    if own and not active.setup.tree.nearly_reached(turn.spent(0.0), frozenset()):
        # Nothing else has spent from the tree, so the ledger need not be read at every step.
        return []
    found: list[Notice] = []
    id: str | None = turn.start.account
    while id is not None:
        account = await active.record.journal.account(id)
        assert account is not None
        own_limits = UNLIMITED if id == turn.start.account else account.limits
        shared: dict[Scope, Limits] = {"tree": account.tree or UNLIMITED, account.scope: own_limits}
        for scope, limits in shared.items():
            for name in limits.nearly_reached(account.spent, frozenset()):
                key = notice_id(turn.start.number, scope, name)
                limit = limit_name(ABOVE if scope == "turn" else WHOSE[scope], name, account.owner)
                text = shared_limit(limit, name, "nearly reached", account.spent.of(name), limits.of(name) or 0)
                if key not in turn.noted and all(notice.id != key for notice in found):
                    found.append(Notice(key, "budget", text, told=True))
        id = account.parent
    return found
