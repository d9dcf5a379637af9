"""`bridle stats`: usage by day, agent and model with a plot, and the rest of the daily and monthly limits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from bridle.core.budget import BUDGETED, PeriodUse
from bridle.core.limits import LIMITS
from bridle.runtime import Runtime
from bridle.runtime.project_views import TurnsUse
from bridle.surfaces.cli.commands import with_runtime
from bridle.surfaces.cli.output import say
from bridle.surfaces.shared.limit_levels import used_words

WIDTH = 40
MOST_DAYS = 31
EIGHTHS = " ▏▎▍▌▋▊▉"


@with_runtime
async def stats(
    runtime: Runtime, days: Annotated[int, typer.Option(help="Number of days to include.", min=1, max=36_500)] = 7
) -> None:
    """Show usage by day, agent and model, and the rest of daily and monthly limits.

    Example: bridle stats --days 30
    """
    found = await runtime.stats(days)
    for words, period in (("today", found.account.today), ("this month", found.account.month)):
        say(f"{words}: {', '.join(_left(period)) or 'no limit is set'}")
    for title, table in (("day", found.days), ("agent", found.agents), ("model", found.models)):
        if table:
            say()
        for name, used in table.items():
            endings = ", ".join(f"{count} {reason}" for reason, count in used.endings.items())
            say(f"{title} {name}: {', '.join([f'{used.turns} turns', *used_words(used.spent)])} ({endings})")
        if title == "day" and table:
            say("\n".join(["", *_plot(table, days)]))


def _left(period: PeriodUse) -> Iterable[str]:
    """Yield the used amount of each limit of a day or a month, and the rest."""
    for name in BUDGETED:
        limit, spent, row = period.limits.of(name), period.spent.of(name), LIMITS[name]
        if limit is not None:
            rest = max(0.0, limit - spent)
            if row.unit == "dollars":
                yield f"{row.exact(spent)} used, {row.exact(rest)} left of ${limit:.2f}"
            else:
                yield f"{spent:,} {row.units} used, {rest:,} left of {limit:,}"


def _plot(table: dict[str, TurnsUse], days: int) -> Iterable[str]:
    """Yield a bar per day: cost if there is any, else tokens."""
    money = any(used.spent.cost for used in table.values())
    today = datetime.now(UTC).date()
    shown = [today - timedelta(days=back) for back in range(min(days, MOST_DAYS) - 1, -1, -1)]
    spent = {day: table.get(day.isoformat(), TurnsUse()).spent for day in shown}
    amounts = {day: each.cost if money else float(each.tokens) for day, each in spent.items()}
    most = max(amounts.values()) or 1.0
    for day, amount in amounts.items():
        words = f"${amount:.4f}" if money else f"{amount:,.0f} tokens"
        yield f"{day:%m-%d} {_bar(amount / most):<{WIDTH}} {words if amount else '-'}"


def _bar(share: float) -> str:
    whole, eighth = divmod(round(share * WIDTH * 8), 8)
    return "█" * whole + EIGHTHS[eighth].strip()
