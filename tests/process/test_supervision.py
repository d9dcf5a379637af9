"""No process that a call started outlives the call, its abort, or Bridle itself."""

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from pathlib import Path

import pytest

from bridle import Agent, ScriptedModel, call
from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import SandboxSettings
from bridle.errors import ToolFailed
from bridle.process.output_stream import SUPERVISOR, OutputStream
from bridle.tools.command_setup import CommandSetup
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Invocation

BASH = next(tool for tool in builtin_tools() if tool.spec.name == "bash")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
"""How often each way to flee is tried; `scripts/owned` tries many more."""

FLIGHTS = {
    "in the background": "sleep {mark} &",
    "in a session of its own": "setsid sleep {mark} &",
    "twice forked": "(setsid sh -c 'sleep {mark} & exit' &) ; true",
    "without a terminal": "nohup sleep {mark} >/dev/null 2>&1 &",
    "deaf to signals": "(trap '' TERM INT HUP; sleep {mark}; sleep {mark}) &",
    "stopped": "sleep {mark} & kill -STOP $!",
    "holding the output": "setsid sh -c 'exec sleep {mark}' & disown",
    "from another program": "{python} -c '{forks}'",
    "many at once": "for i in $(seq 20); do setsid sleep {mark} & done",
    "in a chain": "setsid sh -c 'setsid sh -c \"setsid sleep {mark} & sleep {mark}\" & sleep {mark}' &",
}

FORKS = "import os, time; os.fork() or (os.setsid(), os.fork(), time.sleep({mark}))"


