"""Types for an account's budget and its use, per day and month; accounting and enforcement are in `core.ledger`."""

from __future__ import annotations

import msgspec

from bridle.core.limits import LIMIT_NAMES, LIMITS, NOTHING, UNLIMITED, Limits, Scope, Spent

BUDGETED = tuple(name for name in LIMIT_NAMES if "day" in LIMITS[name].scopes)
"""The limits that a day and a month can have."""


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits of each day and of each month, in UTC, of one account: its cost and its tokens."""

    daily: Limits = UNLIMITED
    monthly: Limits = UNLIMITED

    def of(self, scope: Scope) -> Limits:
        """Return the limits of a day or of a month."""
        return self.daily if scope == "day" else self.monthly

    @property
    def limits_cost(self) -> bool:
        """Whether it limits the cost, which needs the price of every model."""
        return self.daily.cost is not None or self.monthly.cost is not None


class BudgetChange(msgspec.Struct, frozen=True):
    """A budget, and when it was set, in seconds since 1970."""

    budget: Budget
    at: float


class PeriodUse(msgspec.Struct, frozen=True):
    """The use of one account in one day or month: spent, reserved by open requests, and its limits."""

    spent: Spent = NOTHING
    reserved: Spent = NOTHING
    limits: Limits = UNLIMITED

    @property
    def left(self) -> Limits:
        """What new requests may still use; None where there is no limit."""
        used = self.spent.plus(self.reserved)
        given = {name: self.limits.of(name) for name in BUDGETED}
        left = {name: None if most is None else max(0, most - used.of(name)) for name, most in given.items()}
        return msgspec.structs.replace(UNLIMITED, **left)


class AccountUse(msgspec.Struct, frozen=True):
    """The use of one account today and in this month, in UTC, and its stored budget."""

    account: str
    today: PeriodUse
    month: PeriodUse
    stored: BudgetChange | None = None
    """The budget and when it was set; None if none was: the limits are then those of the settings."""

    @property
    def budget(self) -> Budget:
        """The limits in force."""
        return Budget(self.today.limits, self.month.limits)
