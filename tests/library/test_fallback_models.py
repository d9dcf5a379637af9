"""Agents with several models: over HTTP, in trees, in streams, after a crash, and refused where a list cannot hold."""

import asyncio
import subprocess
import sys

import pytest
from support.library_fallback import NO_KEY, SESSION, agent
from support.paths import TESTS

from bridle import (
    Agent,
    ConfigError,
    Limits,
    Price,
    Reply,
    Runtime,
    RuntimeConfig,
    ScriptedError,
    ScriptedModel,
    Settings,
    call,
)
from bridle.config.settings import RetrySettings
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Request
from bridle.testing.scripted import Scenario
from bridle.testing.server import ScriptedServer
from bridle.values.provider import Provider

QUICK = RetrySettings(retries=0)


def failing(ref="first/model", **given):
    return ScriptedModel(then=NO_KEY, ref=ref, **given)


def answering(text="done", ref="second/model", **given):
    return ScriptedModel(then=text, ref=ref, **given)


def test_two_providers_over_http():
    """The first server fails beyond its retries, the second refuses the key, the third answers."""
    broken = Reply(error=ScriptedError("on fire", status=500))
    refused = Reply(error=ScriptedError("no such key", status=401))

    async def main():
        servers = [ScriptedServer(Scenario([], then)) for then in (broken, refused, Reply(text="done"))]
        async with servers[0], servers[1], servers[2]:
            given = {
                name: Provider(wire="chat", base_url=f"{server.address}/v1", auth="none")
                for name, server in zip(("one", "two", "three"), servers, strict=True)
            }
            settings = Settings(providers=given, retry=QUICK)
            agent = Agent(model=["one/m", "two/m", "three/m"], settings=settings)
            async with agent.stream("go") as stream:
                events = [event async for event in stream]
            return stream.result, events, [len(server.bodies) for server in servers]

    result, events, bodies = asyncio.run(main())
    assert (result.reason, result.output, result.steps, bodies) == ("answered", "done", 1, [1, 1, 1])
    assert list(result.models) == ["one/m", "two/m", "three/m"]
    retries = [event for event in events if type(event).__name__ == "RetryEvent"]
    assert [(event.attempt, event.model) for event in retries] == [(1, "two/m"), (1, "three/m")]
    assert "on fire" in retries[0].message
    assert "no such key" in retries[1].message
    notices = [event.text for event in events if type(event).__name__ == "NoticeEvent"]
    assert [text.rpartition("; ")[2] for text in notices] == [
        "the turn continues with two/m",
        "the turn continues with three/m",
    ]


def test_agents_of_a_tree_have_their_own_lists():
    scouts = [failing("scout/first"), answering("found", ref="scout/second")]
    scout = Agent("scout", model=scouts, description="Looks things up.")
    start = call("task", description="look", prompt="Look.", subagent_type="scout")
    lead = Agent("lead", model=[failing(), ScriptedModel([start, "done"], ref="second/model")], subagents=[scout])
    result = lead.run_sync("go")
    assert (result.reason, result.output) == ("answered", "done")
    assert list(result.models) == ["first/model", "second/model", "scout/first", "scout/second"]
    assert sum(use.tokens for use in result.models.values()) == result.tokens


def test_a_subagent_without_a_model_begins_with_the_one_that_answers_its_parent():
    start = call("task", description="look", prompt="Look.", subagent_type="scout")
    first = failing()
    second = ScriptedModel(lambda request: "found" if "." in request.session else play(request), ref="second/model")
    play = ScriptedModel([start, "done"]).reply

    async def main():
        agents = [
            AgentDefinition("lead", model="first/model", fallback=("second/model",)),
            AgentDefinition("scout"),
        ]
        models = {"first/model": first, "second/model": second}
        async with Runtime(RuntimeConfig(models=models, agents=agents, subagents=["scout"])) as runtime:
            session = await runtime.create()
            prompt = await runtime.prompt(session, "go", options=TurnOptions("lead"))
            return await runtime.wait(session, prompt)

    result = asyncio.run(main())
    assert (result.reason, len(first.requests), len(second.requests)) == ("answered", 1, 3)


def test_another_process_continues_with_the_model_that_was_asked(tmp_path):
    """The process dies while the second model is asked: the first one is not asked again."""
    path = tmp_path / "sessions.db"
    command = [sys.executable, "-m", "support.library_fallback", path]
    assert subprocess.run(command, cwd=TESTS, check=False, timeout=120).returncode == 9
    again = agent(path, answering("later"))

    async def later():
        result = await again.resume(SESSION)
        async with again.runtime() as runtime:
            state = await runtime.load(SESSION)
        return result, [part.model for part in state.parts.values() if isinstance(part, Request)]

    result, asked = asyncio.run(later())
    assert (result.reason, result.output) == ("answered", "later")
    assert asked == ["first/model", "second/model", "second/model"]


def test_override_replaces_the_whole_list():
    real = Agent("greeter", model=["anthropic/claude-opus-4-7", "openai/gpt-5"])
    with real.override(model=ScriptedModel(["Hello!"])):
        assert real.run_sync("Hi").output == "Hello!"
    with real.override(model=[failing(), answering("Hello again!")]):
        assert real.run_sync("Hi").output == "Hello again!"


def test_models_of_one_name_are_told_apart():
    result = Agent(model=[ScriptedModel(then=NO_KEY), ScriptedModel(then=NO_KEY), ScriptedModel(["third"])]).run_sync(
        "x"
    )
    assert (result.output, len(result.models)) == ("third", 3)


def test_a_run_may_name_a_list_of_its_own():
    with pytest.raises(ConfigError, match="there is no model 'b'"):
        Agent(model=answering()).run_sync("go", model=["second/model", "b"])
    with pytest.raises(ConfigError, match="run: model takes PROVIDER/MODEL"):
        Agent(model=answering()).run_sync("go", model=[answering()])


@pytest.mark.parametrize(
    ("models", "problem"),
    [
        ([], "agent lead: model: the list of models is empty"),
        (["a/b", "a/b"], "agent lead: model: a/b is listed twice"),
        ([None], "agent lead: model: None is no model"),
    ],
)
def test_lists_that_cannot_hold(models, problem):
    with pytest.raises(ConfigError, match=problem):
        Agent("lead", model=models)


def test_a_cost_limit_needs_the_price_of_every_model():
    models = [answering(price=Price(1, 1), ref="first/model"), answering()]
    with pytest.raises(ConfigError, match=r"a cost limit needs a price, and none is known for second/model"):
        Agent(model=models, limits=Limits(cost=1.0)).run_sync("go")


def test_every_model_of_a_list_must_exist():
    with pytest.raises(ConfigError, match="there is no model 'nothing'"):
        Agent(model=[answering(), "nothing"]).run_sync("go")


def test_seals_of_one_model_are_not_sent_to_another():
    """Each reply is recorded with the model that wrote it, by which the wires know whose seals they may send."""
    first = ScriptedModel([call("nothing"), NO_KEY], ref="a/a")
    result = Agent(model=[first, answering(ref="b/b")]).run_sync("go")
    writers = [message.model for message in result.messages if hasattr(message, "blocks")]
    assert writers == ["a/a", "b/b"]