@pytest.fixture(scope="module", autouse=True)
def temporary(tmp_path_factory):
    """What whoever is killed leaves behind goes with the folders of the tests."""
    folder = str(tmp_path_factory.mktemp("temporary"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tempfile, "tempdir", folder)
        patched.setenv("TMPDIR", folder)
        yield


def fleeing(flight, sign):
    """A command that leaves something behind."""
    forks = FORKS.format(mark=sign)
    return FLIGHTS[flight].format(mark=sign, python=shlex.quote(sys.executable), forks=forks)


def mark():
    """A time to sleep that no other process sleeps, so that its sleepers are known by it."""
    return f"9{uuid.uuid4().int % 10**8:08d}"


def alive(sign):
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if sign.encode() in words and str(os.getpid()) != path.parent.name:
            found.append(words)
    return found


async def begun(sign):
    """Once the command sleeps itself, whatever it has sent away is on its way."""
    async with asyncio.timeout(60):
        while f"sleep\0{sign}\0".encode() not in alive(sign):
            await asyncio.sleep(0.01)


async def gone(sign, seconds=60.0):
    """Whether nobody is left within a while."""
    for _ in range(int(seconds / 0.02)):
        if not alive(sign):
            return True
        await asyncio.sleep(0.02)
    return not alive(sign)


def invocation(folder, sandbox="off"):
    commands = CommandEnvironment(SandboxSettings(mode=sandbox), os.environ)
    return sheltered(commands, folder)


def sheltered(commands, folder):
    setup = CommandSetup(directory=folder, find_sandbox=lambda: commands.sandbox("s"), bounds=commands.bounds())
    return Invocation(call="c", session="s", commands=setup)


async def run(command, folder, timeout=None, sandbox="off"):
    given = BASH.check({"command": command, "timeout": timeout})
    return await BASH.run(given, invocation(folder, sandbox))


SHUT_IN = pytest.mark.parametrize("sandbox", ["off", "required"])


@SHUT_IN
@pytest.mark.parametrize("flight", FLIGHTS)
def test_what_a_command_leaves_behind_ends_with_it(flight, sandbox, tmp_path):
    async def work():
        for _ in range(ROUNDS):
            sign = mark()
            output = await run(fleeing(flight, sign) + "\necho started", tmp_path, sandbox=sandbox)
            assert (output.text.strip(), output.failed) == ("started", False)
            assert alive(sign) == []

    asyncio.run(asyncio.wait_for(work(), 60))


@SHUT_IN
@pytest.mark.parametrize(
    "attack", ["kill -9 $PPID", "kill -STOP $PPID; kill -9 $PPID", "pkill -9 -P $PPID sleep; kill -9 $PPID"]
)
def test_a_command_that_kills_its_supervisor_does_not_set_free_what_it_started(attack, sandbox, tmp_path):
    async def work():
        for _ in range(ROUNDS):
            sign = mark()
            survived = tmp_path / sign
            flees = f"setsid sleep {sign} & (setsid sleep {sign} &)"
            task = asyncio.ensure_future(
                run(f"{flees}; {attack}; touch {survived.name}; sleep {sign}", tmp_path, sandbox=sandbox)
            )
            if sandbox == "required":
                # There the command cannot reach its supervisor, so the attack does not end the call.
                while not survived.exists():
                    await asyncio.sleep(0.01)
                task.cancel()
            await asyncio.wait([task])
            assert alive(sign) == []

    asyncio.run(asyncio.wait_for(work(), 120))


def test_a_supervisor_that_was_stopped_is_woken_to_end_what_it_keeps(tmp_path):
    async def work():
        sign = mark()
        output = await run(f"setsid sleep {sign} & kill -STOP $PPID; sleep {sign}", tmp_path, 500)
        assert "timed out" in output.text
        assert await gone(sign)

    asyncio.run(asyncio.wait_for(work(), 60))


OUTER = "$(ps -o ppid= -p $PPID)"
STOPPED = {
    "the inner one stopped, the outer one killed": f"outer={OUTER}; kill -STOP $PPID; kill -9 $outer",
    "the outer one stopped, the inner one killed": f"kill -STOP {OUTER}; kill -9 $PPID",
    "both stopped": f"kill -STOP {OUTER}; kill -STOP $PPID; exit",
    "the inner one stopped": "kill -STOP $PPID; exit",
}


@pytest.mark.parametrize("attack", STOPPED)
def test_a_command_that_stops_its_supervisors_neither_hangs_nor_sets_free_what_it_started(attack, tmp_path):
    async def work():
        sign = mark()
        flees = f"setsid sleep {sign} & (setsid sh -c 'sleep {sign} & exit' &)"
        output = await run(f"{flees}; {STOPPED[attack]}; sleep {sign}", tmp_path, 20_000)
        assert "timed out" not in output.text
        assert await gone(sign), alive(sign)

    async def rounds():
        # Together, since each waits for a supervisor that looks once a second.
        await asyncio.gather(*(work() for _ in range(ROUNDS)))

    asyncio.run(asyncio.wait_for(rounds(), 120))


def test_the_memory_of_all_processes_together_is_bounded(tmp_path):
    small = CommandEnvironment(SandboxSettings(mode="off", total_memory_mb=300), os.environ)
    call = sheltered(small, tmp_path)
    grows = f"{shlex.quote(sys.executable)} -c 'x = bytearray(b\"x\") * 150_000_000; import time; time.sleep(30)' &"
    given = BASH.check({"command": f"{grows} {grows} {grows} wait"})
    output = asyncio.run(BASH.run(given, call))
    assert "[ended: more than 300 MB of memory]" in output.text


@SHUT_IN
@pytest.mark.parametrize("flight", FLIGHTS)
def test_an_abort_ends_it_all(flight, sandbox, tmp_path):
    async def work():
        for _ in range(ROUNDS):
            sign = mark()
            task = asyncio.ensure_future(run(fleeing(flight, sign) + f"\nsleep {sign}", tmp_path, sandbox=sandbox))
            await begun(sign)
            task.cancel()
            async with asyncio.timeout(60):
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert alive(sign) == []

    asyncio.run(asyncio.wait_for(work(), 60))


def await_blocking(seconds):
    """Hold up the event loop: the world goes on without it."""
    threading.Event().wait(seconds)


def test_an_abort_while_it_starts_ends_it_too(tmp_path):
    async def work():
        for moment in range(30 * ROUNDS):
            sign = mark()
            task = asyncio.ensure_future(run(f"setsid sleep {sign} & sleep {sign}", tmp_path))
            # Any number of rounds of the event loop, and the command may be anywhere on its way, or far ahead of us.
            for _ in range(moment % 15):
                await asyncio.sleep(0)
            if moment % 2:
                await_blocking(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert alive(sign) == []

    asyncio.run(asyncio.wait_for(work(), 120))


BRIDLES = """
import json, os, sys
from bridle import Agent, ScriptedModel, call
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.permission import Rule
from bridle.tools.registry import builtin_tools
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        break
    print("began", pid, flush=True)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
else:
    sys.exit()
command, sandbox, folder = json.loads(line)
os.chdir(folder)
model = ScriptedModel([call("bash", command=command), "done"])
tools = [tool for tool in builtin_tools() if tool.spec.name == "bash"]
settings = Settings(sandbox=SandboxSettings(mode=sandbox))
Agent("a", model=model, tools=tools, permission=[Rule("*", "*", "allow")], settings=settings).run_sync("go")
"""
"""For each line a Bridle in a process of its own, and word of its beginning and its end; all load once."""


@pytest.fixture(scope="module")
def bridles():
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BRIDLES], stdin=pipe, stdout=pipe, text=True) as process:
        yield process


