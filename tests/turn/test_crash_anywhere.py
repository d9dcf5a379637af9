"""A process may die before and after every write and every effect, and again while it recovers."""

import pytest
from support.crash import Left, check, lived, play
from support.crash_scenarios import SCENARIOS, person, script
from support.cut_process import Scenario
from support.virtual import SESSION

from bridle.core.fold import load
from bridle.core.parts import Request

QUICK = {"answer", "calls", "files kept around calls"}


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(scenario, id=scenario.name, marks=() if scenario.name in QUICK else pytest.mark.slow)
        for scenario in SCENARIOS
    ],
)
def test_a_turn_resumes_from_every_point_to_the_same_ending(scenario):
    whole, left, points = play(scenario)
    requests = sum(isinstance(part, Request) for part in load(left.store._sessions[SESSION].entries).parts.values())
    check(scenario, whole, left, (), requests)
    assert len(points) > 8
    # Deaths that leave the same behind are followed by the same life, which is lived once.
    once, twice, tried = {}, set(), set()
    for at in range(1, len(points) + 1):
        _, dead, _ = lived(scenario, Left(), 0, at)
        found = dead.told()
        if found not in once:
            result, left, second = lived(scenario, dead, 1)
            check(scenario, result, left, (at,), requests)
            once[found] = len(second)
        # A second death is tried at every third point; in trees, which have many more points, at every ninth.
        stride = 3 if scenario.child is None else 9
        for again in range(1 + at % stride, once[found] + 1, stride):
            if (found, again) in tried:
                continue
            tried.add((found, again))
            _, dead_again, _ = lived(scenario, dead, 1, again)
            if (found_again := dead_again.told()) not in twice:
                twice.add(found_again)
                result, left, _ = lived(scenario, dead_again, 2)
                check(scenario, result, left, (at, again), requests)


def test_a_step_that_kills_its_process_three_times_is_an_error():
    scenario = Scenario("deadly", script("done"), person(), ("error", 1, 0))
    _, _, points = play(scenario)
    cuts = [points.index("model before") + 1]
    for _ in range(2):
        result, _, points = play(scenario, *cuts)
        assert result.reason == "answered"
        cuts.append(points.index("model before") + 1)
    result, left, _ = play(scenario, *cuts)
    assert (result.reason, result.steps) == ("error", 1)
    assert "death of the process 3 times" in result.detail
    assert [account.held for account in left.store._accounts.values()] == [{}]
