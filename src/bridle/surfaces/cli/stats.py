"""`bridle stats`: usage by day, agent and model with a plot, and the rest of the daily and monthly limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.limits import NOTHING, Spent
from bridle.core.parts import TurnFinish, TurnStart
from bridle.core.states import Done, Failed
from bridle.errors import BridleError
from bridle.runtime import Runtime
from bridle.surfaces.cli.commands import with_runtime
from bridle.surfaces.cli.output import say
from bridle.surfaces.shared.limit_levels import used_words

WIDTH = 40
MOST_DAYS = 31
EIGHTHS = " ▏▎▍▌▋▊▉"


@dataclass(kw_only=True)
class Used:
    """Usage of several turns; a subagent's usage counts only in its own turns."""

    turns: int = 0
    spent: Spent = NOTHING
    endings: Counter[str] = field(default_factory=Counter)

    def add(self, finish: TurnFinish, below: Spent) -> None:
        self.turns += 1
        self.spent = self.spent.plus(finish.spent.without_subagents(below))
        self.endings[finish.reason] += 1


@with_runtime
async def stats(
    runtime: Runtime, days: Annotated[int, typer.Option(help="Number of days to include.", min=1, max=36_500)] = 7
) -> None:
    """Show usage by day, agent and model, and the rest of daily and monthly limits.

    Example: bridle stats --days 30
    """
    for words, spent, limit in await runtime.allowances():
        left = f"${max(0.0, limit - spent):.4f} left of ${limit:.2f}" if limit is not None else ""
        say(f"{words}: " + (f"${spent:.4f} used, {left}" if left else "no limit is set"))
    for title, table in (await _gathered(runtime, days)).items():
        if table:
            say()
        for name, used in sorted(table.items()):
            endings = ", ".join(f"{count} {reason}" for reason, count in used.endings.most_common())
            say(f"{title} {name}: {', '.join([f'{used.turns} turns', *used_words(used.spent)])} ({endings})")
        if title == "day" and table:
            say("\n".join(["", *_plot(table, days)]))


def _plot(table: dict[str, Used], days: int) -> Iterable[str]:
    """Yield a bar per day: cost if there is any, else tokens."""
    money = any(used.spent.cost for used in table.values())
    today = datetime.now(UTC).date()
    shown = [today - timedelta(days=back) for back in range(min(days, MOST_DAYS) - 1, -1, -1)]
    spent = {day: table.get(day.isoformat(), Used()).spent for day in shown}
    amounts = {day: each.cost if money else float(each.tokens) for day, each in spent.items()}
    most = max(amounts.values()) or 1.0
    for day, amount in amounts.items():
        words = f"${amount:.4f}" if money else f"{amount:,.0f} tokens"
        yield f"{day:%m-%d} {_bar(amount / most):<{WIDTH}} {words if amount else '-'}"


def _bar(share: float) -> str:
    whole, eighth = divmod(round(share * WIDTH * 8), 8)
    return "█" * whole + EIGHTHS[eighth].strip()


async def _gathered(runtime: Runtime, days: int) -> dict[str, dict[str, Used]]:
    tables: dict[str, dict[str, Used]] = {"day": {}, "agent": {}, "model": {}}
    since = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for row in await runtime.sessions():
        if row.updated < since:
            break
        try:
            entries = await runtime.entries(row.info.id)
        except BridleError:
            # Skip sessions that cannot be read.
            continue
        for start, finish, below in _turns(entries):
            # A fork's copied turns count in the original session only.
            if start.at >= max(since, row.info.created - 0.01):
                day = datetime.fromtimestamp(start.at, UTC).date().isoformat()
                for title, name in (("day", day), ("agent", start.agent), ("model", start.model)):
                    tables[title].setdefault(name, Used()).add(finish, below)
    return tables


def _turns(entries: Iterable[Entry]) -> Iterable[tuple[TurnStart, TurnFinish, Spent]]:
    """Yield every finished turn, undone or not, with the usage of its subagents."""
    start: TurnStart | None = None
    below = NOTHING
    for event in (event for entry in entries for event in entry.events):
        if isinstance(event, CallMoved) and isinstance(event.state, (Done, Failed)) and event.state.report is not None:
            below = below.plus(event.state.report.spent)
        elif isinstance(event, PartPut) and isinstance(event.part, TurnStart):
            start, below = event.part, NOTHING
        elif isinstance(event, PartPut) and isinstance(event.part, TurnFinish) and start is not None:
            yield start, event.part, below