@SHUT_IN
@pytest.mark.parametrize("flight", FLIGHTS)
def test_nothing_survives_the_death_of_bridle(flight, sandbox, tmp_path, bridles):
    async def work():
        for _ in range(ROUNDS):
            sign = mark()
            command = fleeing(flight, sign) + f"\nsleep {sign}"
            print(json.dumps([command, sandbox, str(tmp_path)]), file=bridles.stdin, flush=True)
            word, bridle = bridles.stdout.readline().split()
            assert word == "began"
            await begun(sign)
            os.kill(int(bridle), signal.SIGKILL)
            assert bridles.stdout.readline() == "ended -9\n"
            assert await gone(sign), alive(sign)

    asyncio.run(asyncio.wait_for(work(), 120))


@pytest.mark.parametrize(
    "stops", [f"kill -STOP {OUTER} $PPID", f"kill -STOP {OUTER}", "kill -STOP $PPID"], ids=["both", "outer", "inner"]
)
def test_stopped_supervisors_end_everything_when_bridle_dies(stops, tmp_path, bridles):
    async def work():
        for _ in range(ROUNDS):
            sign = mark()
            # Bridle, the outer one's parent, is stopped too, so that it wakes nobody.
            bridle = f"$(ps -o ppid= -p {OUTER})"
            command = f"bridle={bridle}; setsid sleep {sign} & kill -STOP $bridle; {stops}; sleep {sign}"
            print(json.dumps([command, "off", str(tmp_path)]), file=bridles.stdin, flush=True)
            word, pid = bridles.stdout.readline().split()
            assert word == "began"
            await begun(sign)
            await asyncio.sleep(0.1)
            os.kill(int(pid), signal.SIGKILL)
            assert bridles.stdout.readline() == "ended -9\n"
            assert await gone(sign), alive(sign)

    asyncio.run(asyncio.wait_for(work(), 120))


def test_a_deadline_ends_it_all(tmp_path):
    async def work():
        sign = mark()
        output = await run(f"setsid sleep {sign} & echo begun; sleep {sign}", tmp_path, timeout=300)
        assert output.text == "begun\n\n\n[timed out after 0.3 s]" and output.failed
        assert alive(sign) == []

    asyncio.run(work())


@pytest.mark.parametrize(
    ("command", "words"),
    [("exit 7", "[exit status 7]"), ("kill -TERM $$", "[exit status 143]"), ("kill -9 $$", "[exit status 137]")],
)
def test_the_status_is_the_commands_own(command, words, tmp_path):
    output = asyncio.run(run(command, tmp_path))
    assert output.failed and words in output.text


def test_a_program_that_is_not_there_is_a_failure(tmp_path):
    async def work():
        return await OutputStream(["/nowhere/program"], folder=tmp_path).run(lambda words: None)

    assert asyncio.run(work()) == 127


def test_nothing_is_started_for_a_bridle_that_is_gone_already(tmp_path):
    words = [
        sys.executable,
        "-I",
        "-S",
        SUPERVISOR,
        f"parent={os.getppid()}",
        "--",
        shutil.which("touch"),
        tmp_path / "x",
    ]
    lifeline = subprocess.PIPE
    with subprocess.Popen(words, stdin=lifeline) as keeper:
        assert keeper.wait(60) == 127
    assert not (tmp_path / "x").exists()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    given = BASH.check({"command": "true", "workdir": "gone"})
    with pytest.raises(ToolFailed, match="gone is not a folder"):
        asyncio.run(BASH.run(given, invocation(tmp_path)))


def test_the_keeper_loads_nothing_of_the_project(tmp_path):
    for name in ("os", "select", "signal", "ctypes", "contextlib", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text("open('PWNED', 'w')")
    asyncio.run(run("true", tmp_path))
    assert not (tmp_path / "PWNED").exists() and SUPERVISOR.is_file()


def test_a_command_gets_no_input_and_its_own_signals(tmp_path):
    output = asyncio.run(run("cat; trap -p; yes | head -1", tmp_path))
    assert (output.text.strip(), output.failed) == ("y", False)


def test_an_agent_that_leaves_a_server_behind_is_not_held_up(tmp_path):
    sign = mark()
    model = ScriptedModel([call("bash", command=f"setsid sleep {sign} & echo up"), "done"])
    agent = Agent("a", model=model, tools=[BASH], directory=tmp_path, on_ask="allow")
    assert (agent.run_sync("go").text, alive(sign)) == ("done", [])
