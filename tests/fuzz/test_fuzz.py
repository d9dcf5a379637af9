"""What fuzzing has found once stays found, and every target is tried for a moment with inputs that are new to it."""

import pytest

from fuzz.campaign import campaign, keep, tried
from fuzz.target import Target
from fuzz.targets import TARGETS

KEPT = [(name, path) for name, target in TARGETS.items() for path in target.kept()]


@pytest.mark.parametrize(("name", "path"), KEPT, ids=lambda value: getattr(value, "name", value))
def test_an_input_that_has_failed_once_is_well_now(name, path):
    failure = tried(TARGETS[name], path.read_bytes())
    assert failure is None, failure.told


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_property_of_a_target_holds_for_what_a_seed_makes(target):
    outcome = campaign(target, seed=2_026, count=target.short)
    assert outcome.failures == [], outcome.failures[0].told
    assert outcome.tried == target.short


def planted(data):
    assert b"rm" not in data or b";" not in data


def test_a_fault_that_is_planted_is_found_and_made_small_and_kept(tmp_path):
    target = Target(
        "planted", "No command is hidden.", planted, (b"git log\nls -l\n",), (b"rm", b";"), 0, folder=tmp_path
    )
    outcome = campaign(target, seed=1, count=500)
    assert [failure.data for failure in outcome.failures] in ([b"rm;"], [b";rm"])
    keep(target, outcome.failures[0])
    assert campaign(target, seed=2, count=2).failures == outcome.failures


def test_the_same_seed_tries_the_same_inputs():
    def seen(seed):
        inputs = []
        target = Target("noted", "Anything goes.", inputs.append, (b'{"a": [1, "b"]}', b"x\ny"), (b"z",), 0)
        campaign(target, seed, count=300)
        return inputs

    assert seen(1) == seen(1) != seen(2)
    assert len(set(seen(1))) > 200
