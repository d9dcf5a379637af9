"""Tests may forbid requests to models; secrets of providers do not show."""

import asyncio
import os

import pytest

from bridle import Agent, ConfigError, Reply, Runtime, RuntimeConfig, ScriptedModel, Settings, forbid_requests
from bridle.config.load import load
from bridle.config.settings import McpServer
from bridle.testing.scripted import Scenario
from bridle.testing.server import ScriptedServer
from bridle.values.provider import FORBID_REQUESTS, Provider

LOCAL = Settings(providers={"ours": Provider(wire="chat", base_url="http://127.0.0.1:9/v1", auth="none")})


@pytest.mark.parametrize("model", ["anthropic/claude-opus-4-7", "ours/m", "mistral/large", "ollama/qwen3"])
def test_a_model_that_would_send_requests_is_refused_by_name(model):
    agent = Agent(model=model, settings=LOCAL)
    with forbid_requests():
        with pytest.raises(ConfigError, match=rf"{model}: requests to models are forbidden here .*override\(model="):
            agent.run_sync("go")
        with agent.override(model=ScriptedModel(["fine"])):
            assert agent.run_sync("go").output == "fine"
    assert FORBID_REQUESTS not in os.environ


def test_fallbacks_are_refused_too():
    with forbid_requests(), pytest.raises(ConfigError, match="openai/gpt-5: requests to models are forbidden"):
        Agent(model=[ScriptedModel(["fine"]), "openai/gpt-5"]).run_sync("go")


def test_a_plain_call_holds_until_it_is_taken_back_and_nests():
    forbidden = forbid_requests()
    with forbid_requests():
        pass
    with pytest.raises(ConfigError):
        Agent(model="openai/gpt-5").run_sync("go")
    forbidden.allow()
    forbidden.allow()
    assert FORBID_REQUESTS not in os.environ


def test_scripted_servers_of_the_process_are_allowed_while_they_run():
    async def main():
        async with ScriptedServer(Scenario([], Reply(text="served"))) as server:
            provider = Provider(wire="chat", base_url=f"{server.address}/v1", auth="none")
            agent = Agent(model="ours/m", settings=Settings(providers={"ours": provider}))
            result = await agent.run("go")
        with pytest.raises(ConfigError, match="ours/m: requests to models are forbidden"):
            await agent.run("go")
        return result

    with forbid_requests():
        assert asyncio.run(main()).output == "served"


def test_what_looks_for_models_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv(FORBID_REQUESTS, "1")

    async def main():
        async with Runtime(RuntimeConfig()) as runtime:
            with pytest.raises(ConfigError, match="the choice of a default model: requests to models are forbidden"):
                await runtime.prompt(await runtime.create(), "go")
            with pytest.raises(ConfigError, match="the list of models"):
                runtime.models.reachable()
            with pytest.raises(ConfigError, match="the check of a key for openai"):
                await runtime.models.login("openai", "sk-1")

    asyncio.run(main())
    # It is no setting, although its name begins like one.
    assert load(tmp_path, environment={"HOME": str(tmp_path), FORBID_REQUESTS: "1"}).settings == Settings()


def test_a_runtime_obeys_the_variable_in_the_environment_that_it_is_given():
    agent = Agent(model="openai/gpt-5")

    async def main():
        config = RuntimeConfig(environment={FORBID_REQUESTS: "1"}, agents=[agent.definition])
        async with Runtime(config) as runtime:
            await runtime.prompt(await runtime.create(), "go", options=agent.turn_options)

    with pytest.raises(ConfigError, match="openai/gpt-5: requests to models are forbidden"):
        asyncio.run(main())


def test_keys_do_not_show_in_the_text_of_settings():
    provider = Provider(
        wire="chat", base_url="https://me:hunter2@host/v1", key="very-secret", headers={"x-api-key": "very-secret"}
    )
    server = McpServer(url="https://host", client_secret="very-secret", headers={"authorization": "very-secret"})
    settings = Settings(providers={"ours": provider}, mcp={"tools": server})
    for shown in (repr(settings), str(provider), f"{server}", repr(RuntimeConfig(settings=settings))):
        assert "very-secret" not in shown
        assert "hunter2" not in shown
    assert repr(Provider(wire="chat", key="k", headers={"a": "b"})) == (
        "Provider(wire='chat', headers={'a': '[hidden]'}, key='[hidden]')"
    )
    with pytest.raises(ConfigError) as refused:
        Agent(model="ours/m", settings=Settings(providers={"ours": Provider(key="very-secret")})).run_sync("go")
    assert "very-secret" not in str(refused.value)
