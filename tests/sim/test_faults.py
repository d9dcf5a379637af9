"""Every planted fault is caught by the seed that its table names."""

import pytest

from sim.faults import CI_SEEDS, FAULTS, caught, read_table

SEEDS = read_table()


def test_the_table_has_every_fault_and_no_other():
    assert list(SEEDS) == [fault.name for fault in FAULTS]
    assert len(FAULTS) >= 30
    assert max(SEEDS.values()) < CI_SEEDS


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault):
    """If a change of the code or of the worlds moves a seed, `scripts/faults` writes the table anew."""
    seed = SEEDS[fault.name]
    assert caught(fault, range(seed, seed + 1)) is not None
