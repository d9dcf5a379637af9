"""The library as its users meet it."""

import asyncio
import subprocess
import sys
import types

import pytest

import bridle
from bridle import Agent, ConfigError, FunctionModel, Limits, Price, Reply, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.core.stream import Start, StepEnd, StreamEnd, TextDelta, ToolCall, ToolInputDelta, ToolInputStart
from bridle.testing.scripted import Scenario, ScriptedCall
from bridle.testing.server import ScriptedServer
from bridle.wire.events import DeltaEvent


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_an_agent_runs_and_says_everything_about_it():
    model = ScriptedModel([call("add", a=1, b=2), "It is 3."], price=Price(1.0, 2.0))
    result = Agent("sums", model=model, tools=[add], instructions="You add.", steps=5).run_sync("1 + 2?")
    assert (result.reason, result.text, result.steps, result.tool_calls) == ("answered", "It is 3.", 2, 1)
    assert (result.usage.input, result.tokens > 20, result.cost > 0, result.files) == (20, True, True, ())
    assert model.requests[0].system.startswith("You add.")
    assert [spec.name for spec in model.requests[0].tools] == ["add"]


def test_a_stream_brings_the_public_events_and_last_of_all_the_result():
    async def work():
        stream = Agent(model=ScriptedModel([Reply(text="one two three", chunk=4)])).stream("count")
        return [event async for event in stream], stream.result

    events, result = asyncio.run(work())
    assert (result.text, result.output) == ("one two three", "one two three")
    kinds = [type(event).__struct_config__.tag for event in events]
    assert (kinds[0], kinds[-1], kinds.count("step_start"), kinds.count("text")) == ("session", "result", 1, 1)
    assert "".join(event.text for event in events if isinstance(event, DeltaEvent)) == "one two three"
    assert (events[-1].reason, events[-1].text, events[-1].output) == ("answered", "one two three", None)


@pytest.mark.parametrize("journal", [None, "journal.db"])
@pytest.mark.parametrize("kind", ["text", "arguments"])
def test_a_stream_brings_deltas_before_the_reply_has_ended(tmp_path, journal, kind):
    heard = asyncio.Event()

    class Slow:
        """A model that goes on when its first words were heard."""

        async def stream(self, request):
            yield ToolInputStart("structured_output", "c") if kind == "arguments" else Start()
            first, *rest = '{"total":', " 3", "}"
            yield ToolInputDelta("c", first) if kind == "arguments" else TextDelta(first)
            await heard.wait()
            for piece in rest:
                yield ToolInputDelta("c", piece) if kind == "arguments" else TextDelta(piece)
            if kind == "arguments":
                yield ToolCall("structured_output", '{"total": 3}', "c")
            yield StepEnd("tool_calls" if kind == "arguments" else "stop")
            yield StreamEnd()

    async def work():
        output = dict[str, int] if kind == "arguments" else str
        agent = Agent(model=Slow(), journal=journal and tmp_path / journal, output=output)
        async with agent.stream("go") as stream:
            async for event in stream:
                if isinstance(event, DeltaEvent):
                    heard.set()
        return stream.result.output

    expected = {"total": 3} if kind == "arguments" else '{"total": 3}'
    assert asyncio.run(asyncio.wait_for(work(), 20)) == expected


def test_a_session_goes_on_in_a_journal_across_runs(tmp_path):
    path = tmp_path / "journal.db"
    first = Agent(model=ScriptedModel(["I am Bridle."]), journal=path).run_sync("who are you?")
    model = ScriptedModel(["As I said."])
    second = Agent(model=model, journal=path).run_sync("who?", session=first.session)
    assert (second.session, second.turn) == (first.session, 2)
    assert [message.text for message in model.requests[0].messages] == ["who are you?", "I am Bridle.", "who?"]


def test_cancelling_the_caller_aborts_the_turn_and_leaves_a_clean_end(tmp_path):
    path = tmp_path / "journal.db"
    agent = Agent(model=ScriptedModel([Reply(hang=True)]), journal=path)

    async def work():
        try:
            async with asyncio.timeout(0.3):
                await agent.run("go")
        except TimeoutError:
            pass
        async with Runtime(RuntimeConfig(journal=path)) as runtime:
            (row,) = await runtime.sessions()
            return (await runtime.load(row.info.id)).turn.finish

    finish = asyncio.run(work())
    assert (finish.reason, finish.detail) == ("aborted", "the caller went away")


WRONG = [
    ({"steps": -1}, "agent x: steps must not be negative, not -1"),
    ({"steps": True}, "agent x: steps must be a whole number, not True"),
    ({"steps": 1.5}, "agent x: steps must be a whole number, not 1.5"),
    ({"limits": Limits(cost=0.0)}, "agent x: cost must be more than 0: leave it out for no limit"),
    ({"limits": Limits(seconds=float("nan"))}, "agent x: seconds must be finite, not nan"),
    ({"limits": Limits(tool_calls="3")}, "agent x: tool_calls must be a whole number, not '3'"),
    ({"steps": 3, "limits": Limits(steps=4)}, "agent x: steps is 3 and limits.steps is 4; give one of them"),
]


