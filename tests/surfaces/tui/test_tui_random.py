"""Nothing that a person does at random crashes the terminal application; `scripts/keys` does it for longer."""

import asyncio

import pytest
from support.random_person import RandomPerson


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_random_act_during_turns_crashes_or_hangs_the_application(seed):
    asyncio.run(asyncio.wait_for(RandomPerson(seed).live(acts=150), 240))
