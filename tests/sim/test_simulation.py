"""Many worlds, each from one seed: every invariant holds, and the same seed gives the same bytes."""

import pytest

from bridle import wire
from sim.check import check_seed
from sim.world import simulate

SEEDS = 600
SHARES = 12


@pytest.mark.parametrize("share", range(SHARES))
def test_every_invariant_holds_in_every_world(share):
    for seed in range(share, SEEDS, SHARES):
        problem, _ = check_seed(seed)
        assert not problem, f"seed {seed}: {problem}\nreplay it: scripts/simulate --seed {seed}"


def test_the_same_seed_gives_the_same_bytes():
    for seed in range(40):
        assert written(seed) == written(seed), seed


def written(seed):
    """Every byte of every session, and of the ledger."""
    store = simulate(seed).store
    sessions = {id: b"".join(map(wire.encode, kept.entries)) for id, kept in store._sessions.items()}
    return sessions, {id: wire.encode(account) for id, account in store._accounts.items()}


ENDINGS = {
    "answered": 0,
    "step_cap": 0,
    "token_budget": 0,
    "tool_budget": 4,
    "error": 5,
    "synthesized": 10,
    "tree_budget": 18,
    "doom_loop": 37,
    "denied": 44,
    "aborted": 46,
    "time_budget": 81,
    "context_full": 95,
    "empty": 101,
    "cost_budget": 127,
}


@pytest.mark.parametrize("reason", ENDINGS)
def test_the_worlds_end_in_every_way(reason):
    """A change of the worlds may move these seeds: find new ones with `scripts/simulate`."""
    assert reason in check_seed(ENDINGS[reason])[1]
