"""A model that fails for good is replaced by the next one of its turn, within the same step."""

import pytest
from support.stories import tell
from support.synthesis import gather

from bridle import Limits, Price, Reply, ScriptedModel, call, tool
from bridle.config.settings import CompactionSettings, ModelSettings, RetrySettings, Settings
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Request, TurnStart
from bridle.core.states import Broken, Usage
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import ScriptedError
from bridle.wire.projection import EventStream

BUSY = Reply(text="half", error=ScriptedError("overloaded", status=529))
NO_KEY = Reply(error=ScriptedError("no such key", status=401))


def first(*replies, **given):
    return ScriptedModel(replies, ref="first/model", **given)


def second(*replies, **given):
    """A model that plays its replies in the order of its requests, whichever step they belong to."""
    played = iter(replies)
    then = given.pop("then", "more than the script has")
    return ScriptedModel(lambda request: next(played, then), ref="second/model", **given)


def asked(story):
    """The requests of a turn: purpose, step, attempt, model."""
    return [(each.purpose, each.number, each.attempt, each.model) for each in story.parts(Request)]


def lost(story):
    return [(each.model, each.state.error) for each in story.parts(Request) if isinstance(each.state, Broken)]


def test_the_second_model_answers_when_the_first_has_failed_beyond_its_retries():
    one, two = first(then=BUSY), second(call("look", key="a"), "done")
    story = tell([one, two])
    assert (story.result.reason, story.result.text, story.result.steps) == ("answered", "done", 2)
    assert (len(one.requests), len(two.requests)) == (6, 2)
    # The next step begins with the model that answered, and no half of a failed reply remains.
    assert asked(story) == [
        ("step", 1, 1, "first/model"),
        ("step", 1, 2, "second/model"),
        ("step", 2, 1, "second/model"),
    ]
    assert [message.text for message in story.session.messages if hasattr(message, "blocks")] == ["", "done"]
    assert story.notices == [
        "first/model failed: overloaded (gave up after 5 retries); the turn continues with second/model"
    ]
    assert set(story.result.models) == {"first/model", "second/model"}
    assert sum(use.tokens for use in story.result.models.values()) == story.result.tokens


def test_a_failure_that_does_not_pass_is_not_repeated():
    one, two = first(NO_KEY), second("done")
    story = tell([one, two])
    assert (story.result.text, len(one.requests)) == ("done", 1)
    assert story.notices == [
        "first/model failed: no such key (its key is missing or wrong: bridle auth login first); "
        "the turn continues with second/model"
    ]


def test_when_all_fail_the_error_names_each():
    story = tell([first(then=NO_KEY), second(then=BUSY)], settings=Settings(retry=RetrySettings(retries=1)))
    assert (story.result.reason, story.result.detail) == (
        "error",
        "first/model: no such key (its key is missing or wrong: bridle auth login first); "
        "second/model: overloaded (gave up after 1 retries)",
    )


def test_each_model_has_its_own_retries_and_each_step_its_own_round():
    """The second model fails in the second step: the first is asked again, since that was another step."""
    again = Reply(error=ScriptedError("busy", status=503))
    one = ScriptedModel(lambda request: NO_KEY if len(one.requests) == 1 else "done", ref="first/model")
    two = second(again, again, call("look"), then=NO_KEY)
    story = tell([one, two], settings=Settings(retry=RetrySettings(retries=2)))
    assert (story.result.text, len(one.requests), len(two.requests)) == ("done", 2, 4)
    assert [model for _, _, _, model in asked(story)] == ["first/model", "second/model", "second/model", "first/model"]


def test_the_patience_of_a_request_begins_anew_with_its_next_model():
    policy = RetrySettings(retries=50, total_seconds=20.0)
    story = tell([first(then=BUSY), second(BUSY, BUSY, "done")], settings=Settings(retry=policy))
    assert story.result.text == "done"
    assert "gave up after 20 s of retries" in story.notices[0]


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (Reply(text="x", finish="content_filter"), "the provider's content filter stopped the reply"),
        (Reply(error=ScriptedError("too long", status=400, overflow=True)), "too long"),
    ],
)
def test_what_another_model_would_not_mend_is_not_passed_on(reply, detail):
    two = second("never")
    story = tell([first(then=reply), two], settings=Settings(compaction=CompactionSettings(auto=False)))
    assert (story.result.reason, two.requests) == ("error", [])
    assert detail in story.result.detail


def test_neither_an_abort_nor_the_end_of_the_time_asks_another_model():
    async def abort(runtime, session, id):
        await runtime.seams.sleep(1)
        await runtime.abort(session)

    hangs, two = first(then=Reply(hang=True)), second("never")
    assert tell([hangs, two], people=abort).result.reason == "aborted"
    closing = ScriptedModel(lambda request: "closed" if request.purpose == "closing" else Reply(hang=True), ref="a/b")
    story = tell([closing, two], limits=Limits(seconds=60.0))
    assert (story.result.reason, story.result.text, two.requests) == ("time_budget", "closed", [])


def test_a_closing_step_is_written_by_the_second_model():
    def play(request: ModelRequest):
        return NO_KEY if request.purpose == "closing" else call("look", key=request.id)

    one, two = ScriptedModel(play, ref="first/model", closing_tools="none"), second("closed", closing_tools="omit")
    story = tell([one, two], steps=2)
    assert (story.result.reason, story.result.text, story.result.steps) == ("step_cap", "closed", 2)
    # What depends on a model follows the one that is asked.
    assert (len(one.requests[-1].tools), two.requests[-1].tools) == (4, ())


@tool
def fill(key: str) -> str:
    """Return a long text."""
    return f"{key} " * 2_000


