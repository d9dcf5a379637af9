"""Seeds that nobody has seen: other ones each day, and the same for whoever looks on that day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from sim.server_plan import SERVED

FRESH = 30
FRESH_SERVED = 10
DAY = "SIMULATION_DAY"
"""The variable with the day, as 2026-01-31: a run that passes midnight keeps its seeds, and a past one comes back."""


def fresh_seeds() -> range:
    """The seeds of the day: its date as one number, and three more digits."""
    first = _day() * 1_000
    return range(first, first + FRESH)


def fresh_served_seeds() -> range:
    """Those of the day for worlds on a server: its date without the century, and two more digits."""
    first = SERVED + _day() % 1_000_000 * 100
    return range(first, first + FRESH_SERVED)


def _day() -> int:
    return int((os.environ.get(DAY) or datetime.now(UTC).date().isoformat()).replace("-", ""))
