"""The conversation of a session, as messages and as plain JSON of other APIs."""

import asyncio
from base64 import b64encode

import pytest

from bridle import Agent, Media, Reply, ScriptedModel, Settings, call, to_anthropic, to_openai, tool
from bridle.config.settings import ModelSettings
from bridle.errors import NoSuchSession

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 8
PICTURE = b64encode(PNG).decode()


@tool
def look(place: str) -> str:
    """Look somewhere."""
    if place == "nowhere":
        raise ValueError("there is no such place")
    return f"a view of {place}"


def test_messages_are_plain_json_in_the_shapes_of_two_apis():
    replies = [
        Reply(reasoning="hm", text="Let me see.", calls=(call("look", place="home"), call("look", place="nowhere"))),
        "It is nice.",
    ]
    settings = Settings(models={"scripted/model": ModelSettings(takes=["image"])})
    agent = Agent("viewer", model=ScriptedModel(replies), tools=[look], settings=settings)
    result = agent.run_sync("Look!", files=[Media(PNG, "a.png")])
    asked, spoke, first, second, last = to_openai(result.messages)
    ids = [made["id"] for made in spoke["tool_calls"]]
    assert asked["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
    assert (spoke["role"], spoke["content"], set(spoke)) == (
        "assistant",
        "Let me see.",
        {"role", "content", "tool_calls"},
    )
    assert spoke["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"place":"home"}'}
    assert first == {"role": "tool", "tool_call_id": ids[0], "content": "a view of home"}
    assert (second["tool_call_id"], "no such place" in second["content"]) == (ids[1], True)
    assert last == {"role": "assistant", "content": "It is nice."}

    roles = [(each["role"], [block["type"] for block in each["content"]]) for each in to_anthropic(result.messages)]
    assert roles == [
        ("user", ["text", "image"]),
        ("assistant", ["text", "tool_use", "tool_use"]),
        ("user", ["tool_result", "tool_result"]),
        ("assistant", ["text"]),
    ]
    results = to_anthropic(result.messages)[2]["content"]
    assert [each.get("is_error", False) for each in results] == [False, True]
    assert to_openai([]) == to_anthropic([]) == []


def test_the_history_of_a_session_is_read_later_by_another_agent_of_the_journal(tmp_path):
    path = tmp_path / "j.db"
    result = Agent(model=ScriptedModel(["one"]), journal=path).run_sync("count")
    reader = Agent(model=ScriptedModel([]), journal=path)
    assert list(asyncio.run(reader.history(result.session))) == list(result.messages)
    with pytest.raises(NoSuchSession):
        asyncio.run(reader.history("ses_none"))
