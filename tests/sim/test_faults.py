"""Every planted fault is caught, and as a rule by the seed that its table names."""

import pytest

from sim.faults import FAULTS, SEEDS, looked_for, read_table
from sim.server_plan import SERVED, is_served

SHOWN = read_table()


def test_the_table_has_every_fault_and_no_other():
    assert list(SHOWN) == [fault.name for fault in FAULTS]
    assert len(FAULTS) >= 60
    assert sum(fault.served for fault in FAULTS) >= 15
    for fault in FAULTS:
        assert is_served(SHOWN[fault.name]) == fault.served
        assert SHOWN[fault.name] % SERVED < SEEDS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    """Its seed shows it; where another Python or SQLite has moved the seed, as `scripts/faults` does, another one."""
    assert looked_for(fault, SHOWN) is not None
