"""Adds up the turns of all sessions by day, agent, model and project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.limits import NOTHING, Spent
from bridle.core.parts import TurnFinish, TurnStart
from bridle.core.states import Done, Failed
from bridle.errors import ConfigError, JournalError
from bridle.runtime.project_views import TurnsUse, UsageStats
from bridle.runtime.retention import DAY
from bridle.runtime.runtime import Runtime

MOST_DAYS = 36_500


@dataclass(kw_only=True)
class _Sum:
    turns: int = 0
    spent: Spent = NOTHING
    endings: Counter[str] = field(default_factory=Counter)

    def add(self, finish: TurnFinish, below: Spent) -> None:
        self.turns += 1
        self.spent = self.spent.plus(finish.spent.without_subagents(below))
        self.endings[finish.reason] += 1


async def usage_stats(runtime: Runtime, days: int, projects: Collection[str]) -> UsageStats:
    """Return the use of the last days, with `projects` only in these directories; raises `ConfigError`."""
    if type(days) is not int or not 0 < days <= MOST_DAYS:
        raise ConfigError(f"stats: days must be a whole number from 1 to {MOST_DAYS:,}, not {days!r}")
    sums: dict[str, dict[str, _Sum]] = {"day": {}, "agent": {}, "model": {}, "project": {}}
    since = runtime.seams.clock.wall() - days * DAY
    for row in await runtime.journal.sessions():
        if row.updated < since:
            break
        if projects and row.info.directory not in projects:
            continue
        try:
            entries = await runtime.entries(row.info.id)
        except JournalError:
            # Deleted meanwhile, or damaged; opening it reports that.
            continue
        for start, finish, below in _turns(entries):
            # A fork's copied turns count in the original session only.
            if start.at >= max(since, row.info.created - 0.01):
                day = datetime.fromtimestamp(start.at, UTC).date().isoformat()
                names = {"day": day, "agent": start.agent, "model": start.model, "project": row.info.directory}
                for title, name in names.items():
                    sums[title].setdefault(name, _Sum()).add(finish, below)
    tables = {title: {name: _use(each) for name, each in sorted(table.items())} for title, table in sums.items()}
    return UsageStats(
        account=await runtime.account(),
        days=tables["day"],
        agents=tables["agent"],
        models=tables["model"],
        projects=tables["project"],
    )


def _use(each: _Sum) -> TurnsUse:
    return TurnsUse(each.turns, each.spent, dict(each.endings.most_common()))


def _turns(entries: Iterable[Entry]) -> Iterator[tuple[TurnStart, TurnFinish, Spent]]:
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
