"""What was used, day by day, and what is left."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from bridle.core.parts import TurnFinish, TurnStart
from bridle.errors import BridleError
from bridle.runtime import Runtime
from bridle.surfaces.cli.text import plain


@dataclass(slots=True)
class Used:
    """What turns have used."""

    turns: int = 0
    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    endings: Counter[str] = field(default_factory=Counter)

    def add(self, finish: TurnFinish) -> None:
        self.turns += 1
        self.steps += finish.spent.steps
        self.calls += finish.spent.tool_calls
        self.tokens += finish.spent.tokens
        self.cost += finish.spent.cost
        self.endings[finish.reason] += 1


def stats(
    days: Annotated[int, typer.Option(help="How many days back.", min=1, max=36_500)] = 7,
) -> None:
    """Show what was used, by day, agent and model, and what is left of the limits of a day and a month.

    Example: bridle stats --days 30
    """
    asyncio.run(_stats(days))


async def _stats(days: int) -> None:
    async with Runtime.open() as runtime:
        for words, spent, limit in await runtime.allowances():
            left = "no limit is set" if limit is None else f"${max(0.0, limit - spent):.4f} left of ${limit:.2f}"
            typer.echo(f"{words}: ${spent:.4f} used, {left}" if limit is not None else f"{words}: {left}")
        tables = await _gathered(runtime, days)
    for title, table in tables.items():
        if table:
            typer.echo("")
        for name, used in sorted(table.items()):
            endings = ", ".join(f"{count} {reason}" for reason, count in used.endings.most_common())
            counts = f"{used.turns} turns, {used.steps} steps, {used.calls} calls, {used.tokens} tokens"
            typer.echo(plain(f"{title} {name}: {counts}, ${used.cost:.4f} ({endings})"))


async def _gathered(runtime: Runtime, days: int) -> dict[str, dict[str, Used]]:
    tables: dict[str, dict[str, Used]] = {"day": {}, "agent": {}, "model": {}}
    since = (datetime.now(UTC) - timedelta(days=days)).timestamp()
    for row in await runtime.sessions():
        if row.updated < since:
            break
        try:
            session = await runtime.load(row.info.id)
        except BridleError:
            # A session that cannot be read has nothing to add.
            continue
        start: TurnStart | None = None
        for part in session.parts.values():
            if isinstance(part, TurnStart):
                start = part
            elif isinstance(part, TurnFinish) and start is not None and start.at >= since:
                day = datetime.fromtimestamp(start.at, UTC).date().isoformat()
                for title, name in (("day", day), ("agent", start.agent), ("model", start.model)):
                    tables[title].setdefault(name, Used()).add(part)
    return tables
