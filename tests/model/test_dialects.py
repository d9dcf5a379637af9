"""What servers say in ways of their own: read the same, and said back to them as they want it."""

import msgspec
import pytest
from support.wires import model_of

from bridle.core.messages import AssistantMessage, AssistantText, CallMessage, Messages, Thought, UserMessage
from bridle.core.states import Usage
from bridle.core.stream import (
    ModelError,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepEnd,
    StreamEnd,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from bridle.model import wire_model
from bridle.model.anthropic import AnthropicReply
from bridle.model.openai_chat import ChatReply
from bridle.model.openai_responses import ResponsesReply
from bridle.values.provider import Quirks


def heard(reply, *events, done=b"[DONE]"):
    """The events of a reply, without those that only say how arguments grow."""
    found = []
    for event in (*events, *([done] if done else ())):
        data = event if isinstance(event, bytes) else msgspec.json.encode(event)
        found += wire_model.heard(reply, [data])
    found += reply.end()
    return [event for event in found if not type(event).__name__.startswith("ToolInput")]


def delta(**fields):
    return {"choices": [{"index": 0, "delta": fields}]}


def call(index=None, id=None, name=None, arguments=None, **more):
    function = {"name": name, "arguments": arguments}
    made = {"index": index, "id": id, "function": {key: value for key, value in function.items() if value is not None}}
    return {**{key: value for key, value in made.items() if value is not None}, **more}


FINISH = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


@pytest.mark.parametrize(
    ("chunks", "calls"),
    [
        ([[call(0, "x", "f", '{"a"')], [call(0, arguments=":1}")]], [("f", '{"a":1}')]),
        ([[call(0, "x", "f", "{}"), call(1, "y", "g", "{}")]], [("f", "{}"), ("g", "{}")]),
        ([[call(0, "x", "f", "{}")], [call(0, "y", "g", "{}")]], [("f", "{}"), ("g", "{}")]),
        ([[call(0, "x", "f", '{"a"')], [call(0, "x", "f", ":1}")]], [("f", '{"a":1}')]),
        ([[call(None, "x", "f", '{"a"')], [call(None, "x", arguments=":1}")]], [("f", '{"a":1}')]),
        ([[call(None, None, "f", '{"a"')], [call(None, None, arguments=":1}")]], [("f", '{"a":1}')]),
        ([[call(None, None, "f", "{}")], [call(None, None, "g", "{}")]], [("f", "{}"), ("g", "{}")]),
        ([[call(1, "y", "g", "{}")], [call(0, "x", "f", "{}")]], [("g", "{}"), ("f", "{}")]),
        ([[call(0, "x", "f", {"a": 1})]], [("f", '{"a":1}')]),
        ([[call(0, "x", "f")]], [("f", "")]),
        ([[call(0, "x")], [call(0, None, "f", "{}")]], [("f", "{}")]),
        ([[call(0, "", "f", '{"a":1}')], [call(0, "", "f", '{"a":2}')]], [("f", '{"a":1}'), ("f", '{"a":2}')]),
    ],
    ids=[
        "in pieces",
        "two at once",
        "two in the same place",
        "the name in every piece",
        "told apart by ids",
        "neither place nor id",
        "two of those",
        "out of order",
        "arguments as an object",
        "no arguments",
        "the name later",
        "one place, no ids",
    ],
)
def test_calls_of_every_kind_of_chat_server(chunks, calls):
    found = heard(ChatReply(), *(delta(tool_calls=chunk) for chunk in chunks), FINISH)
    assert [(event.name, event.arguments) for event in found if isinstance(event, ToolCall)] == calls
    assert found[-2:] == [StepEnd("tool_calls", None), StreamEnd()]
    assert len({event.id for event in found if isinstance(event, ToolCall)}) == len(calls)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thoughts_come_in_either_field(field):
    found = heard(ChatReply(), delta(**{field: "Hm"}), delta(**{field: "."}), delta(content="Yes."))
    assert found[:7] == [
        ReasoningStart(),
        ReasoningDelta("Hm"),
        ReasoningDelta("."),
        ReasoningEnd(),
        TextStart(),
        TextDelta("Yes."),
        TextEnd(),
    ]


def test_details_of_thoughts_are_put_together_and_go_back_as_they_came():
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "Let me", "format": "x"},
        {"type": "reasoning.text", "index": 0, "text": " see.", "signature": "signed"},
        {"type": "reasoning.encrypted", "index": 1, "data": "secret"},
    ]
    chunks = [delta(reasoning=piece.get("text"), reasoning_details=[piece]) for piece in pieces]
    found = heard(ChatReply(), *chunks, delta(content="Yes."))
    seal = next(event.seal for event in found if isinstance(event, ReasoningEnd))
    assert msgspec.json.decode(seal) == [
        {"type": "reasoning.text", "index": 0, "text": "Let me see.", "format": "x", "signature": "signed"},
        {"type": "reasoning.encrypted", "index": 1, "data": "secret"},
    ]
    said = sent(
        "chat", Thought("Let me see.", seal), AssistantText("Yes."), quirks=Quirks(thoughts="reasoning_details")
    )
    assert said["reasoning_details"] == msgspec.json.decode(seal)