def filling(tokens, *, until, then):
    """A model that calls a tool with a long result in each of its first steps."""
    played = iter(range(until))

    def play(request: ModelRequest):
        if request.purpose == "step" and (number := next(played, None)) is not None:
            return Reply(calls=(call("fill", key=f"n{number}"),), usage=Usage(tokens * (number + 1), 10))
        return then

    return play


def test_a_context_that_does_not_fit_the_second_model_is_compacted_first():
    one = ScriptedModel(filling(10_000, until=4, then=NO_KEY), ref="first/model")
    two = second("In short.", "done", context_window=16_000)
    story = tell([one, two], tools=[fill])
    assert (story.result.text, story.result.reason) == ("done", "answered")
    assert asked(story)[-3:] == [
        ("step", 5, 1, "first/model"),
        ("compaction", 1, 1, "second/model"),
        ("step", 5, 2, "second/model"),
    ]
    assert story.result.steps == 5


def test_a_summary_is_written_by_the_second_model():
    one = ScriptedModel(filling(3_000, until=3, then=NO_KEY), ref="first/model", context_window=10_000)
    two = second("In short.", "done", context_window=10_000)
    story = tell([one, two], tools=[fill])
    assert story.result.text == "done"
    assert asked(story)[-3:] == [
        ("compaction", 1, 1, "first/model"),
        ("compaction", 1, 2, "second/model"),
        ("step", 3, 1, "second/model"),
    ]


def test_models_that_all_fail_are_asked_once_each_even_if_only_one_of_them_needs_a_summary():
    one = ScriptedModel(filling(3_000, until=3, then=NO_KEY), ref="first/model", context_window=10_000)
    two = second(then=NO_KEY, context_window=100_000)
    story = tell([one, two], tools=[fill])
    assert story.result.reason == "error"
    assert story.result.detail.split("; ") == [
        "first/model: no such key (its key is missing or wrong: bridle auth login first)",
        "second/model: no such key (its key is missing or wrong: bridle auth login second)",
    ]
    assert (len(one.requests), len(two.requests)) == (3, 1)


def test_a_synthesis_is_written_by_the_second_model():
    def play(request: ModelRequest):
        return NO_KEY if request.purpose == "synthesis" else [call("gather", source=source) for source in "ab"]

    story = tell([ScriptedModel(play, ref="first/model"), second("found")], tools=[gather])
    assert (story.result.reason, story.result.text) == ("synthesized", "found")
    assert [model for purpose, _, _, model in asked(story) if purpose == "synthesis"] == ["first/model", "second/model"]


def test_the_worst_case_is_reserved_at_the_price_of_the_model_that_is_asked():
    """A cheap model fails; the dear one gets only as much output as the limit still pays for."""
    one = first(NO_KEY, price=Price(1.0, 1.0))
    two = second(Reply(text="done", usage=Usage(100, 100)), price=Price(100.0, 100.0))
    story = tell([one, two], limits=Limits(cost=0.4))
    assert story.result.reason == "answered"
    assert one.requests[0].max_output_tokens == 8_192 > two.requests[0].max_output_tokens
    assert story.result.models["second/model"].cost == pytest.approx(0.02)
    assert story.result.cost <= 0.4


def test_a_model_that_the_limit_cannot_pay_for_is_not_asked():
    one = first(NO_KEY, price=Price(1.0, 1.0))
    two = second("never", price=Price(10_000.0, 10_000.0))
    story = tell([one, two], limits=Limits(cost=0.4))
    assert (story.result.reason, two.requests, story.result.steps) == ("cost_budget", [], 1)


def test_options_and_variants_are_those_of_the_model_that_is_asked():
    models = {
        "first/model": ModelSettings(options={"a": 1}, variants={"high": {"effort": 9}}),
        "second/model": ModelSettings(options={"b": 2}),
    }
    one, two = first(NO_KEY), second("done")
    tell(
        [one, two],
        settings=Settings(models=models),
        options=TurnOptions(model="first/model", fallbacks=("second/model",), variant="high", options={"t": 0.5}),
    )
    assert one.requests[0].options == {"a": 1, "effort": 9, "t": 0.5}
    assert two.requests[0].options == {"b": 2, "t": 0.5}


def test_a_new_turn_begins_with_the_first_model_again_and_old_records_have_no_fallbacks():
    one = ScriptedModel(lambda request: NO_KEY if request.id.startswith("1.") else "well again", ref="first/model")

    async def ask_again(runtime, session, id):
        await runtime.wait(session, id)
        again = await runtime.prompt(session, "more")
        await runtime.wait(session, again)

    story = tell([one, second("done")], people=ask_again)
    assert [model for _, _, _, model in asked(story)] == ["first/model", "second/model", "first/model"]
    start = story.parts(TurnStart)[-1]
    assert [each.model for each in start.fallbacks] == ["second/model"]


def test_followers_see_that_the_reply_starts_anew():
    half = Reply(text="half of it " * 9, chunk=11, pace=0.3, error=ScriptedError("gone", status=404))
    story = tell([first(half), second("whole")])
    shown = EventStream(story.entries[0].events[0].info.id)
    told = [event for entry in story.entries for event in shown.of_entry(entry)]
    kinds = [type(event).__name__ for event in told]
    assert kinds.index("DeltaEvent") < kinds.index("RemovedEvent") < kinds.index("RetryEvent")
    retry = told[kinds.index("RetryEvent")]
    assert (retry.attempt, retry.model, retry.message) == (
        1,
        "second/model",
        "gone (this error does not pass by itself)",
    )
    assert [event.text for event in told if type(event).__name__ == "TextEvent"] == ["whole"]
