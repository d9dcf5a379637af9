"""The limits of a turn from settings, agent and flags, and the accounts on which it is counted."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.config.limits import check_limits
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.ids import day_account_id, month_account_id, notice_id
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import Account, TreeLimits
from bridle.core.limits import Limits, effective_cap
from bridle.core.parts import Notice, TurnStart


def turn_limits(
    settings: Settings, options: TurnOptions, agent: AgentDefinition, number: int
) -> tuple[Limits, int, tuple[Notice, ...]]:
    """Return the limits of a turn, its step cap and notices about them; raises `ConfigError` for nonsense."""
    flags: dict[str, Any] = {str(name): value for name, value in options.limits.items()}
    asked = flags.pop("steps", None)
    steps = asked if asked is not None else agent.steps
    steps = agent.limits.steps if steps is None else steps
    steps = settings.behavior.max_steps if steps is None else steps
    ceiling = settings.behavior.ceiling
    notices: tuple[Notice, ...] = ()
    if steps is not None and steps > ceiling:
        text = f"{steps} steps were asked for; the ceiling is {ceiling}"
        notices = (Notice(notice_id(number, "ceiling"), "ceiling", text),)
    given, delegation = settings.limits, options.delegation
    calls = given.tool_calls if delegation is None else given.subagent_tool_calls
    default = Limits(None, calls, given.tokens, given.cost, given.seconds)
    limits = Limits(**flags).over(agent.limits).over(default)
    if delegation is not None:
        limits = limits.at_most(Limits(seconds=delegation.seconds))
    check_limits("this turn", msgspec.structs.replace(limits, steps=steps))
    cap = effective_cap(steps, ceiling)
    if cap == 0:
        # An agent that only talks makes no calls that could be counted.
        limits = msgspec.structs.replace(limits, tool_calls=None)
    return limits, cap, notices


def limits_tree_cost(settings: Settings) -> bool:
    """Return whether money is limited for the whole tree, for a day or for a month."""
    limits = settings.limits
    return (settings.tree.cost, limits.daily.cost, limits.monthly.cost) != (None, None, None)


def accounts_of(settings: Settings, start: TurnStart) -> tuple[Account, ...]:
    """Return the account of a turn, and those of the day and the month above a root turn if they are limited."""
    own = Limits(tokens=start.limits.tokens, cost=start.limits.cost)
    if start.delegation is not None:
        return (Account(start.account, start.delegation.account, own, background=start.delegation.background),)
    given = settings.limits
    above: tuple[Account, ...] = ()
    if given.monthly.cost is not None:
        above = (Account(month_account_id(start.at), None, Limits(cost=given.monthly.cost), scope="month"),)
    if given.daily.cost is not None:
        month = above[0].id if above else None
        above = (Account(day_account_id(start.at), month, Limits(cost=given.daily.cost), scope="day"), *above)
    tree = TreeLimits(**msgspec.structs.asdict(settings.tree))
    return (Account(start.account, above[0].id if above else None, own, tree), *above)