def test_details_on_both_sides_of_words_all_go_back():
    first, second = '[{"type":"reasoning.text","text":"a"}]', '[{"type":"reasoning.encrypted","data":"b"}]'
    said = sent(
        "chat",
        Thought("a", first),
        AssistantText("Yes."),
        Thought("", second),
        CallMessage("1.1", "f", "{}"),
        quirks=Quirks(thoughts="reasoning_details"),
    )
    assert said["reasoning_details"] == [*msgspec.json.decode(first), *msgspec.json.decode(second)]


@pytest.mark.parametrize(
    "odd",
    [
        delta(reasoning_details=[{"type": "t", "index": 0, "text": "a"}, {"type": "t", "index": 0, "signature": None}]),
        delta(reasoning_details=[{"text": 7}, {"text": None}, {}]),
        b'{"choices":[{"index":0,"delta":{"reasoning_details":[{"text":"\\ud83d"}]}}]}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"f","arguments":{"a":"\\ud83d"}}}]}}]}',
    ],
)
def test_nothing_that_a_server_says_is_too_odd(odd):
    assert heard(ChatReply(), odd, delta(content="Yes."))[-1] == StreamEnd()


def test_what_comes_with_a_call_goes_back_with_it():
    extra = {"google": {"thought_signature": "signed"}}
    found = heard(ChatReply(), delta(tool_calls=[call(0, "x", "f", "{}", extra_content=extra)]), FINISH)
    seal = next(event.seal for event in found if isinstance(event, ToolCall))
    said = sent("chat", CallMessage("1.1", "f", "{}", seal))
    assert said["tool_calls"][0]["extra_content"] == extra
    foreign = sent("chat", CallMessage("1.1", "f", "{}", seal), author="google/gemini")
    assert "extra_content" not in foreign["tool_calls"][0]


@pytest.mark.parametrize("wire", ["chat", "messages", "responses"])
@pytest.mark.parametrize("seal", ['[{"odd":1}]', '{"type":"odd","signature":"x"}', '{"id":"odd"}', '"odd"'])
def test_a_seal_of_another_wire_is_left_out(wire, seal):
    said = sent(wire, Thought("Hm.", seal), CallMessage("1.1", "f", "{}"), quirks=Quirks(thoughts="reasoning"))
    assert "odd" not in msgspec.json.encode(said).decode()


@pytest.mark.parametrize(
    ("writes", "total", "thought", "usage"),
    [
        (10, 150, None, Usage(100, 10, 40)),
        (10, 150, 40, Usage(100, 10, 40)),
        (50, 150, 40, Usage(100, 10, 40)),
        (10, 10**12, None, Usage(100, 10)),
    ],
    ids=["thoughts in the total alone", "and named", "thoughts in the output", "a total that is nonsense"],
)
def test_thoughts_are_counted_wherever_they_are_told(writes, total, thought, usage):
    counts = {"prompt_tokens": 100, "completion_tokens": writes, "total_tokens": total}
    counts["completion_tokens_details"] = {"reasoning_tokens": thought}
    assert heard(ChatReply(), {"choices": [], "usage": counts})[0] == StepEnd("unknown", usage)


def sent(wire, *blocks, quirks=None, author="m"):
    """How a reply goes back to a model."""
    messages = [UserMessage("p", "go"), AssistantMessage("a", blocks, author), UserMessage("q", "on")]
    request = ModelRequest("1.2.1", "s", "step", "m", "", Messages(messages), (), "auto", 100, {})
    body = msgspec.json.decode(model_of(wire, "http://127.0.0.1:1", quirks=quirks).body(request))
    return body["input" if wire == "responses" else "messages"][1]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_a_model_that_wants_its_thoughts_back_gets_them(field):
    blocks = (Thought("Hm."), AssistantText("Yes."))
    assert sent("chat", *blocks, quirks=Quirks(thoughts=field))[field] == "Hm."
    assert field not in sent("chat", *blocks, quirks=Quirks(thoughts=field), author="other")
    assert field not in sent("chat", *blocks)


