"""An abort ends the turn in any phase, within two seconds, and the history stays valid."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.stories import tell

from bridle import Agent, Reply, Rule, ScriptedModel, call, tool
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Request, Text
from bridle.testing.scripted import ScriptedError
from bridle.tools.bash import TOOL as BASH


@tool
async def long() -> str:
    """Take long."""
    await asyncio.sleep(1_000)
    return "never"


@tool
async def quick() -> str:
    """Take no time."""
    return "done"


PHASES = [
    ("before the first word", [Reply(hang=True)], {}, []),
    ("in the middle of the text", [Reply(text="a" * 100, chunk=1, pace=0.1)], {}, []),
    ("while calls run", [[call("long"), call("quick")], "never"], {}, ["failed", "done"]),
    ("while a retry waits", [Reply(error=ScriptedError("busy", 503, {"retry-after": "60"}))], {}, []),
    ("while a person is awaited", [call("long")], {"permission": (Rule("python", "long", "ask"),)}, ["aborted"]),
    ("while the turn closes", [call("quick"), Reply(hang=True)], {"steps": 2}, ["done"]),
]


@pytest.mark.parametrize(("phase", "replies", "given", "states"), PHASES, ids=[row[0] for row in PHASES])
def test_an_abort_ends_the_turn_at_once_and_keeps_everything(phase, replies, given, states):
    waited = []

    async def people(runtime, session, prompt):
        await asyncio.sleep(3)
        begun = asyncio.get_running_loop().time()
        await runtime.abort(session)
        await runtime.parked(session)
        waited.append(asyncio.get_running_loop().time() - begun)
        assert (await runtime.status(session)).state == "idle"
        second = await runtime.prompt(session, "still there?")
        assert (await runtime.wait(session, second)).text == "Yes."

    played = iter([*replies, *["Yes."] * 9])
    model = ScriptedModel(lambda request: "Yes." if request.id.startswith("2.") else next(played))
    story = tell(model, tools=[long, quick], options=TurnOptions(on_ask="pause"), people=people, **given)
    assert (story.result.reason, story.result.exit_status) == ("aborted", 130)
    assert waited[0] < 2
    assert [state for _, state in story.calls] == states
    assert story.result.text.strip()


def test_text_that_had_come_is_kept_and_sent_on():
    async def people(runtime, session, prompt):
        await asyncio.sleep(1.05)
        await runtime.abort(session)

    story = tell(ScriptedModel([Reply(text="abcdefghijklmnop", chunk=1, pace=0.1)]), people=people)
    (text,) = story.parts(Text)
    assert "abcdefghij".startswith(text.text) and len(text.text) >= 9
    assert story.result.text == text.text


def test_a_second_abort_and_one_without_a_turn_do_no_harm():
    async def people(runtime, session, prompt):
        await asyncio.sleep(1)
        await runtime.abort(session)
        await runtime.abort(session)
        await runtime.parked(session)
        await runtime.abort(session)
        await runtime.parked(session)
        second = await runtime.prompt(session, "again")
        assert (await runtime.wait(session, second)).reason == "answered"

    model = ScriptedModel(lambda request: Reply(hang=True) if request.id.startswith("1.") else "fine")
    assert tell(model, people=people).result.reason == "aborted"


@pytest.mark.parametrize("seed", range(10))
def test_an_answer_that_was_whole_beats_an_abort_that_came_after(seed):
    async def people(runtime, session, prompt):
        await asyncio.sleep(1)
        await runtime.abort(session)

    story = tell(ScriptedModel([Reply(text="whole", delay=1)]), people=people, seed=seed)
    whole = [type(request.state).__name__ for request in story.parts(Request)] == ["Replied"]
    assert story.result.reason == ("answered" if whole else "aborted")


def test_a_command_is_ended_with_what_it_had_printed_and_leaves_no_process(tmp_path):
    command = "echo started; echo $$ > pid; sleep 300 & sleep 300"
    model = ScriptedModel([call("bash", command=command), "never"])

    async def work():
        agent = Agent(model=model, tools=[BASH], on_ask="allow", directory=tmp_path)
        async with agent.runtime() as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=agent.turn_options)
            while not (tmp_path / "pid").exists():
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.1)
            await runtime.abort(session)
            result = await asyncio.wait_for(runtime.wait(session, prompt), 60)
            return result, await runtime.load(session)

    result, session = asyncio.run(work())
    (ended,) = [part for part in session.parts.values() if isinstance(part, Call)]
    assert result.reason == "aborted"
    assert ended.state.output == "started\n\n\n[aborted]"
    assert alive_in_group(int((tmp_path / "pid").read_text())) == []


def alive_in_group(group):
    """Processes of a group that are neither buried nor waiting for it; a kill takes the kernel a moment."""
    for _ in range(6_000):
        alive = _alive_in_group(group)
        if not alive:
            break
        time.sleep(0.01)
    return alive


def _alive_in_group(group):
    alive = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                alive.append(path.parent.name)
    return alive
