"""Seeds that nobody has seen: other ones each day, and the same for whoever looks on that day."""

from __future__ import annotations

import os
from datetime import UTC, datetime

FRESH = 30
DAY = "SIMULATION_DAY"
"""The variable with the day, as 2026-01-31: a run that passes midnight keeps its seeds, and a past one comes back."""


def fresh_seeds() -> range:
    """The seeds of the day: its date as one number, and three more digits."""
    day = os.environ.get(DAY) or datetime.now(UTC).date().isoformat()
    first = int(day.replace("-", "")) * 1_000
    return range(first, first + FRESH)
