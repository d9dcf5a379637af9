"""The limits of a turn, from settings, agent and flags, and the accounts that count its usage."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.config.limits import check_limits
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.ids import day_account_id, month_account_id, notice_id
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import ROWS, UNLIMITED, Limits, effective_cap, limits_in
from bridle.core.parts import Notice, TurnStart


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


def limits_tree_cost(settings: Settings) -> bool:
    """Return whether the cost of the whole tree, of a day or of a month is limited."""
    limits = settings.limits
    return (settings.tree.cost, limits.daily.cost, limits.monthly.cost) != (None, None, None)


def accounts_of(settings: Settings, start: TurnStart) -> tuple[Account, ...]:
    """Return the account of a turn; for a root turn, also those of the day and the month if they are limited."""
    own = msgspec.structs.replace(UNLIMITED, **{row.name: start.limits.of(row.name) for row in ROWS if row.shared})
    if start.delegation is not None:
        return (Account(start.account, start.delegation.account, own, background=start.delegation.background),)
    month, day = limits_in(settings.limits.monthly), limits_in(settings.limits.daily)
    above: tuple[Account, ...] = ()
    if month != UNLIMITED:
        above = (Account(month_account_id(start.at), None, month, scope="month"),)
    if day != UNLIMITED:
        above = (Account(day_account_id(start.at), above[0].id if above else None, day, scope="day"), *above)
    tree = TreeLimits(**msgspec.structs.asdict(settings.tree))
    return (Account(start.account, above[0].id if above else None, own, tree), *above)
