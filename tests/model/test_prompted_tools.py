"""Calls of models that have none: read from what they write, and held to a schema where that can be done."""

import asyncio

import pytest

from bridle.core.agent import ModelInfo
from bridle.core.messages import (
    AssistantMessage,
    AssistantText,
    CallMessage,
    Messages,
    ResultMessage,
    Thought,
    UserMessage,
)
from bridle.core.stream import ModelRequest, TextDelta, ToolCall, ToolSpec
from bridle.model.prompted_tools import TextCalls, as_words, read_reply, reply_format, told
from bridle.testing.scripted import Reply, ScriptedModel

SCHEMA = {
    "type": "object",
    "properties": {"filePath": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["filePath"],
}
READ = ToolSpec("read", "Read a file. And more of it.", SCHEMA)


def request(*messages, tools=(READ,), choice="auto"):
    return ModelRequest("1.1.1", "s", "step", "m", "Be brief.", Messages(list(messages)), tools, choice, 100, {})


def heard(reply, asked=None, *, constrained=False):
    """What a model that says this is heard to say and to call, and what it was asked."""
    inner = ScriptedModel([reply])
    model = TextCalls(inner, ModelInfo("m"), constrained=constrained)

    async def work():
        return [event async for event in model.stream(asked or request(UserMessage("p", "go")))]

    events = asyncio.run(work())
    words = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [(event.name, event.arguments) for event in events if isinstance(event, ToolCall)]
    return words, calls, inner.requests[0]


@pytest.mark.parametrize(
    ("text", "calls", "rest"),
    [
        ('{"tool": "read", "arguments": {"filePath": "a"}}', [("read", '{"filePath":"a"}')], ""),
        ('{"name": "read", "parameters": {"filePath": "a"}}', [("read", '{"filePath":"a"}')], ""),
        ('{"function": {"name": "read", "arguments": {"filePath": "a"}}}', [("read", '{"filePath":"a"}')], ""),
        ('{"name": "read", "arguments": "{\\"filePath\\": \\"a\\"}"}', [("read", '{"filePath": "a"}')], ""),
        ('{"tool": "read", "filePath": "a"}', [("read", '{"filePath":"a"}')], ""),
        ('```json\n{"tool": "READ", "arguments": {}}\n```', [("READ", "{}")], ""),
        ('<tool_call>{"name": "read", "arguments": {}}</tool_call>', [("read", "{}")], ""),
        ('{"tool": "read", "arguments": {}} {"tool": "read", "arguments": {}}', [("read", "{}")] * 2, ""),
        ('{"tool": "read", "arguments": {}} {"answer": "Done."}', [("read", "{}")], "Done."),
        ('{"answer": "It is blue."}', [], "It is blue."),
        ('{"tool": "fly", "arguments": {}}', [], '{"tool": "fly", "arguments": {}}'),
        ('Use {"a": 1} as the default.', [], 'Use {"a": 1} as the default.'),
        ("A { that never closes", [], "A { that never closes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls_are_read_from_json_plain_or_fenced(text, calls, rest):
    assert read_reply(text, {"read"}) == (calls, rest)


def test_words_pass_as_they_come_and_a_call_after_them_is_only_shown():
    shown = 'I look. {"tool": "read", "arguments": {"filePath": "a"}}'
    assert heard(Reply(text=shown, chunk=3))[:2] == (shown, [])
    assert heard(Reply(text="Just words, cut anywhere.", chunk=2))[:2] == ("Just words, cut anywhere.", [])
    made = '\n functools[{"tool": "read", "arguments": {"filePath": "a"}}]'
    assert heard(Reply(text=made, chunk=1))[:2] == ("", [("read", '{"filePath":"a"}')])


def test_a_call_in_a_thought_is_no_call():
    call = '{"tool": "read", "arguments": {"filePath": "%s"}}'
    words, calls, _ = heard(Reply(text=f"<think>Perhaps {call % 'a'}?</think>{call % 'b'}", chunk=5))
    assert (words, calls) == ("", [("read", '{"filePath":"b"}')])


def test_a_call_that_was_cut_is_still_a_call():
    words, calls, _ = heard(Reply(text='{"tool":"read","arguments":{"filePath":"a', finish="length"))
    assert (words, calls) == ("", [("read", '{"filePath":"a')])
    shown = '{"tool":"read","arguments":{"filePath":"a"}} is a call, and {"tool":"read'
    assert heard(Reply(text=shown, finish="length"))[:2] == (shown, [])


def test_tools_are_told_in_words_and_none_are_declared():
    *_, asked = heard("ok")
    assert asked.tools == () and "read(filePath): Read a file." in asked.system
    assert told((READ,)) in asked.system


def test_with_tools_off_nothing_is_read_as_a_call():
    closing = request(UserMessage("p", "go"), choice="none")
    text = '{"tool": "read", "arguments": {}}'
    assert heard(text, closing)[:2] == (text, [])
    assert heard('{"answer": "Blue."}', closing)[:2] == ("Blue.", [])
    assert heard(Reply(text='{"answer": "Blue and', finish="length"), closing)[:2] == ("Blue and", [])
    assert heard("ok", closing)[2].system == heard("ok")[2].system


def test_replies_are_held_to_a_schema_that_asks_for_a_look_before_an_answer():
    prompt = UserMessage("p", "go")
    made = AssistantMessage("a", (CallMessage("c", "read", '{"filePath":"a"}'),))
    seen = ResultMessage("r", "c", "read", "blue")
    first = heard("ok", request(prompt), constrained=True)[2].options["response_format"]
    later = heard("ok", request(prompt, made, seen), constrained=True)[2].options["response_format"]
    noted = heard("ok", request(prompt, made, seen, UserMessage("n", "2 steps left")), constrained=True)[2].options
    assert first == reply_format((READ,), must_call=True)
    assert later == noted["response_format"] == reply_format((READ,), must_call=False)
    choices = later["json_schema"]["schema"]["anyOf"]
    assert [choice["required"] for choice in choices] == [["tool", "arguments"], ["answer"]]
    assert choices[0]["properties"]["arguments"]["properties"] == {"filePath": {"type": "string"}}


def test_history_becomes_words():
    blocks = (Thought("hm", "seal"), AssistantText("Let me see."), CallMessage("c", "read", '{"filePath":"a"}'))
    assert as_words(AssistantMessage("a", blocks, "m")) == AssistantMessage(
        "a", (AssistantText('Let me see.\n{"tool":"read","arguments":{"filePath":"a"}}'),), "m"
    )
    assert as_words(ResultMessage("r", "c", "read", "gone", failed=True)) == UserMessage(
        "r", "Result of read (failed):\ngone"
    )


@pytest.mark.parametrize("text", ["```{a" * 60_000, '{"a":' * 20_000, "{" * 100_000, "```" * 50_000])
def test_a_text_full_of_braces_is_no_trap(text):
    # Without a bound on what is looked into, each of these would take minutes.
    assert read_reply(text, {"read"}) == ([], text)
