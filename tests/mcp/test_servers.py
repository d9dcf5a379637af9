"""MCP servers in a turn: real ones over both transports; some hang, flood, end, or change what they offer."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.mcp_served import listening
from support.mcp_world import OK, SERVER, World, described, habit, raw, seen, stdio
from support.paths import TESTS

from bridle import call
from bridle.config.settings import McpServer


def alive(place):
    """Processes whose folder is the project."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "cwd").readlink()).startswith(str(place)):
                found.append(entry.name)
        except OSError:
            continue
    return found


@pytest.fixture
def address():
    """A server over HTTP in a process of its own."""
    with listening(SERVER, "http") as found:
        yield found


def test_a_turn_uses_a_server_over_standard_input_and_output(place):
    world = World(place, stable=stdio())
    turn = world.turn(
        [
            call("stable_add", a=2, b=3),
            call("stable_kick"),
            call("stable_odd_name_here"),
            call("stable_variable", name="SECRET_TOKEN"),
        ],
        "Done.",
    )
    assert (turn.reason, turn.text, turn.told) == ("answered", "Done.", [])
    assert turn.states == ["Done", "Failed", "Done", "Done"]
    assert turn.outputs == ["5", "Error executing tool kick", "odd", "[unset]"]
    names, system = world.seen()
    assert {"stable_add", "resource"} <= set(names)
    assert (
        'What servers of tools say about their use:\n<server name="stable">\nFeed before riding.\n</server>' in system
    )
    assert alive(place) == []


def test_a_turn_uses_a_server_over_http_with_headers(place, address):
    world = World(place, web=McpServer(url=address, headers={"X-Stable": "key {env:SECRET_TOKEN}"}))
    turn = world.turn([call("web_add", a=2, b=3), call("web_header", name="x-stable"), call("web_kick")], "Done.")
    assert (turn.outputs, turn.told) == (["5", "key hunter2", "Error executing tool kick"], [])


def test_a_server_is_asked_about_like_any_tool(place):
    world = World(place, stable=stdio())
    world.permission = {}
    turn = world.turn(call("stable_add", a=1, b=1), "Done.")
    assert turn.outputs == ["not executed: stable_add needs a person's permission, and no person can be asked"]
    world.permission = {"stable_*": "allow"}
    assert world.turn(call("stable_add", a=1, b=1), "Done.").outputs == ["2"]
    world.permission = {"stable_*": "deny"}
    world.turn("Done.")
    assert [name for name in world.seen()[0] if name.startswith("stable")] == []


def test_tools_are_switched_off_by_a_pattern(place):
    world = World(place, stable=stdio())
    world.turn("Done.", tools={"stable_*": False, "stable_add": True})
    assert world.seen()[0] == ["stable_add", "resource"]


def test_resources_are_listed_and_read(place):
    world = World(place, stable=stdio())
    turn = world.turn(
        [
            call("resource", server="stable"),
            call("resource", server="stable", uri="stable://horses"),
            call("resource", server="x"),
        ],
        "Done.",
    )
    assert turn.outputs == [
        "stable://horses  horses",
        "Bucephalus, Rocinante",
        "There is no server 'x' (there are: stable).",
    ]


def test_known_tools_are_offered_without_starting_the_server(place):
    started = place / "started"
    world = World(place, stable=stdio(started))
    world.turn("Done.")
    assert started.read_text() == "started\n"
    world.turn("Done.")
    assert started.read_text() == "started\n"
    assert "stable_add" in world.seen()[0]
    # It is started when it is called.
    assert world.turn(call("stable_add", a=1, b=1), "Done.").outputs == ["2"]
    assert started.read_text() == "started\nstarted\n"


def test_a_server_that_hangs_delays_a_turn_by_the_wait_and_no_more(place):
    world = World(place, stable=stdio())
    world.turn("Done.")
    world.servers["slow"] = habit("hang")
    world.wait = 0.3
    turn = world.turn(call("stable_add", a=1, b=1), "Done.")
    assert (turn.reason, turn.outputs) == ("answered", ["2"])
    assert turn.told == ["mcp server slow has not answered yet: its tools are left out of this turn"]
    assert alive(place) == []


@pytest.mark.parametrize("kind", ["garbage", "endless", "notify", "ping", "answers"])
def test_a_server_that_floods_is_ended_and_the_turn_goes_on(place, kind):
    world = World(place, wild=habit(kind))
    world.wait = 15.0
    turn = world.turn("Done.")
    assert (turn.reason, turn.text) == ("answered", "Done.")
    assert len(turn.told) == 1 and turn.told[0].startswith("mcp server wild: "), turn.told
    assert "it sent more than" in turn.told[0] or "ended" in turn.told[0] or "closed" in turn.told[0].lower()
    assert alive(place) == []


def test_endless_output_on_stderr_does_not_block_a_turn(place):
    world = World(place, loud=habit("complain"))
    world.wait = 1.0
    turn = world.turn("Done.")
    assert turn.told == ["mcp server loud has not answered yet: its tools are left out of this turn"]
    assert alive(place) == []