@pytest.mark.parametrize(("given", "words"), WRONG, ids=[row[1][9:40] for row in WRONG])
def test_nonsense_limits_are_refused_by_name(given, words):
    with pytest.raises(ConfigError) as refused:
        Agent("x", model=ScriptedModel(["hi"]), **given)
    assert str(refused.value) == words


def test_limits_may_hold_the_steps():
    result = Agent(model=ScriptedModel(["closing"]), limits=Limits(steps=1)).run_sync("go")
    assert (result.reason, result.steps, result.output) == ("step_cap", 1, "closing")


def test_a_model_that_raises_is_an_error_and_not_a_traceback():
    class Raising:
        async def stream(self, request):
            raise RuntimeError("boom")
            yield

    result = Agent(model=Raising()).run_sync("go")
    assert result.reason == "error"
    assert "boom" in result.detail


def test_a_function_is_a_model_that_may_yield_text_or_events_and_is_closed_with_its_turn():
    closed = []

    async def replies(request):
        try:
            if len(request.messages) > 1:
                yield "It is"
                yield " 3."
            else:
                yield ToolCall("add", '{"a": 1, "b": 2}', "c")
        finally:
            closed.append(len(request.messages))

    async def broken(request):
        yield "It"
        raise OSError("the engine is gone")

    result = Agent(model=FunctionModel(replies), tools=[add]).run_sync("1 + 2?")
    assert (result.output, result.tool_calls, closed) == ("It is 3.", 1, [1, 3])
    failed = Agent(model=FunctionModel(broken)).run_sync("1 + 2?")
    assert (failed.reason, "the engine is gone" in failed.detail) == ("error", True)


def test_every_public_name_is_there():
    unions = {"Event", "Message", "StreamEvent"}
    assert [getattr(getattr(bridle, name), "__name__", name) for name in bridle.__all__] == bridle.__all__
    assert {name for name in bridle.__all__ if isinstance(getattr(bridle, name), types.UnionType)} == unions
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = bridle.nothing


def test_importing_bridle_loads_nothing_heavy():
    code = "import sys; before = {*sys.modules}; from bridle import Agent, Limits, Runtime, ScriptedModel, tool; "
    code += "print(*sorted({*sys.modules} - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"typer", "click", "rich", "yaml", "json_repair", "sqlite3", "httpx2", "email", "tomllib", "http"}
    # What it costs is in `bench/run costs`; a count of these modules is the same on every machine.
    assert (heavy & set(loaded), len(loaded) <= 340) == (set(), True)


def test_a_model_may_be_named_and_an_agent_says_only_what_it_was_given_to_say(tmp_path, monkeypatch):
    async def work():
        async with ScriptedServer(Scenario(["Hello."])) as server:
            monkeypatch.setenv("OPENAI_API_KEY", "sk-for-this-test")
            monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
            result = await Agent("plain", model="openai/gpt-5.5", directory=tmp_path).run("hi")
            return result, server.bodies[0]

    result, body = asyncio.run(work())
    assert (result.reason, result.text, body["model"]) == ("answered", "Hello.", "gpt-5.5")
    assert body["instructions"].startswith("Date: ")


def at_once(loop, work, **rest):
    """As `asyncio.eager_task_factory` from Python 3.12 on: a task's first steps are made before anybody knows it."""
    try:
        awaited = work.send(None)
    except StopIteration as end:
        done = loop.create_future()
        done.set_result(end.value)
        return done
    return asyncio.Task(rest_of(work, awaited), loop=loop)


@types.coroutine
def rest_of(work, awaited):
    while True:
        yield awaited
        try:
            awaited = work.send(None)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("journal", [None, "journal.db"])
def test_a_turn_goes_its_way_where_the_tasks_of_the_host_begin_at_once(tmp_path, journal, monkeypatch):
    # As on a disk so slow that syncs are made apart.
    monkeypatch.setattr("bridle.journal.sync.QUICK_SECONDS", -1.0)

    async def work():
        asyncio.get_running_loop().set_task_factory(getattr(asyncio, "eager_task_factory", at_once))
        both = Reply(calls=(ScriptedCall("add", {"a": 2, "b": 2}), ScriptedCall("add", {"a": 3, "b": 2})))
        model = ScriptedModel([call("add", a=1, b=2), both, "Done."])
        agent = Agent("sums", model=model, tools=[add], journal=journal and tmp_path / journal)
        return await asyncio.wait_for(agent.run("Add."), 60)

    result = asyncio.run(work())
    assert (result.reason, result.text, result.steps, result.tool_calls) == ("answered", "Done.", 3, 3)
