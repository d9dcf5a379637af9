"""Every planted fault is caught, and as a rule by the seed that its table names."""

import pytest

from sim.faults import FAULTS, SEEDS, looked_for, read_table

SHOWN = read_table()


def test_the_table_has_every_fault_and_no_other():
    assert list(SHOWN) == [fault.name for fault in FAULTS]
    assert len(FAULTS) >= 60
    assert max(SHOWN.values()) < SEEDS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    """Its seed shows it; where another Python or SQLite has moved the seed, as `scripts/faults` does, another one."""
    assert looked_for(fault, SHOWN) is not None
