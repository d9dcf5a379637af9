"""Whole turns over real sockets, the same over every wire."""

import asyncio

import msgspec
import pytest
from support.wires import KEY, WIRES, model_of

from bridle import Runtime, RuntimeConfig, tool
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.states import Usage
from bridle.testing.scripted import Reply, Scenario, ScriptedCall
from bridle.testing.server import ScriptedServer

USAGE = Usage(input=100, output=20, reasoning=0, cache_read=50, cache_write=0)
READS = [
    Reply(
        text="Let me look.",
        reasoning="Two files, then.",
        calls=(ScriptedCall("look", {"name": "a"}), ScriptedCall("look", {"name": "b"})),
        usage=USAGE,
    ),
    Reply(reasoning="Enough.", text="a and b, seen.", usage=USAGE),
    Reply(text="As I said.", usage=USAGE),
]


@tool
def look(name: str) -> str:
    """Look at something."""
    return f"saw {name}"


def turn_over(wire, replies, *prompts, **info):
    """Results, the bodies that were sent, and the session afterwards."""

    async def work():
        async with ScriptedServer(Scenario(list(replies))) as server:
            model = model_of(wire, server.address, **info)
            async with Runtime(
                RuntimeConfig(models={"m": model}, tools=[look], agents=[AgentDefinition("build", model="m")])
            ) as runtime:
                session = await runtime.create()
                results = [await runtime.wait(session, await runtime.prompt(session, text)) for text in prompts]
                return results, server.bodies, await runtime.load(session)

    return asyncio.run(asyncio.wait_for(work(), 20))


@pytest.mark.parametrize("wire", WIRES)
def test_a_turn_with_thoughts_words_and_calls(wire):
    results, bodies, session = turn_over(wire, READS, "What is there?", "And again?", reasons=True)
    assert [(result.reason, result.text) for result in results] == [
        ("answered", "a and b, seen."),
        ("answered", "As I said."),
    ]
    assert len(bodies) == 3
    assert results[0].tokens == 2 * USAGE.total
    assert KEY not in msgspec.json.encode([msgspec.to_builtins(part) for part in session.parts.values()]).decode()


def test_chat_says_it_like_this():
    _, bodies, _ = turn_over("chat", READS, "What is there?")
    said = {"role": "assistant", "content": "Let me look."}
    calls = [
        {"id": f"1-1-1-0-{at}", "type": "function", "function": {"name": "look", "arguments": f'{{"name":"{name}"}}'}}
        for at, name in ((2, "a"), (3, "b"))
    ]
    system, *rest = bodies[1]["messages"]
    assert system["role"] == "system"
    assert rest == [
        {"role": "user", "content": "What is there?"},
        {**said, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1-1-1-0-2", "content": "saw a"},
        {"role": "tool", "tool_call_id": "1-1-1-0-3", "content": "saw b"},
    ]
    assert {key: value for key, value in bodies[1].items() if key not in ("messages", "tools")} == {
        "model": "scripted",
        "stream": True,
        "max_tokens": 8192,
        "stream_options": {"include_usage": True},
        "tool_choice": "auto",
    }


def test_anthropic_gets_its_thoughts_back_in_order_and_signed():
    _, bodies, _ = turn_over("messages", READS, "What is there?")
    assert bodies[1]["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "What is there?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two files, then.", "signature": "signed-0"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "1-1-1-0-2", "name": "look", "input": {"name": "a"}},
                {"type": "tool_use", "id": "1-1-1-0-3", "name": "look", "input": {"name": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1-1-1-0-2", "content": "saw a"},
                {"type": "tool_result", "tool_use_id": "1-1-1-0-3", "content": "saw b"},
            ],
        },
    ]
    assert [block["cache_control"] for block in bodies[1]["system"]] == [{"type": "ephemeral"}]
    assert bodies[1]["cache_control"] == {"type": "ephemeral"}


def test_responses_get_their_sealed_thoughts_back_in_their_place():
    _, bodies, _ = turn_over("responses", READS, "What is there?", reasons=True)
    assert [item.get("type", item.get("role")) for item in bodies[1]["input"]] == [
        "user",
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert bodies[1]["input"][1] == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Two files, then."}],
        "id": "rs_0",
        "encrypted_content": "sealed-0",
    }
    assert (bodies[1]["store"], bodies[1]["include"]) == (False, ["reasoning.encrypted_content"])


@pytest.mark.parametrize("wire", WIRES)
def test_the_thoughts_of_one_model_are_not_shown_to_another(wire):
    async def work():
        async with ScriptedServer(Scenario(list(READS))) as server:
            models = {ref: model_of(wire, server.address, ref=ref) for ref in ("m", "other")}
            async with Runtime(
                RuntimeConfig(models=models, tools=[look], agents=[AgentDefinition("build", model="m")])
            ) as runtime:
                session = await runtime.create()
                await runtime.wait(session, await runtime.prompt(session, "What is there?"))
                options = TurnOptions(model="other")
                await runtime.wait(session, await runtime.prompt(session, "And again?", options=options))
                return server.bodies

    bodies = asyncio.run(asyncio.wait_for(work(), 20))
    assert len(bodies) == 3
    assert "Two files, then." not in msgspec.json.encode(bodies[2]).decode()
