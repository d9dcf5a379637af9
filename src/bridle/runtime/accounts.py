"""Stores the budgets of named accounts in the journal, and reports their use; `core.ledger` decides on spending."""

from __future__ import annotations

import logging

from bridle.assembly.limits import budget_in
from bridle.config.limits import check_budget
from bridle.core.budget import BUDGETED, AccountUse, Budget, BudgetChange, PeriodUse
from bridle.core.ids import day_account_id, month_account_id
from bridle.core.limits import LIMITS, Limits
from bridle.errors import ConfigError
from bridle.runtime.argument_checks import fitting, plain_name
from bridle.runtime.runtime import Runtime

LOG = logging.getLogger(__name__)


async def set_budget(runtime: Runtime, account: str, budget: Budget) -> None:
    """Store the budget of an account; every process keeps it from its next reservation on. Raises `ConfigError`."""
    account = plain_name("set_budget: account", account)
    if not account:
        where = "[limits.daily] and [limits.monthly] of the settings"
        raise ConfigError(f"set_budget: account must not be empty: the user's own limits are {where}")
    check_budget("set_budget: budget", fitting("set_budget: budget", budget, Budget))
    if await runtime.journal.set_budget(account, BudgetChange(budget, runtime.seams.clock.wall())):
        LOG.info("budget of %s: daily %s, monthly %s", account, _words(budget.daily), _words(budget.monthly))


def _words(limits: Limits) -> str:
    given = ((name, limits.of(name)) for name in BUDGETED)
    return " and ".join(LIMITS[name].bound(most) for name, most in given if most is not None) or "unlimited"


async def account_use(runtime: Runtime, account: str) -> AccountUse:
    """Return the use and the budget of an account; an empty name is that of the runtime. Raises `ConfigError`."""
    owner = plain_name("account", account) or runtime.turns.account
    stored = await runtime.journal.budgets(owner) if owner else []
    budget, now = stored[0].budget if stored else budget_in(runtime.settings), runtime.seams.clock.wall()
    return AccountUse(
        owner,
        await _period(runtime, day_account_id(now, owner), budget.daily),
        await _period(runtime, month_account_id(now, owner), budget.monthly),
        stored[0] if stored else None,
    )


async def _period(runtime: Runtime, id: str, limits: Limits) -> PeriodUse:
    row = await runtime.journal.account(id)
    return PeriodUse(limits=limits) if row is None else PeriodUse(row.spent, row.reserved, limits)