def test_a_server_without_a_terminator_is_believed_if_its_quirk_says_so():
    chunks = [delta(content="Yes."), {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]
    assert heard(ChatReply(), *chunks, done=None)[-1] != StreamEnd()
    assert heard(ChatReply(ends_without_done=True), *chunks, done=None)[-1] == StreamEnd()
    assert heard(ChatReply(ends_without_done=True), chunks[0], done=None)[-1] == TextDelta("Yes.")


def test_odds_and_ends_of_chat():
    assert TextDelta("Yes.") in heard(ChatReply(), delta(content=[{"type": "text", "text": "Yes."}]))
    assert TextDelta("I cannot.") in heard(ChatReply(), delta(refusal="I cannot."))
    assert heard(ChatReply(), {"choices": [{"index": 1, "delta": {"content": "other"}}]})[0] == StepEnd("unknown", None)
    last = heard(ChatReply(), delta(content="x"), {"choices": [{"index": 0, "finish_reason": "error"}]})[-1]
    assert isinstance(last, ModelError) and last.retryable
    counts = {"prompt_tokens": 100, "completion_tokens": 9, "prompt_cache_hit_tokens": 60}
    assert heard(ChatReply(), {"choices": None, "usage": counts})[0] == StepEnd("unknown", Usage(40, 9, 0, 60))


def block(index, kind, **fields):
    return {"type": "content_block_start", "index": index, "content_block": {"type": kind, **fields}}


def grows(index, kind, **fields):
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def test_thoughts_between_thoughts_some_of_them_hidden():
    found = heard(
        AnthropicReply(),
        {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1}},
        },
        {"type": "ping"},
        block(0, "thinking", thinking="", signature=""),
        grows(0, "thinking_delta", thinking="Hm."),
        grows(0, "signature_delta", signature="sig"),
        grows(0, "signature_delta", signature="ned"),
        {"type": "content_block_stop", "index": 0},
        block(1, "redacted_thinking", data="hidden"),
        {"type": "content_block_stop", "index": 1},
        block(2, "text", text=""),
        grows(2, "text_delta", text="Yes."),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 30}},
        {"type": "message_stop"},
        done=None,
    )
    thought, hidden = (event.seal for event in found if isinstance(event, ReasoningEnd))
    assert found[-2:] == [StepEnd("stop", Usage(7, 30, 0, 5)), StreamEnd()]
    said = sent("messages", Thought("Hm.", thought), Thought("", hidden), AssistantText("Yes."))
    assert said["content"] == [
        {"type": "thinking", "signature": "signed", "thinking": "Hm."},
        {"type": "redacted_thinking", "data": "hidden"},
        {"type": "text", "text": "Yes."},
    ]
    assert sent("messages", Thought("cut off"), AssistantText("Yes."))["content"] == [{"type": "text", "text": "Yes."}]


def test_a_call_whose_input_came_whole():
    found = heard(
        AnthropicReply(),
        block(0, "tool_use", id="x", name="f", input={"a": 1}),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
        {"type": "message_stop"},
        done=None,
    )
    assert [(event.name, event.arguments) for event in found if isinstance(event, ToolCall)] == [("f", '{"a":1}')]


@pytest.mark.parametrize(
    ("word", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
        ("pause_turn", "unknown"),
    ],
)
def test_finish_words_of_anthropic(word, finish):
    ending = {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {}}
    assert heard(AnthropicReply(), ending, {"type": "message_stop"}, done=None)[-2] == StepEnd(finish, None)


def test_a_response_in_items():
    found = heard(
        ResponsesReply(),
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning"}},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "First."},
        {"type": "response.reasoning_summary_part.added", "output_index": 0},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "Second."},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed"},
        },
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": {"type": "function_call", "name": "f", "arguments": '{"a":1}', "call_id": "x"},
        },
        {"type": "response.web_search_call.in_progress", "output_index": 2},
        {
            "type": "response.completed",
            "response": {
                "status": "completed",
                "usage": {
                    "input_tokens": 100,
                    "output_tokens": 30,
                    "input_tokens_details": {"cached_tokens": 60},
                    "output_tokens_details": {"reasoning_tokens": 20},
                },
            },
        },
        done=None,
    )
    assert "".join(event.text for event in found if isinstance(event, ReasoningDelta)) == "First.\n\nSecond."
    seal = next(event.seal for event in found if isinstance(event, ReasoningEnd))
    assert found[-3:] == [
        ToolCall("f", '{"a":1}', "1"),
        StepEnd("tool_calls", Usage(40, 10, 20, 60)),
        StreamEnd(),
    ]
    assert sent("responses", Thought("First.", seal), AssistantText("x")) == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "First."}],
        "id": "rs_1",
        "encrypted_content": "sealed",
    }
    assert sent("responses", Thought("First.", seal), AssistantText("x"), author="other")["type"] == "message"
