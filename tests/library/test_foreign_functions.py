"""Unusual functions of a program: partials, hidden coroutines, odd exceptions, parameters with defaults."""

import asyncio
import functools
import threading

import pytest

from bridle import Agent, ConfigError, FunctionModel, Hooks, Retry, ScriptedModel, call, tool

ANSWERS = [call("structured_output", value=1), call("structured_output", value=5)]


def called(function):
    """The result that the model reads for a call of a tool."""
    agent = Agent(model=ScriptedModel([call("odd"), "went on"]), tools=[tool(name="odd", timeout_seconds=20)(function)])
    result = agent.run_sync("go")
    assert (result.reason, result.output) == ("answered", "went on")
    return next(message.text for message in result.messages if hasattr(message, "failed"))


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Strange(BaseException):
    pass


def raising(error):
    def odd() -> str:
        raise error

    return odd


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StopIteration("over"), "odd failed: RuntimeError: StopIteration: over"),
        (Strange("x"), "odd failed: RuntimeError: Strange: x"),
        (KeyboardInterrupt(), "odd failed: RuntimeError: KeyboardInterrupt: "),
        (SystemExit(3), "odd failed: RuntimeError: exit 3"),
        (Speechless(), "odd failed: Speechless: its text cannot be made: ValueError"),
        (
            ExceptionGroup("two", [OSError("a"), ValueError("b")]),
            "odd failed: ExceptionGroup: OSError: a; ValueError: b",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_exception_of_a_plain_tool_ends_its_call_and_not_the_turn(error, said):
    assert called(raising(error)) == said


def test_a_decorator_may_hide_that_a_tool_is_asynchronous():
    async def odd() -> str:
        await asyncio.sleep(0)
        return "awaited"

    @functools.wraps(odd)
    def hidden():
        return odd()

    assert called(hidden) == "awaited"


def within(value: int, low: int = 3) -> int:
    if value < low:
        raise Retry("too low")
    return value


@pytest.mark.parametrize("check", [within, functools.partial(within, low=3)], ids=["default", "partial"])
def test_a_parameter_with_a_default_is_no_place_for_the_context(check):
    assert Agent(model=ScriptedModel(ANSWERS), output=int, check=check).run_sync("go").output == 5


def test_a_hook_may_have_a_parameter_with_a_default():
    seen = []

    def remember(moment, log=seen):
        log.append(moment.tool)

    def odd() -> str:
        return "x"

    model = ScriptedModel([call("odd"), "done"])
    assert Agent(model=model, tools=[odd], hooks=[Hooks(before_call=remember)]).run_sync("go").output == "done"
    assert seen == ["odd"]


def test_a_plain_check_runs_beside_the_event_loop():
    """The check waits for something that only the loop can do."""
    answered = threading.Event()

    def check(value: int) -> int:
        assert answered.wait(20)
        return value

    async def work():
        agent = Agent(model=ScriptedModel([call("structured_output", value=5)]), output=int, check=check)
        asyncio.get_running_loop().call_later(0.05, answered.set)
        return (await agent.run("go")).output

    assert asyncio.run(work()) == 5


@pytest.mark.parametrize("error", [Speechless(), Strange("x"), StopIteration()], ids=lambda error: type(error).__name__)
def test_any_exception_of_a_check_rejects_the_answer(error):
    errors = [error]

    def check(value: int) -> int:
        if errors:
            raise errors.pop()
        return value

    result = Agent(model=ScriptedModel(ANSWERS), output=int, check=check).run_sync("go")
    assert (result.output, result.steps) == (5, 2)


def test_a_coroutine_of_run_sync_that_calls_run_sync_is_told_and_a_plain_tool_may():
    inner = Agent("inner", model=ScriptedModel(["one", "two"]))

    @tool
    async def waits() -> str:
        """Wait for itself."""
        return inner.run_sync("go").output

    @tool
    def plain() -> str:
        """Run another agent."""
        return inner.run_sync("go").output

    agent = Agent(model=ScriptedModel([[call("waits"), call("plain")], "done"]), tools=[waits, plain])
    texts = [message.text for message in agent.run_sync("go").messages if hasattr(message, "failed")]
    assert "ConfigError: run_sync was called by a coroutine of another run_sync" in texts[0]
    assert texts[1] == "one"


@pytest.mark.parametrize("event", ["text", 5, None, {"text": "x"}], ids=repr)
def test_a_model_that_yields_no_stream_event_is_an_error_that_says_so_at_once(event):
    class Careless:
        async def stream(self, request):
            yield event

    result = Agent(model=Careless()).run_sync("go")
    assert result.reason == "error"
    assert f"the model yielded {event!r}, which is no stream event" in result.detail


def test_a_function_that_is_no_async_generator_makes_no_model():
    result = Agent(model=FunctionModel(lambda request: "Hello!")).run_sync("go")
    assert "the function of a FunctionModel is an async generator: this one returned 'Hello!'" in result.detail


def test_a_switch_for_a_tool_that_no_agent_has_is_refused():
    @tool
    def send() -> str:
        """Send."""
        return "sent"

    scout = Agent("scout", description="Scouts.", model=ScriptedModel([]), tools=[tool(name="look")(lambda: "x")])
    model = ScriptedModel(["done"])
    agent = Agent(model=model, tools=[send], subagents=[scout])
    with pytest.raises(ConfigError, match=r"run: tools: there is no tool 'sned' \(known: look, send, task\)"):
        agent.run_sync("go", tools={"sned": False})
    agent.run_sync("go", tools={"send": False, "look": False, "web*": False})
    assert [spec.name for spec in model.requests[0].tools] == ["task"]
