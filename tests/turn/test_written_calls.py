"""Calls that a model writes as text: taken as calls where it is not known to have calls of its own."""

import msgspec
import pytest
from support.stories import look, tell
from support.virtual import run_virtually

from bridle import Agent, ScriptedModel, call
from bridle.core.parts import Call, Notice, Text
from bridle.core.repair import call_digest
from bridle.core.stream import ToolCall
from bridle.model.catalog import model_info
from bridle.model.unparsed_calls import written_calls
from bridle.turn.processor import Processor

LOOK = '{"name": "look", "arguments": {"key": "a"}}'

SPELLINGS = [
    LOOK,
    '{"tool": "Look", "parameters": {"key": "a"}}',
    f"```json\n{LOOK}\n```",
    f"<tool_call>\n{LOOK}\n</tool_call>",
    f"[TOOL_CALLS][{LOOK}]",
    f"<|python_tag|>{LOOK}",
    '{"type": "function", "function": {"name": "look", "arguments": "{\\"key\\": \\"a\\"}"}}',
    '<function=look>{"key": "a"}</function>',
    "<tool_call>\n<function=look>\n<parameter=key>\na\n</parameter>\n</function>\n</tool_call>",
]


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_reply_that_is_nothing_but_a_call_in_text_is_taken_as_that_call(text):
    story = tell(ScriptedModel([text, "Done."]))
    assert (story.ran, story.result.text) == (["look a"], "Done.")
    (made,) = story.parts(Call)
    assert made.written and "written as text" in made.note
    assert [part.text for part in story.parts(Text)] == ["Done."]


ORDINARY = [
    f"I would call {LOOK} now.",
    '{"name": "fly", "arguments": {"key": "a"}}',
    '{"name": "look", "size": 3}',
    '{"key": "a"}',
    "[]",
    f"{LOOK} and then?",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_any_other_reply_stays_text(text):
    story = tell(ScriptedModel([text]))
    assert (story.ran, story.result.reason, story.result.text) == ([], "answered", text)


def test_a_model_that_is_known_to_call_tools_is_taken_at_its_word():
    model = ScriptedModel([LOOK])
    model.info = msgspec.structs.replace(model.info, calls="native")
    assert tell(model).result.text == LOOK
    assert model_info("anthropic", "claude-opus-4-7", "messages").calls == "native"
    assert model_info("ollama", "qwen3", "chat", local=True).calls == "unknown"


def test_with_tools_off_a_call_in_text_is_text():
    story = tell(ScriptedModel([LOOK]), steps=1)
    assert (story.ran, story.result.text) == ([], LOOK)


def test_a_model_that_writes_its_calls_twice_is_told_its_tools_in_words_from_then_on():
    model = ScriptedModel(
        [LOOK, LOOK.replace('"a"', '"b"'), LOOK.replace('"a"', '"c"'), "Done.", call("look", key="d"), "Yes."]
    )

    async def work(seams):
        async with Agent(model=model, tools=[look], seams=seams).runtime() as runtime:
            session = await runtime.create()
            for prompt in ("go", "again"):
                await runtime.wait(session, await runtime.prompt(session, prompt))
            return await runtime.load(session)

    session = run_virtually(work)
    steps = [request for request in model.requests if request.purpose == "step"]
    assert [bool(request.tools) for request in steps] == [True, True, False, False, False, False]
    assert all("You have these tools:" in request.system for request in steps[2:])
    notices = [part.text for part in session.parts.values() if isinstance(part, Notice)]
    assert len(notices) == 1 and "quirks = { text_calls = true }" in notices[0] and "scripted/model" in notices[0]
    made = [part for part in session.parts.values() if isinstance(part, Call)]
    assert [part.written for part in made] == [True, True, False, False]


def test_the_id_that_a_provider_gave_a_call_says_nothing_about_it():
    processor = Processor("1.1.1.0", {"look": look.tool}, None)
    processor.feed(ToolCall("look", '{"key": "a"}', "written:0"))
    (put,) = processor.parts(whole=True)
    assert put.part == Call("1.1.1.0.0", "look", '{"key": "a"}', call_digest("look", {"key": "a"}, ()))


def test_several_calls_in_one_text_are_all_found_and_half_a_call_is_none():
    assert written_calls(f"{LOOK}\n{LOOK}", {"look"}) == [("look", '{"key":"a"}')] * 2
    assert written_calls(LOOK[:-5], {"look"}) == []
