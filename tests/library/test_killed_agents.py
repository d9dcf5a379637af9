"""An agent with dependencies, hooks, a typed output and an approval, killed at many points and finished elsewhere."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.mortal_shop import HOOKS, POINTS, Receipt, agent_in, buy
from support.paths import TESTS

from bridle.core.ids import read_step_request
from bridle.core.parts import Call, Request
from bridle.core.states import Replied

UNKNOWN = "The process died while this call was running. Its outcome is unknown"
SAID = {"reserve": "corner holds green tea, stamped by corner", "pay": "paid 500, stamped by corner"}
CHANGED = {"reserve": ('{"item":"tea"}', '{"item":"green tea"}'), "pay": ('{"amount":900}', '{"amount":500}')}
STEPS = (1, 2, 3, 4)
UNFLUSHED = ("needs", "check")
"""Points right after a reply, which may not be on the disk yet. Before it asks a hook, the turn waits for the disk."""


def kill(folder, point):
    """Run the agent in a process that dies at this point."""
    command = [sys.executable, "-m", "support.mortal_shop", folder]
    killed = subprocess.run(command, cwd=TESTS, env={**os.environ, "DIES_AT": point}, check=False, timeout=60)
    return killed.returncode


def lines(folder, name):
    """What a tool or the hooks have left behind."""
    path = folder / name
    return path.read_text().split("\n")[:-1] if path.exists() else []


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder for each point, in which a process has died there."""
    folders = {point: tmp_path_factory.mktemp("killed") for point in POINTS}
    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(kill, folders.values(), folders)) == {-signal.SIGKILL}
    return folders


@pytest.fixture(scope="module")
def finished(killed):
    """Return the turn of a folder as another process has finished it, and what its tools had left before."""
    found = {}

    def finish(point):
        if point not in found:
            folder = killed[point]
            before = {name: lines(folder, name) for name in SAID}
            found[point] = before, *asyncio.run(rest(folder))
        return found[point]

    return finish


async def rest(folder):
    result = await buy(folder)
    async with agent_in(folder).runtime() as runtime:
        return result, list((await runtime.load(result.session)).parts.values())


def was_cut(point, name):
    """Whether the process died in the call of this tool: after its start and before the end was recorded."""
    moment, _, place = point.partition(" ")
    return place == name and moment in ("before", "after", "after_call")


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_another_process_finishes_the_turn_and_repeats_no_call(killed, finished, point):
    before, result, _ = finished(point)
    assert (result.reason, result.session, result.output) == ("answered", "p1", Receipt("tea", "corner", 500))
    texts = {message.name: message.text for message in result.messages if getattr(message, "name", "") in SAID}
    for name, said in SAID.items():
        assert texts[name].startswith(UNKNOWN if was_cut(point, name) else said)
        # A call that was cut off has had its effect, or has not; it never has it again.
        effects = lines(killed[point], name)
        assert len(effects) == (0 if point == f"before {name}" else 1)
        assert effects[: len(before[name])] == before[name]


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_hooks_are_asked_again_only_about_what_was_not_recorded(killed, finished, point):
    _, _, parts = finished(point)
    asked = Counter(lines(killed[point], "hooks"))
    requests = [(read_step_request(part.id).step, part.state) for part in parts if isinstance(part, Request)]
    assert sorted(step for step, state in requests if isinstance(state, Replied)) == list(STEPS)
    sent = Counter(step for step, _ in requests)
    if point not in UNFLUSHED:
        moment, _, place = point.partition(" ")
        lost = [int(place)] if moment in ("before_request", "after_request", "request", "reply") else []
        assert sent == Counter([*STEPS, *lost])
    for step in STEPS:
        # A lost reply takes the answers of the hooks about it along.
        assert asked[f"before_request {step}"] == sent[step]
        assert 1 <= asked[f"after_request {step}"] <= sent[step]
    changed = {part.name: (part.arguments, part.changed) for part in parts if isinstance(part, Call)}
    for name in SAID:
        assert changed[name] == CHANGED[name]
        assert asked[f"before_call {name}"] == (2 if point == f"before_call {name}" else 1)
        # A call whose outcome is unknown has no output to ask about.
        assert asked[f"after_call {name}"] == (0 if point in (f"before {name}", f"after {name}") else 1)
    if point in HOOKS:
        assert asked[point] == (1 if point.startswith("after_call") else 2)
