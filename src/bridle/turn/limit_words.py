"""What people and models read about a limit: its name, whose it is, and both numbers."""

from __future__ import annotations

from typing import Literal

from bridle.core.ids import notice_id
from bridle.core.limits import NOTHING, LimitName, Limits, Spent
from bridle.core.parts import Notice, ReservationRefused
from bridle.core.states import Scope
from bridle.turn.active_turn import ActiveTurn

NOUNS: dict[LimitName, str] = {
    "steps": "step",
    "tool_calls": "tool call",
    "tokens": "token",
    "cost": "cost",
    "seconds": "time",
}
WHOSE: dict[Scope, str] = {"turn": "", "tree": "tree ", "day": "daily ", "month": "monthly "}
ABOVE = "parent turn's "
SMALL_DOLLARS = 0.1
"""Limits below this are told with four decimals."""


def shared_limit(
    whose: str, name: LimitName, state: Literal["reached", "nearly reached"], spent: float, most: float
) -> str:
    """ "Tree cost limit reached ($0.98 of $1.00)"."""
    words = f"{whose}{NOUNS[name]} limit {state} ({amount(name, spent, most)} of {amount(name, most, most)})"
    return words[0].upper() + words[1:]


def too_low(refused: ReservationRefused) -> str:
    """What is said of a limit under which not even the first request fits; empty if one does."""
    if refused.spent or refused.needs <= refused.allowed:
        return ""
    most = amount(refused.limit, refused.allowed, refused.allowed)
    needs = amount(refused.limit, refused.needs, refused.allowed)
    name = f"{WHOSE[refused.scope]}{NOUNS[refused.limit]}"
    return f"{name[0].upper()}{name[1:]} limit too low for a request ({most} allowed, one may need {needs})"


def amount(name: LimitName, value: float, most: float) -> str:
    """A number with its unit; money in the decimals that its limit needs."""
    if name == "cost":
        return f"${value:.4f}" if most < SMALL_DOLLARS else f"${value:.2f}"
    return f"{value:.0f} s" if name == "seconds" else f"{value:.0f}"


async def budget_notices(active: ActiveTurn) -> list[Notice]:
    """The 80 % notices of budgets that this turn shares: with its tree, with the day and the month."""
    turn = active.turn
    alone = Spent(turn.steps, turn.tool_calls, turn.tokens, turn.cost)
    own = turn.start.delegation is None and turn.below == NOTHING and not active.setup.tree_cost
    if own and not active.setup.tree.nearly_reached(alone, frozenset()):
        # Nothing else has spent from the tree, so that the ledger need not be read at every step.
        return []
    found: list[Notice] = []
    id: str | None = turn.start.account
    while id is not None:
        account = await active.record.journal.account(id)
        assert account is not None
        shared: list[tuple[Scope, Limits | None]] = [("tree", account.tree)]
        if id != turn.start.account:
            shared.append((account.scope, account.limits))
        for scope, limits in shared:
            for name in limits.nearly_reached(account.spent, frozenset()) if limits is not None else ():
                key = notice_id(turn.start.number, scope, name)
                whose = ABOVE if scope == "turn" else WHOSE[scope]
                most = limits.of(name) if limits is not None else None
                text = shared_limit(whose, name, "nearly reached", getattr(account.spent, name), most or 0)
                if key not in turn.noted and all(notice.id != key for notice in found):
                    found.append(Notice(key, "budget", text, told=True))
        id = account.parent
    return found
