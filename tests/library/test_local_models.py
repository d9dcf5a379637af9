"""Models of a server on this machine: what they cost, and how often the server is asked about them."""

import asyncio
from types import SimpleNamespace

import pytest

from bridle import Agent, ConfigError, Limits, Price, ScriptedModel, Settings, call
from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import ModelSettings
from bridle.model import known_windows
from bridle.model.known_windows import KnownWindows
from bridle.testing import server as testing
from bridle.testing.scripted import Scenario
from bridle.testing.server import ScriptedServer
from bridle.values.provider import Provider

REF = "sidecar/large"


@pytest.fixture
def asked(monkeypatch):
    """The GET requests to servers on loopback."""
    paths = []
    read = testing._read_request

    async def counted(reader):
        method, path, body = await read(reader)
        if method == "GET":
            paths.append(path)
        return method, path, body

    monkeypatch.setattr(testing, "_read_request", counted)
    return paths


def with_server(work, *, price=None, **more):
    """Do work with an agent whose model is on loopback, behind an address of the user's own."""

    async def play():
        async with ScriptedServer(Scenario([], "Hello.")) as server:
            models = {REF: ModelSettings(price=price)} if price is not None else {}
            settings = Settings(providers={"sidecar": Provider("chat", f"{server.address}/v1")}, models=models)
            return await work(Agent("a", model=REF, settings=settings, **more))

    return asyncio.run(play())


def test_a_cost_limit_wants_a_price_for_a_server_on_this_machine_which_may_be_a_proxy_for_paid_models():
    problem = (
        r"a cost limit needs a price, and none is known for sidecar/large: set \[models.\"sidecar/large\"\] price = "
        r"{ input = …, output = … } \(US dollars for a million tokens; { input = 0, output = 0 } if it is free\)"
    )
    with pytest.raises(ConfigError, match=problem):
        with_server(lambda agent: agent.run("hi"), limits=Limits(cost=1.0))
    free = with_server(lambda agent: agent.run("hi"), limits=Limits(cost=1.0), price=Price(0.0, 0.0))
    assert (free.reason, free.cost) == ("answered", 0.0)
    paid = with_server(lambda agent: agent.run("hi"), limits=Limits(cost=1e-9), price=Price(1_000.0, 1_000.0))
    assert paid.reason == "cost_budget"
    unlimited = with_server(lambda agent: agent.run("hi"))
    assert (unlimited.reason, unlimited.cost) == ("answered", 0.0)


def test_runs_of_one_agent_ask_a_server_for_its_models_once(asked):
    async def work(agent):
        one_after_the_other = [await agent.run("hi") for _ in range(3)]
        return [*one_after_the_other, *await asyncio.gather(*(agent.run("hi") for _ in range(3)))]

    assert [each.text for each in with_server(work)] == ["Hello."] * 6
    assert asked == ["/v1/models"]


def test_runs_at_once_ask_a_server_once(asked):
    def work(agent):
        return asyncio.gather(*(agent.run("hi") for _ in range(5)))

    assert len(with_server(work)) == 5
    assert asked == ["/v1/models"]


def test_a_server_is_asked_again_after_a_minute(monkeypatch):
    now, reports = [0.0], iter((None, 4_096, 8_192))
    monkeypatch.setattr("bridle.model.local_servers.window", lambda *_: next(reports))
    windows = KnownWindows(SimpleNamespace(monotonic=lambda: now[0]))
    found = []
    for now[0] in (0.0, known_windows.FRESH_SECONDS, 61.0, 62.0):
        found.append(windows.find("sidecar", "http://127.0.0.1:1/v1", "large"))
    assert found == [None, None, 4_096, 4_096]
    assert windows.find("sidecar", "http://127.0.0.1:1/v1", "small") == 8_192


def test_the_environment_of_commands_is_found_only_where_a_tool_needs_it(monkeypatch, tmp_path):
    made = []
    for name in ("variables", "guarded_in", "sandbox"):
        real = getattr(CommandEnvironment, name)
        monkeypatch.setattr(
            CommandEnvironment,
            name,
            lambda *given, real=real, name=name, **more: made.append(name) or real(*given, **more),
        )

    def double(number: int) -> int:
        """Double a number."""
        return number * 2

    Agent("a", model=ScriptedModel([call("double", number=2), "4"]), tools=[double]).run_sync("go")
    assert made == []