def test_a_server_that_ends_at_once_says_why(place):
    turn = World(place, dead=habit("gone"), typo=McpServer(command=["no-such-program"])).turn("Done.")
    assert len(turn.told) == 2
    assert "no licence found" in turn.told[0]
    assert turn.told[1] == "mcp server typo: it cannot be started: there is no program no-such-program"


def test_a_server_that_cannot_be_started_for_any_reason_says_why(place):
    turn = World(place, lost=stdio(folder="~no-such-user/project")).turn("Done.")
    assert len(turn.told) == 1
    assert turn.told[0].startswith("mcp server lost: it cannot be started: '~no-such-user/project' is not a path")


def test_a_server_that_ends_in_a_call_is_started_again_a_few_times(place):
    started = place / "started"
    leave = f'os._exit(3) if asked["params"]["name"] == "leave" else {OK}'
    count = f"open({str(started)!r}, 'a').write('started ')"
    world = World(place, stable=raw(place, described(("leave", "Ends."), ("stay", "Stays.")), leave, count))
    turn = world.turn(call("stable_leave"), call("stable_stay"), "Done.")
    assert (turn.states, turn.outputs[1]) == (["Failed", "Done"], "ok")
    assert started.read_text() == "started started "
    turn = world.turn(*[call("stable_leave") for _ in range(2)], call("stable_stay"), "Done.")
    assert turn.outputs[-1] == "ok"


def test_a_call_that_takes_too_long_fails_and_the_server_can_be_used_again(place):
    world = World(place, stable=stdio(seconds=1.0))
    turn = world.turn(call("stable_wait", seconds=1.6), call("stable_add", a=1, b=1), "Done.")
    assert turn.states == ["Failed", "Done"]


def test_changed_definitions_wait_for_a_persons_word(place):
    world = World(place, stable=stdio())

    async def play():
        async with world.runtime(call("stable_grow"), "Grown.") as runtime:
            first = await world.prompted(runtime)
            while runtime.servers.links["stable"].pin.offered is None:
                await asyncio.sleep(0.02)
            world.model._replies = world.model._replies[1:]
            second = await world.prompted(runtime)
            before = world.seen()[0]
            runtime.servers.accept("stable")
            third = await world.prompted(runtime)
            return first, second, before, third, world.seen()[0]

    first, second, before, third, after = asyncio.run(play())
    assert (first.outputs, first.told) == (["grown"], [])
    assert (second.outputs, second.told) == (
        [],
        [
            "mcp server stable has changed its offer since you accepted it (add: changed, saddle: new). The changes "
            "are left out until you review them with `bridle mcp approve stable`"
        ],
    )
    assert "stable_add" not in before and "stable_saddle" not in before and "stable_kick" in before
    assert third.told == []
    assert "stable_add" in after and "stable_saddle" in after


def test_a_tool_that_changes_in_the_middle_of_a_turn_is_not_called(place):
    turn = World(place, stable=stdio()).turn(
        call("stable_grow"), call("stable_wait", seconds=1.5), call("stable_add", a=1, b=1), "Done."
    )
    assert turn.outputs == [
        "grown",
        "done",
        "stable: add has changed since it was accepted. A person has to review it: `bridle mcp approve stable`",
    ]


def test_a_local_server_runs_in_the_sandbox(place):
    outside = place / "outside"
    world = World(place, stable=seen(place, environment={"GIVEN": "{env:SECRET_TOKEN}"}))
    world.mode = "required"
    turn = world.turn(
        [
            call("stable_touch", path=str(outside)),
            call("stable_touch", path=str(place / "project" / "inside")),
            call("stable_variable", name="GIVEN"),
        ],
        "Done.",
    )
    assert turn.states == ["Failed", "Done", "Done"]
    assert turn.outputs[2] == "hunter2"
    assert not outside.exists() and (place / "project" / "inside").exists()
    assert alive(place) == []


@pytest.mark.parametrize("mode", ["off", "required"])
def test_no_server_outlives_a_killed_bridle(place, mode):
    called = place / "project" / "called"
    program = f"""
import asyncio, sys
sys.path[:0] = {[str(TESTS)]!r}
from pathlib import Path
from support.mcp_world import World, seen
from bridle import call
place = Path({str(place)!r})
world = World(place, stable=seen(place))
world.mode = {mode!r}
world.turn([call("stable_touch", path={str(called)!r}), call("stable_wait", seconds=600)], "never")
"""
    # What it leaves behind goes with the test.
    environment = {**os.environ, "TMPDIR": str(place)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not called.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert called.exists() and alive(place)
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while alive(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(place) == []


def test_a_damaged_file_of_pins_is_named_and_breaks_nothing(place):
    data = place / "home" / ".local" / "share" / "bridle"
    data.mkdir(parents=True)
    (data / "mcp.json").write_text("{nonsense")
    turn = World(place, stable=stdio()).turn("Done.")
    assert turn.reason == "answered"
    assert all("mcp.json: cannot be read" in text for text in turn.told) and turn.told
