"""What goes out and comes in as bytes: encoded once, stable from step to step, and read however it is cut."""

import asyncio
import itertools

import msgspec
import pytest
from hypothesis import given, strategies as some
from support.wire_faults import WIRES as SPOKEN, Answer, RawServer, events, sound
from support.wires import WIRES, lane_to, model_of

from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import Behavior, LimitSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.messages import AssistantMessage, AssistantText, Attachment, MessageList, Messages, UserMessage
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, ReasoningDelta, TextDelta
from bridle.model import request_body
from bridle.model.server_json import disjoint
from bridle.model.sse import EventParts, TooLong
from bridle.testing.scripted import Reply, ScriptedCall


@tool
def look(name: str) -> str:
    """Look at something."""
    return f"saw {name}"


def turn(wire, steps):
    answers = [sound(wire, Reply(calls=(ScriptedCall("look", {"name": str(n)}),))) for n in range(steps)]
    answers.append(sound(wire, Reply(text="Done.")))

    async def work():
        async with RawServer(wire, answers) as server:
            lane = lane_to(server.address)
            settings = Settings(behavior=Behavior(ceiling=1_000), limits=LimitSettings(tool_calls=None))
            runtime = Runtime(
                RuntimeConfig(
                    models={"m": model_of(wire, lane)},
                    tools=[look],
                    agents=[AgentDefinition("build", model="m")],
                    settings=settings,
                )
            )
            async with runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
            await lane.close()
            assert (result.reason, server.problems) == ("answered", [])
            return server

    return asyncio.run(asyncio.wait_for(work(), 60))


@pytest.mark.parametrize("wire", WIRES)
def test_each_request_begins_with_all_that_the_one_before_it_said(wire):
    bodies = turn(wire, 8).bodies
    key = b'"input":[' if wire == "responses" else b'"messages":['
    for before, after in itertools.pairwise(bodies):
        # Up to the last bracket of the messages: what follows are switches, and they stand at the end.
        end = before.rindex(b'],"stream":true')
        end = end - 2 if wire == "messages" else end
        assert key in before[:end] and after.startswith(before[:end])


@pytest.mark.parametrize("wire", WIRES)
def test_a_message_is_encoded_once_however_often_it_is_sent(wire, monkeypatch):
    encoded = []
    encode = msgspec.json.encode

    def counting(value, **more):
        encoded.append(value)
        return encode(value, **more)

    monkeypatch.setattr(request_body.msgspec.json, "encode", counting)
    bodies = turn(wire, 40).bodies
    results = [value for value in encoded if isinstance(value, dict) and "saw " in str(value)]
    assert len(bodies) == 41 and len(results) == 40


@pytest.mark.parametrize("wire", WIRES)
def test_a_connection_is_used_again(wire):
    server = turn(wire, 5)
    assert (server.requests, server.connections) == (6, 1)


def test_forms_follow_their_transcript():
    class Names:
        def __init__(self):
            self.count, self.names = 0, []

        def add(self, message):
            self.names.append(message.id)

    transcript = MessageList([UserMessage("a", ""), UserMessage("b", "")])
    assert Messages(transcript).form("n", Names).names == ["a", "b"]
    transcript.items.append(UserMessage("c", ""))
    form = Messages(transcript).form("n", Names)
    assert (form.names, form.count) == (["a", "b", "c"], 3)
    # A shorter snapshot gets a form of its own; a form is never cut.
    assert Messages(transcript, 1).form("n", Names).names == ["a"]


STREAM = events("chat", Reply(text="Grüße 🐎 und mehr.", calls=(ScriptedCall("look", {"name": "ä"}),)))


@given(some.lists(some.integers(1, 40)), some.sampled_from([b"\n", b"\r\n", b"\r"]), some.booleans())
def test_events_are_the_same_however_they_are_cut(sizes, ending, marked):
    whole = (b"\xef\xbb\xbf" if marked else b"") + b"".join(STREAM).replace(b"\n", ending)
    parts, found, at = EventParts(), [], 0
    for size in [*sizes, len(whole)]:
        found += parts.feed(whole[at : at + size])
        at += size
    found += parts.end()
    assert found == [data.removeprefix(b"data: ").removesuffix(b"\n\n") for data in STREAM]


@pytest.mark.parametrize("wire", WIRES)
def test_words_that_come_together_are_one_piece(wire):
    speaker, said = SPOKEN[wire]("scripted"), []
    for event in Reply(reasoning="hm ", text="one ").events():
        for _ in range(3 if isinstance(event, (ReasoningDelta, TextDelta)) else 1):
            said += speaker.data(event)
    request = ModelRequest("1.1.1", "s", "step", "m", "", Messages([UserMessage("p", "go")]), (), "auto", 100, {})

    async def heard(pieces):
        async with RawServer(wire, [Answer(pieces)]) as server:
            lane = lane_to(server.address)
            found = [event async for event in model_of(wire, lane).stream(request)]
            await lane.close()
            return [event.text for event in found if isinstance(event, (ReasoningDelta, TextDelta))]

    assert asyncio.run(heard([b"".join(said)])) == ["hm hm hm ", "one one one "]
    apart = asyncio.run(heard([piece for data in said for piece in (data, 0.05)]))
    assert "".join(apart) == "hm hm hm one one one " and len(apart) > 2


