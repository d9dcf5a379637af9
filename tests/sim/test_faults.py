"""Every planted fault is caught by the seed that its table names."""

import pytest

from sim.faults import FAULTS, SEEDS, caught, read_table

SHOWN = read_table()


def test_the_table_has_every_fault_and_no_other():
    assert list(SHOWN) == [fault.name for fault in FAULTS]
    assert len(FAULTS) >= 60
    assert max(SHOWN.values()) < SEEDS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    """If a change of the code or of the worlds moves a seed, `scripts/faults` writes the table anew."""
    seed = SHOWN[fault.name]
    assert caught(fault, range(seed, seed + 1)) is not None
