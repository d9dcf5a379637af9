"""Resolves the limits of one turn from flags, agent and settings, and its budget accounts: turn, day and month."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.config.limits import check_limits
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.budget import Budget
from bridle.core.ids import day_account_id, month_account_id, notice_id
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import ROWS, UNLIMITED, Limits, effective_cap, limits_in
from bridle.core.parts import Notice, TurnStart
from bridle.journal.journal import Journal


def turn_limits(
    settings: Settings, options: TurnOptions, agent: AgentDefinition, number: int
) -> tuple[Limits, tuple[Notice, ...]]:
    """Return the limits of a turn and notices about them; raises `ConfigError` for invalid values."""
    flags: dict[str, Any] = {str(name): value for name, value in options.limits.items()}
    given, delegation = settings.limits, options.delegation
    default = msgspec.structs.replace(limits_in(given), steps=settings.behavior.max_steps)
    if delegation is not None:
        default = msgspec.structs.replace(default, tool_calls=given.subagent_tool_calls)
    limits = Limits(**flags).over(Limits(steps=agent.steps)).over(agent.limits).over(default)
    if delegation is not None:
        limits = limits.at_most(Limits(seconds=delegation.seconds))
    check_limits("this turn", limits)
    steps, ceiling = limits.steps, settings.behavior.ceiling
    notices: tuple[Notice, ...] = ()
    if steps is not None and steps > ceiling:
        text = f"{steps} steps were requested; the ceiling is {ceiling}"
        notices = (Notice(notice_id(number, "ceiling"), "ceiling", text),)
    limits = msgspec.structs.replace(limits, steps=effective_cap(steps, ceiling))
    if limits.steps == 0:
        # Without steps there are no tool calls to count.
        limits = msgspec.structs.replace(limits, tool_calls=None)
    return limits, notices


def budget_in(settings: Settings) -> Budget:
    """Return the budget of the user, and of every account that has none of its own."""
    return Budget(limits_in(settings.limits.daily), limits_in(settings.limits.monthly))


async def limits_cost_above(journal: Journal, account: str) -> bool:
    """Return whether this account or one above it limits the cost."""
    row = await journal.account(account)
    while row is not None:
        if row.limits.cost is not None or (row.tree is not None and row.tree.cost is not None):
            return True
        row = await journal.account(row.parent) if row.parent is not None else None
    return False


def accounts_of(settings: Settings, start: TurnStart) -> tuple[Account, ...]:
    """Return the account of a turn; for a root turn, also those of the day and the month that pay for it.

    Those of the user are needed only if they are limited; a named account may get a budget while the turn runs.
    """
    own = msgspec.structs.replace(UNLIMITED, **{row.name: start.limits.of(row.name) for row in ROWS if row.shared})
    if start.delegation is not None:
        return (Account(start.account, start.delegation.account, own, background=start.delegation.background),)
    budget, owner = budget_in(settings), start.owner
    above: tuple[Account, ...] = ()
    if owner or budget.monthly != UNLIMITED:
        above = (Account(month_account_id(start.at, owner), None, budget.monthly, scope="month", owner=owner),)
    if owner or budget.daily != UNLIMITED:
        day, parent = day_account_id(start.at, owner), above[0].id if above else None
        above = (Account(day, parent, budget.daily, scope="day", owner=owner), *above)
    tree = TreeLimits(**msgspec.structs.asdict(settings.tree))
    return (Account(start.account, above[0].id if above else None, own, tree), *above)
