"""Providers behind pydantic-ai's model layer, over real sockets."""

import asyncio

import msgspec
import pytest
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from support.wire_faults import Answer, RawServer, events, sound

from bridle import Runtime, RuntimeConfig, tool
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.parts import Request
from bridle.errors import ConfigError
from bridle.model.bridge import BridgeModel, bridged, failure
from bridle.model.providers import Providers
from bridle.seams import Seams
from bridle.testing.scripted import Reply, ScriptedCall

KEY = "sk-secret-canary-0123456789"
WORK = Reply(text="Let me look.", reasoning="Hm.", calls=(ScriptedCall("look", {"name": "a"}),))
DONE = Reply(text="Done.")


class Instant(Seams):
    async def sleep(self, seconds):
        await asyncio.sleep(0)


@tool
def look(name: str) -> str:
    """Look at something."""
    return f"saw {name}"


def over_openai(server):
    return OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=server.address, api_key=KEY))


def turn(answers, make=over_openai, closing=False):
    async def work():
        async with RawServer("chat", answers) as server:
            model = BridgeModel(make(server), ModelInfo("m"), secrets=(KEY,))
            agent = AgentDefinition("build", model="m", steps=1 if closing else None)
            async with Runtime(
                RuntimeConfig(models={"m": model}, tools=[look], agents=[agent], seams=Instant())
            ) as runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
                await model.close()
                return result, server, await runtime.load(session)

    return asyncio.run(asyncio.wait_for(work(), 20))


def test_a_turn_with_thoughts_words_and_calls():
    result, server, session = turn([sound("chat", WORK), sound("chat", DONE)])
    assert (result.reason, result.text, server.problems) == ("answered", "Done.", [])
    body = msgspec.json.decode(server.bodies[1])
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][3] == {"role": "tool", "tool_call_id": "1-1-1-0-2", "content": "saw a"}
    assert "strict" not in body["tools"][0]["function"] or body["tools"][0]["function"]["strict"] is False
    requests = [part for part in session.parts.values() if isinstance(part, Request)]
    assert all(request.state.usage.total > 0 and not request.state.usage.estimated for request in requests)


@pytest.mark.parametrize(
    ("answers", "reason", "requests"),
    [
        ([Answer([b"{}"], 429, {"retry-after": "1"}, kind="application/json"), sound("chat", DONE)], "answered", 2),
        ([Answer([b"{}"], 500, kind="application/json")], "error", 6),
        ([Answer([b'{"error":{"message":"no"}}'], 401, kind="application/json")], "error", 1),
        ([Answer(events("chat", WORK)[:3], end="rst"), sound("chat", DONE)], "answered", 2),
        ([Answer(events("chat", WORK)[:3]), sound("chat", DONE)], "answered", 2),
        (
            [
                Answer(
                    [b'{"error":{"message":"maximum context length","code":"context_length_exceeded"}}'],
                    400,
                    kind="application/json",
                )
            ],
            "context_full",
            3,
        ),
    ],
    ids=["a 429 passes", "retries are ours alone", "a wrong key", "a reset", "cut off", "context full"],
)
def test_failures_become_events(answers, reason, requests):
    result, server, session = turn(answers)
    assert (result.reason, server.requests) == (reason, requests)
    assert KEY.encode() not in msgspec.json.encode(list(session.parts.values()))


def test_google_is_asked_in_its_own_wire():
    told = []

    class Google(RawServer):
        def _problems(self, body):
            told.append(msgspec.json.decode(body))
            return []

    chunk = {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12},
        "modelVersion": "scripted",
    }

    async def work():
        async with Google("chat", [Answer([b"data: " + msgspec.json.encode(chunk) + b"\n\n"])]) as server:
            provider = GoogleProvider(api_key=KEY, base_url=server.address)
            model = BridgeModel(GoogleModel("scripted", provider=provider), ModelInfo("m"), secrets=(KEY,))
            agents = [AgentDefinition("build", model="m")]
            async with Runtime(RuntimeConfig(models={"m": model}, tools=[look], agents=agents)) as runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
                await model.close()
                return result

    result = asyncio.run(asyncio.wait_for(work(), 20))
    assert (result.reason, result.text, result.tokens) == ("answered", "Done.", 12)
    assert told[0]["contents"] == [{"parts": [{"text": "go"}], "role": "user"}]


def test_a_provider_that_nobody_knows_is_named():
    with pytest.raises(ConfigError, match="nobody/x is not available"):
        bridged("nobody/x")


def test_a_provider_without_its_package_says_what_to_install():
    with pytest.raises(ConfigError, match=r"cohere/command-a is not available: .*pydantic-ai-slim\[cohere\]"):
        bridged("cohere/command-a", KEY)


def test_a_key_of_the_environment_is_used_and_not_told(tmp_path):
    environment = {"MISTRAL_API_KEY": "mistral-canary-of-the-environment"}
    providers = Providers({}, environment, tmp_path, tmp_path)
    providers.keys.file.write_text('{"mistral": {"key": "mistral-canary-that-was-stored"}}')
    with pytest.raises(ConfigError, match=r"pydantic-ai-slim\[mistral\]"):
        providers.model("mistral/mistral-large-latest")
    model = BridgeModel(None, ModelInfo("m"), secrets=tuple(environment.values()))
    told = model._clean(failure(RuntimeError("bad key mistral-canary-of-the-environment")))
    assert told.message == "RuntimeError: bad key [key]"
