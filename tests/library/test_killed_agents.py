"""An agent with dependencies, a typed output and an approval, killed at many points and finished by another process."""

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.mortal_shop import POINTS, Receipt, buy
from support.paths import TESTS

UNKNOWN = "The process died while this call was running. Its outcome is unknown"
SAID = {"reserve": "corner holds tea", "pay": "paid 500"}


def kill(folder, point):
    """Run the agent in a process that dies at this point."""
    command = [sys.executable, "-m", "support.mortal_shop", folder]
    killed = subprocess.run(command, cwd=TESTS, env={**os.environ, "DIES_AT": point}, check=False, timeout=60)
    return killed.returncode


def effects(folder, name):
    """The calls in which a tool has had its effect."""
    path = folder / name
    return path.read_text().split() if path.exists() else []


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder for each point, in which a process has died there."""
    folders = {point: tmp_path_factory.mktemp("killed") for point in POINTS}
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(kill, folders.values(), folders)) == {-signal.SIGKILL}
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_another_process_finishes_the_turn_and_repeats_no_call(killed, point):
    folder = killed[point]
    before = {name: effects(folder, name) for name in SAID}
    result = asyncio.run(buy(folder))
    assert (result.reason, result.session, result.output) == ("answered", "p1", Receipt("tea", "corner", 500))
    moment, _, died_in = point.partition(" ")
    texts = {message.name: message.text for message in result.messages if getattr(message, "name", "") in SAID}
    for name, said in SAID.items():
        cut = died_in == name
        assert texts[name].startswith(UNKNOWN if cut else said)
        # A call that was cut off has had its effect, or has not; it never has it again.
        assert len(effects(folder, name)) == (0 if cut and moment == "before" else 1)
        assert effects(folder, name)[: len(before[name])] == before[name]
