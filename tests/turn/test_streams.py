"""What comes out of a stream, whole or broken, becomes parts that are valid to send back."""

import pytest
from support.cut_process import WiredJournal
from support.stories import tell
from support.virtual import run_virtually

from bridle import Agent, Reply, ScriptedModel, call, tool
from bridle.core import agent as defined
from bridle.core.events import PartDelta
from bridle.core.parts import Call, Reasoning, Request, StepFinish, Text
from bridle.core.states import Usage
from bridle.core.stream import (
    ModelError,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Start,
    StepBegin,
    StepEnd,
    StreamEnd,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from bridle.errors import JournalFailed
from bridle.runtime import Runtime, RuntimeConfig
from bridle.testing.scripted import ScriptedCall, ScriptedError
from bridle.turn.processor import Processor


def made(name="look", arguments="{}", id="c"):
    return [ToolInputStart(name, id), ToolInputDelta(id, arguments), ToolInputEnd(id), ToolCall(name, arguments, id)]


def test_every_stream_event_finds_its_part():
    processor = Processor("1.1.1.0", {}, None)
    stream = [
        Start(),
        StepBegin(),
        ReasoningStart(),
        ReasoningDelta("Hm"),
        ReasoningDelta("m."),
        ReasoningEnd(),
        TextStart(),
        TextDelta("Hello "),
        TextDelta("there"),
        TextEnd(),
        TextStart(),
        TextDelta("Again"),
        TextEnd(),
        *made("web", "{}", "p1"),
        ToolResult("p1", "found"),
        *made("web", "{}", "p2"),
        ToolError("p2", "nothing there"),
        StepEnd("stop", Usage(5, 6)),
        StreamEnd(),
    ]
    deltas = [delta for event in stream for delta in processor.feed(event)]
    assert deltas == [
        PartDelta("1.1.1.0.0", 0, "Hm", "reasoning"),
        PartDelta("1.1.1.0.0", 2, "m.", "reasoning"),
        PartDelta("1.1.1.0.1", 0, "Hello ", "text"),
        PartDelta("1.1.1.0.1", 6, "there", "text"),
        PartDelta("1.1.1.0.2", 0, "Again", "text"),
        PartDelta("1.1.1.0.3", 0, "", "arguments", "web"),
        PartDelta("1.1.1.0.3", 0, "{}", "arguments", "web"),
        PartDelta("1.1.1.0.4", 0, "", "arguments", "web"),
        PartDelta("1.1.1.0.4", 0, "{}", "arguments", "web"),
    ]
    parts = [event.part for event in processor.parts(whole=True)]
    assert [type(part) for part in parts] == [Reasoning, Text, Text, Call, Call]
    assert [part.text for part in parts[:3]] == ["Hmm.", "Hello there", "Again"]
    assert [(part.state.output, type(part.state).__name__) for part in parts[3:]] == [
        ("found", "Done"),
        ("nothing there", "Failed"),
    ]
    assert (processor.finish, processor.usage, processor.ended, processor.error) == ("stop", Usage(5, 6), True, None)


def test_text_is_recorded_as_it_grows_and_not_again_at_the_end():
    processor = Processor("1.1.1.0", {}, None)
    grown = []
    for piece in ("one ", "two ", "three"):
        processor.feed(TextDelta(piece))
        grown += processor.growth()
    assert [type(event).__name__ for event in grown] == ["PartPut", "PartGrown", "PartGrown"]
    assert [(event.offset, event.text) for event in grown[1:]] == [(4, "two "), (8, "three")]
    assert processor.growth() == processor.parts(whole=True) == []


FINISH_WORDS = [
    ("stop with calls goes on", Reply(calls=(call("look", key="a"),), finish="stop"), 2),
    ("tool_calls without calls ends", Reply(text="hi", finish="tool_calls"), 1),
    ("unknown ends", Reply(text="hi", finish="unknown"), 1),
    ("no finish word, but the terminator, ends", Reply(text="hi", finish=""), 1),
]


@pytest.mark.parametrize(("name", "reply", "steps"), FINISH_WORDS, ids=[row[0] for row in FINISH_WORDS])
def test_calls_decide_whether_a_turn_goes_on_not_the_finish_word(name, reply, steps):
    story = tell(ScriptedModel([reply, "done"]))
    assert (story.result.reason, story.result.steps) == ("answered", steps)


@pytest.mark.parametrize("cut", [2, 4, 6, 8])
def test_a_stream_without_its_terminator_is_asked_again_and_leaves_no_side_effect(cut):
    whole = Reply(text="I will look.", calls=(call("look", key="a"),))
    cut_off = Reply(text=whole.text, calls=whole.calls, cut=cut)
    story = tell(ScriptedModel([cut_off, whole, "done"]))
    assert (story.result.reason, story.ran, story.result.steps) == ("answered", ["look a"], 2)
    assert [text.text for text in story.parts(Text)] == ["I will look.", "done"]


def test_length_in_the_middle_of_arguments_is_told_to_the_model_and_nothing_runs():
    broken = Reply(calls=(ScriptedCall("look", '{"key": "half a wo'),), finish="length")
    story = tell(ScriptedModel([broken, "I will be shorter."]))
    assert (story.ran, story.calls) == ([], [("look", "invalid")])
    assert "cut at the length limit" in story.model.requests[-1].messages[-1].text


def test_an_input_that_never_became_a_call_is_kept_as_one():
    processor = Processor("1.1.1.0", {}, None)
    for event in (ToolInputStart("look", "x"), ToolInputDelta("x", '{"key": "ha'), StepEnd("length"), StreamEnd()):
        processor.feed(event)
    (part,) = [event.part for event in processor.parts(whole=True)]
    assert (part.name, part.arguments) == ("look", "{}")
    assert "cut at the length limit" in part.invalid


REPAIRS = [
    ("wrong case", ScriptedCall("LOOK", {"key": "a"}), "done"),
    ("trailing comma", ScriptedCall("look", '{"key": "a",}'), "done"),
    ("single quotes", ScriptedCall("look", "{'key': 'a'}"), "done"),
    ("code fence", ScriptedCall("look", '```json\n{"key": "a"}\n```'), "done"),
    ("truncated string", ScriptedCall("look", '{"key": "a'), "done"),
    ("an object in a string", ScriptedCall("look", '"{\\"key\\": \\"a\\"}"'), "done"),
    ("no arguments", ScriptedCall("look", ""), "done"),
    ("a list", ScriptedCall("look", "[1]"), "invalid"),
    ("plain words", ScriptedCall("look", "key a"), "invalid"),
    ("an unknown tool", ScriptedCall("lok", {"key": "a"}), "invalid"),
    ("an unknown argument", ScriptedCall("look", {"kee": "a"}), "done"),
    ("a wrong type", ScriptedCall("look", {"key": ["a"]}), "invalid"),
]


@pytest.mark.parametrize(("name", "scripted", "state"), REPAIRS, ids=[row[0] for row in REPAIRS])
def test_a_call_is_repaired_or_refused_with_what_is_wrong(name, scripted, state):
    story = tell(ScriptedModel([scripted, "done"]))
    assert [found for _, found in story.calls] == [state]
    told = story.model.requests[-1].messages[-1].text
    if state == "invalid":
        assert told.endswith("Available tools: broken, look, poll, silent.")
    else:
        assert told.startswith("saw ")


THOUGHTFUL = "<think>Is it 41? No.</think>\n\nIt is 42."


@pytest.mark.parametrize("chunk", [1, 4, 0])
def test_thoughts_in_the_text_are_recorded_as_reasoning_and_never_sent_back_as_text(chunk):
    thinks = Reply(text=THOUGHTFUL.replace("It is 42.", ""), chunk=chunk, calls=(call("look", key="a"),))
    story = tell(ScriptedModel([thinks, Reply(text=THOUGHTFUL, chunk=chunk)]))
    assert story.result.text == "It is 42."
    assert [part.text for part in story.parts(Reasoning)] == ["Is it 41? No."] * 2
    assert [part.text for part in story.parts(Text)] == ["It is 42."]
    assert all("think" not in getattr(message, "text", "") for message in story.model.requests[-1].messages)


def test_a_reply_that_only_thinks_is_empty():
    story = tell(ScriptedModel([Reply(text="<think>Hm."), "<think></think>"]))
    assert story.result.reason == "empty"


@pytest.mark.parametrize("field", ["text", "reasoning"])
def test_words_that_chant_are_cut_be_they_text_or_reasoning(field):
    chant = "I should look at the file again, because it may have changed. " * 300
    story = tell(ScriptedModel([Reply(**{field: chant}, chunk=40), "Closed."]))
    assert (story.result.reason, story.result.text) == ("doom_loop", "Closed.")
    heard = story.parts(Text if field == "text" else Reasoning)[0].text
    assert len(heard) < len(chant) / 2


def test_a_call_is_shown_by_its_name_before_its_arguments_come_and_recorded_once_it_is_whole():
    processor = Processor("1.1.1.0", {}, None)
    stream = [TextDelta("Now: "), ToolInputStart("write", "a"), ToolInputStart("look", "b")]
    stream += [ToolInputDelta("a", '{"content":'), ToolInputDelta("b", "{}"), ToolInputDelta("a", ' "x"}')]
    stream += [ToolCall("look", "{}", "b"), ToolCall("write", '{"content": "x"}', "a"), StepEnd(), StreamEnd()]
    deltas = [delta for event in stream for delta in processor.feed(event)]
    assert [(delta.part[-1], delta.call, delta.offset, delta.text) for delta in deltas[1:]] == [
        ("1", "write", 0, ""),
        ("2", "look", 0, ""),
        ("1", "write", 0, '{"content":'),
        ("2", "look", 0, "{}"),
        ("1", "write", 11, ' "x"}'),
    ]
    recorded = [event.part for event in processor.parts(whole=True)]
    assert [(part.id[-1], getattr(part, "name", "")) for part in recorded] == [("0", ""), ("1", "write"), ("2", "look")]


def test_a_number_that_came_as_text_is_taken_as_the_number():
    @tool
    async def twice(n: int) -> int:
        """Double."""
        return n * 2

    story = tell(ScriptedModel([call("twice", n="21"), "done"]), tools=[twice])
    assert story.model.requests[-1].messages[-1].text == "42"


def test_calls_with_the_same_or_no_id_are_different_calls():
    calls = (ScriptedCall("look", {"key": "a"}, "x"), ScriptedCall("look", {"key": "b"}, "x"))
    story = tell(ScriptedModel([Reply(calls=calls), "done"]))
    assert sorted(story.ran) == ["look a", "look b"]
    assert [message.text for message in story.model.requests[-1].messages[-2:]] == ["saw a", "saw b"]


USAGES = [
    ("missing", "missing", True),
    ("negative", Usage(input=-5, output=3), True),
    ("zero", Usage(), True),
    ("sound", Usage(input=7, output=3), False),
]


@pytest.mark.parametrize(("name", "usage", "estimated"), USAGES, ids=[row[0] for row in USAGES])
def test_usage_that_makes_no_sense_is_estimated_never_nothing(name, usage, estimated):
    story = tell(ScriptedModel([Reply(text="four words are here", usage=usage)]))
    assert story.result.usage.estimated == estimated
    assert story.result.tokens > 0


def test_a_thought_alone_is_an_empty_reply_that_is_asked_once_more_under_its_number():
    story = tell(ScriptedModel([Reply(reasoning="I think."), "Then I speak."]))
    assert (story.result.reason, story.result.steps, len(story.model.requests)) == ("answered", 1, 2)
    assert [(r.number, r.attempt) for r in story.parts(Request)] == [(1, 1), (1, 2)]
    assert [finish.empty for finish in story.parts(StepFinish)] == [True, False]


def test_a_content_filter_ends_the_turn_without_a_retry():
    story = tell(ScriptedModel([Reply(text="I", finish="content_filter"), "never"]))
    assert (story.result.reason, len(story.model.requests)) == ("error", 1)
    assert "content filter" in story.result.detail


def test_an_error_after_some_text_keeps_the_text_and_runs_nothing():
    failing = Reply(text="I was about to", error=ScriptedError("bad request", status=400))
    story = tell(ScriptedModel([failing]))
    assert (story.result.reason, story.result.detail.split(" (")[0]) == ("error", "bad request")
    assert "I was about to" in [text.text for text in story.parts(Text)]


def test_an_adapter_that_reports_an_error_event_is_not_listened_to_any_more():
    class Talkative:
        async def stream(self, request):
            yield TextDelta("before")
            yield ModelError("gone", status=400)
            yield TextDelta(" and after")
            yield StreamEnd()

    result = Agent(model=Talkative()).run_sync("go")
    assert (result.reason, result.detail.split(" (")[0]) == ("error", "gone")


class Bare:
    """A model of somebody else, whose streams can be read and nothing else."""

    def __init__(self, inner):
        self._inner = inner
        self.info = inner.info

    def stream(self, request):
        return BareStream(self._inner.stream(request))


class BareStream:
    def __init__(self, events):
        self._events = events

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await anext(self._events)


def test_a_stream_that_cannot_be_closed_is_read_all_the_same():
    async def work(seams):
        async with Agent(model=Bare(ScriptedModel(["Hello."])), seams=seams).runtime() as runtime:
            session = await runtime.create()
            return await runtime.wait(session, await runtime.prompt(session, "go"))

    assert run_virtually(work).text == "Hello."


def test_a_piece_of_a_call_that_never_began_is_nothing_and_a_seal_stays_with_its_call():
    processor = Processor("1.1.1", {}, None)
    for event in (ToolInputDelta("unheard of", "{"), ToolCall("look", "{}", "c", "sealed")):
        processor.feed(event)
    assert processor.parts(whole=False) == []
    (put,) = processor.parts(whole=True)
    assert (put.part.name, put.part.arguments, put.part.seal) == ("look", "{}", "sealed")


class Wordless(WiredJournal):
    """A disk that takes no words while they come."""

    async def append(self, lease, entry, **rest):
        if rest.get("weight") == "words":
            raise JournalFailed("the disk is gone")
        await super().append(lease, entry, **rest)


class Held:
    """A model whose streams nobody collects, so that only closing ends them."""

    def __init__(self):
        self._inner = ScriptedModel([Reply(text="slowly", chunk=1, pace=0.4)])
        self.info = self._inner.info
        self.streams = []
        self.open = 0

    def stream(self, request):
        self.streams.append(self._stream(request))
        return self.streams[-1]

    async def _stream(self, request):
        self.open += 1
        try:
            async for event in self._inner.stream(request):
                yield event
        finally:
            self.open -= 1


def test_a_stream_is_closed_also_when_the_journal_fails_meanwhile():
    model = Held()

    async def work(seams):
        runtime = Runtime(
            RuntimeConfig(
                journal=Wordless(),
                models={"m": model},
                agents=[defined.AgentDefinition("build", model="m")],
                seams=seams,
            )
        )
        session = await runtime.create()
        with pytest.raises(JournalFailed):
            await runtime.wait(session, await runtime.prompt(session, "go"))
        assert (len(model.streams), model.open) == (1, 0)

    run_virtually(work)