@given(some.binary(max_size=200))
def test_no_bytes_are_too_odd(data):
    parts = EventParts()
    assert all(isinstance(event, bytes) for event in [*parts.feed(data), *parts.end()])


def test_an_event_without_end_is_refused_before_it_fills_the_memory():
    for endless in (b"x" * 1_000_000, b"data: x\n" * 100_000, b"data\n" * 200_000):
        parts = EventParts()
        with pytest.raises(TooLong):
            for _ in range(20):
                parts.feed(endless)


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ((100, 20, {"cache_read": 60, "reasoning": 5}), Usage(40, 15, 5, 60)),
        ((100, 20, {"cache_read": 60, "cache_write": 30}), Usage(10, 20, 0, 60, 30)),
        ((100, 20, {"cache_read": 500, "reasoning": 500}), Usage(0, 0, 20, 100)),
        ((100, 20, {"cache_read": None, "reasoning": "x"}), Usage(100, 20)),
        ((100.0, 20, {}), Usage(100, 20)),
        ((None, 20, {}), None),
        (("100", 20, {}), None),
        ((True, 20, {}), None),
        ((float("nan"), 20, {}), None),
    ],
)
def test_no_token_is_counted_twice(counts, usage):
    reads, writes, more = counts
    assert disjoint(reads, writes, **more) == usage


PICTURE = Attachment("horse.png", "image/png", "aGk=")
PAPER = Attachment("deed.pdf", "application/pdf", "aGk=")


def body(wire, *messages, takes=frozenset(), **more):
    request = ModelRequest(
        "1.1.1", "s", "step", "m", "", Messages(list(messages)), (), "auto", 100, more, frozenset(takes)
    )
    return msgspec.json.decode(model_of(wire, "http://127.0.0.1:1").body(request))


def test_images_and_documents_on_each_wire():
    message = UserMessage("p", "Look", (PICTURE, PAPER))
    both = {"image", "pdf"}
    assert body("chat", message, takes=both)["messages"][0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "file", "file": {"filename": "deed.pdf", "file_data": "data:application/pdf;base64,aGk="}},
    ]
    assert body("responses", message, takes=both)["input"][0]["content"] == [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        {"type": "input_file", "filename": "deed.pdf", "file_data": "data:application/pdf;base64,aGk="},
    ]
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert body("messages", message, takes=both)["messages"][0]["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image", "source": source},
        {"type": "document", "source": {**source, "media_type": "application/pdf"}},
    ]


def test_an_image_without_words_is_sent_without_empty_text():
    alone = UserMessage("p", "", (PICTURE,))
    kinds = [
        [part["type"] for part in body("chat", alone, takes={"image"})["messages"][0]["content"]],
        [part["type"] for part in body("responses", alone, takes={"image"})["input"][0]["content"]],
        [part["type"] for part in body("messages", alone, takes={"image"})["messages"][0]["content"]],
    ]
    assert kinds == [["image_url"], ["input_image"], ["image"]]


@pytest.mark.parametrize("wire", WIRES)
def test_what_a_model_cannot_see_it_is_told_of(wire):
    sent = msgspec.json.encode(body(wire, UserMessage("p", "Look", (PICTURE, PAPER)), takes={"pdf"})).decode()
    assert "[attached, but you cannot see it: horse.png]" in sent
    assert "image/png" not in sent and "application/pdf" in sent


@pytest.mark.parametrize("wire", WIRES)
def test_options_go_into_the_body_but_never_over_what_bridle_promises(wire):
    reserved = {"stream": False, "model": "other", "messages": [], "input": [], "system": "x", "instructions": "x"}
    limits = {"max_tokens": 9, "max_output_tokens": 9}
    sent = body(wire, UserMessage("p", "Hi"), temperature=0.3, **reserved, **limits)
    most = "max_output_tokens" if wire == "responses" else "max_tokens"
    assert (sent["temperature"], sent["stream"], sent["model"], sent[most]) == (0.3, True, "scripted", 100)
    assert "instructions" not in sent and "system" not in sent
    assert len(sent["input" if wire == "responses" else "messages"]) == 1


def test_thinking_always_leaves_room_for_words():
    thinking = {"type": "enabled", "budget_tokens": 24_576}
    prompt = UserMessage("p", "Hi")

    def asked(most):
        request = ModelRequest(
            "1.1.1", "s", "step", "m", "", Messages([prompt]), (), "auto", most, {"thinking": thinking}
        )
        return msgspec.json.decode(model_of("messages", "http://127.0.0.1:1").body(request)).get("thinking")

    assert asked(32_000) == thinking
    assert asked(8_000) == {"type": "enabled", "budget_tokens": 4_000}
    assert asked(1_024) is None


def test_user_and_assistant_speak_by_turns_on_anthropics_wire():
    said = [
        UserMessage("a", "One"),
        UserMessage("b", "Two"),
        AssistantMessage("c", (AssistantText("Three"), AssistantText(" "))),
    ]
    sent = body("messages", *said, UserMessage("d", "Four"))["messages"]
    assert [(message["role"], [block["text"] for block in message["content"]]) for message in sent] == [
        ("user", ["One", "Two"]),
        ("assistant", ["Three"]),
        ("user", ["Four"]),
    ]
