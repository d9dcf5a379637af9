"""A context that outgrows the window is made smaller, provably, or the turn ends with its task kept."""

import asyncio

import pytest
from support.stories import look, tell

from bridle import Limits, Output, Reply, ScriptedModel, call, tool
from bridle.config.settings import CompactionSettings, Settings
from bridle.core.compaction import PLACEHOLDER
from bridle.core.messages import FRAME, Attachment, ResultMessage, UserMessage
from bridle.core.parts import Compaction, Request
from bridle.core.states import Usage
from bridle.testing.scripted import ScriptedError

WINDOW = 10_000


@tool
async def fill(key: str = "", words: int = 3_000) -> str:
    """Say many words."""
    return f"{key} " + "word " * words


def used(request):
    """What a provider would count: a token for four characters."""
    size = len(request.system) + sum(len(str(message)) for message in request.messages)
    return Usage(input=size // 4, output=10)


def playing(replies, *, summary="In short: all is well.", then="done"):
    """Steps by number, a summary when one is asked for; usage as a provider counts it."""

    def play(request):
        assert used(request).total + 500 < WINDOW, "a request must fit the window"
        if request.purpose == "compaction":
            return summary(request) if callable(summary) else Reply(text=summary, usage=used(request))
        number = int(request.id.split(".")[1])
        said = replies[number - 1] if number <= len(replies) else then
        if callable(said):
            return said(request)
        given = Reply(text=said) if isinstance(said, str) else Reply(calls=(said,))
        return Reply(text=given.text, calls=given.calls, usage=used(request))

    return play


def counted(replies):
    """A model with a large window that counts what it reads."""

    def play(request):
        said = replies[int(request.id.split(".")[1]) - 1]
        return (
            Reply(text=said, usage=used(request))
            if isinstance(said, str)
            else Reply(calls=(said,), usage=used(request))
        )

    return ScriptedModel(play, context_window=1_000_000)


def compactions(story):
    return [(part.cause, part.outcome, part.by) for part in story.parts(Compaction) if part.cause != "prune"]


def filled(story_replies=None, *, model=None, **more):
    model = model or ScriptedModel(
        playing(story_replies), context_window=WINDOW, max_output_tokens=more.pop("max_output", 1_024)
    )
    return tell(model, tools=[fill, look], **more)


def test_a_full_window_is_compacted_and_the_turn_goes_on_under_the_same_numbers():
    story = filled([call("fill", key=str(n)) for n in range(4)], prompt="Fill it, but keep the door shut.")
    assert (story.result.reason, story.result.steps, story.result.tool_calls) == ("answered", 5, 4)
    assert compactions(story) and set(compactions(story)) == {("usage", "smaller", "model")}
    after = [request for request in story.model.requests if request.purpose == "step"][-1]
    assert after.messages[0].text.endswith("In short: all is well.")
    assert after.messages[1] == UserMessage(after.messages[1].id, "Fill it, but keep the door shut.")
    part = story.parts(Compaction)[0]
    assert part.after <= 0.8 * part.before


def test_a_provider_that_counts_a_full_window_after_every_reply_ends_the_turn_after_two_compactions():
    """Progress is proven by what the provider counts, not by what was estimated."""

    def play(request):
        if request.purpose == "compaction":
            return Reply(text="In short: all is well.", usage=used(request))
        usage = used(request) if request.id == "1.1.1" else Usage(input=WINDOW - 500, output=10)
        return Reply(calls=(call("fill", key=request.id, words=100),), usage=usage)

    story = filled(model=ScriptedModel(play, context_window=WINDOW, max_output_tokens=1_024))
    assert (story.result.reason, story.result.steps) == ("context_full", 4)
    assert compactions(story) == [("usage", "smaller", "model")] * 2


def test_words_that_the_provider_counts_as_dense_are_estimated_so():
    """Chinese, or many small results: four characters for a token would be far too few."""

    def dense(request):
        return Usage(input=sum(len(message.text) for message in request.messages), output=10)

    sizes = iter((200, 2_000))

    def play(request):
        assert dense(request).total < WINDOW, "a request must fit the window"
        if request.purpose == "compaction":
            return Reply(text="In short: all is well.", usage=dense(request))
        words = next(sizes, 0)
        calls = (call("fill", words=words),) if words else ()
        return Reply(text="" if calls else "done", calls=calls, usage=dense(request))

    story = filled(model=ScriptedModel(play, context_window=WINDOW, max_output_tokens=1_024))
    assert (story.result.reason, story.result.text) == ("answered", "done")
    assert compactions(story) == [("usage", "smaller", "model")]


def test_many_small_results_are_not_taken_for_less_than_they_are_on_the_wire():
    """Each has a role, a kind and an id there, which are longer than its words."""

    def play(request):
        assert used(request).total < WINDOW, "a request must fit the window"
        if request.purpose == "compaction":
            return Reply(text="In short: all is well.", usage=used(request))
        if request.id == "1.3.1":
            return Reply(text="done", usage=used(request))
        return Reply(calls=tuple(call("look", key=f"{request.id} {n}") for n in range(90)), usage=used(request))

    model = ScriptedModel(play, context_window=WINDOW, max_output_tokens=1_024)
    story = filled(model=model, prompt="word " * 2_500)
    assert (story.result.reason, story.result.text) == ("answered", "done")


def test_a_compaction_is_charged_and_recorded_but_is_no_step():
    story = filled([call("fill", key=str(n)) for n in range(4)])
    asked = [request for request in story.parts(Request) if request.purpose == "compaction"]
    assert asked and all(type(request.state).__name__ == "Replied" for request in asked)
    assert story.result.tokens == sum(request.state.usage.total for request in story.parts(Request))
    assert story.result.steps == 5


def test_a_second_compaction_brings_the_first_summary_up_to_date():
    heard = []

    def summary(request):
        heard.append(request.messages[0].text)
        return Reply(text=f"Summary {len(heard)}.", usage=used(request))

    story = filled(
        model=ScriptedModel(
            playing([call("fill", key=str(n)) for n in range(9)], summary=summary),
            context_window=WINDOW,
            max_output_tokens=1_024,
        )
    )
    assert len(heard) >= 2
    assert "Summary 1." in heard[1]
    assert story.result.reason == "answered"


def test_the_providers_word_that_it_overflows_compacts_and_asks_again_under_the_same_number():
    once = []

    def second(request):
        if not once:
            once.append(request)
            return Reply(error=ScriptedError("too long", 400, overflow=True))
        return Reply(text="done", usage=used(request))

    story = filled([call("fill", words=500), second])
    assert compactions(story) == [("overflow", "smaller", "model")]
    assert (story.result.reason, story.result.steps) == ("answered", 2)


def overflow_for_ever(request):
    return Reply(error=ScriptedError("too long", 400, overflow=True))


@pytest.mark.parametrize(
    "summary, by",
    [
        (lambda request: Reply(text=""), "bridle"),
        (lambda request: Reply(text="  \n"), "bridle"),
        (lambda request: Reply(calls=(call("fill"),)), "bridle"),
        (lambda request: Reply(error=ScriptedError("no", 404)), "bridle"),
        (overflow_for_ever, "bridle"),
        (lambda request: Reply(text="I will now look at it once more, with great care. " * 40), "bridle"),
    ],
    ids=["empty", "blank", "calling", "failing", "overflowing", "chanting"],
)
def test_a_summary_that_is_none_is_written_by_bridle(summary, by):
    story = filled(
        model=ScriptedModel(
            playing([call("fill", key=str(n)) for n in range(3)], summary=summary),
            context_window=WINDOW,
            max_output_tokens=1_024,
        )
    )
    assert compactions(story) == [("usage", "smaller", by)]
    assert story.result.reason == "answered"
    asked = sum(request.purpose == "compaction" for request in story.model.requests)
    assert asked <= 2


@pytest.mark.parametrize(
    "replies, summary",
    [
        ([call("fill", words=500), overflow_for_ever], "short"),
        ([call("fill", key=key) for key in "abc"], lambda request: Reply(text=" ".join(map(str, range(9_000))))),
    ],
    ids=["overflow for ever", "growing summary"],
)
def test_what_cannot_be_made_smaller_ends_bounded_with_the_task_kept(replies, summary):
    story = filled(
        model=ScriptedModel(playing(replies, summary=summary), context_window=WINDOW, max_output_tokens=1_024),
        prompt="Keep the door shut.",
    )
    assert story.result.reason == "context_full"
    assert story.sentinels == ["The context window is full"]
    assert len(compactions(story)) == 2
    assert len(story.model.requests) <= 6
    last = [request for request in story.model.requests if request.purpose == "step"][-1]
    assert "Keep the door shut." in [message.text for message in last.messages if isinstance(message, UserMessage)]


def test_a_summary_for_which_no_budget_is_left_is_written_by_bridle():
    refused = []

    def overflow_once(request):
        refused.append(request.id)
        return overflow_for_ever(request) if len(refused) == 1 else Reply(text="done", usage=used(request))

    story = filled([call("fill", words=500), overflow_once], limits=Limits(tokens=5_000))
    assert compactions(story) == [("overflow", "smaller", "bridle")]
    assert [request.purpose for request in story.model.requests] == ["step"] * 3
    assert (story.result.reason, story.result.text) == ("answered", "done")


def test_a_prompt_that_fills_the_window_is_shown_by_its_ends():
    prompt = "HEAD " + "word " * 9_000 + " TAIL"
    story = filled(["done"], prompt=prompt)
    (part,) = story.parts(Compaction)
    (shown,) = part.shortened.values()
    assert shown.startswith("HEAD") and shown.endswith("TAIL") and len(shown) < len(prompt) / 3
    assert story.result.reason == "answered"


def test_without_automatic_compaction_an_overflow_is_an_error():
    model = ScriptedModel([Reply(error=ScriptedError("too long", 400, overflow=True))], context_window=WINDOW)
    story = tell(model, settings=Settings(agent="build", compaction=CompactionSettings(auto=False)))
    assert story.result.reason == "error"
    assert compactions(story) == []


def test_a_compaction_by_hand_is_a_turn_of_its_own():
    async def people(runtime, session, prompt):
        await runtime.wait(session, prompt)
        await runtime.compact(session)
        await runtime.parked(session)

    story = tell(
        ScriptedModel(
            [call("fill", key="a", words=2_000), Reply(text="first", usage=Usage(2_600, 5)), "In short."],
            context_window=100_000,
        ),
        tools=[fill],
        people=people,
    )
    assert compactions(story)[-1] == ("manual", "smaller", "model")
    assert story.session.turns == 2
    finish = story.session.turn.finish
    assert (finish.reason, finish.spent.steps) == ("answered", 0)
    assert "compacted from about" in story.session.parts[finish.answer[0]].text
    assert story.session.messages[0].text.endswith("In short.")


def test_a_compaction_by_hand_in_a_running_turn_comes_before_its_next_step():
    async def people(runtime, session, prompt):
        await asyncio.sleep(1)
        await runtime.compact(session)

    story = tell(
        ScriptedModel(
            [Reply(calls=(call("fill", key="a", words=2_000),), delay=5), "In short.", "done"],
            context_window=100_000,
        ),
        tools=[fill],
        people=people,
    )
    assert [request.purpose for request in story.model.requests] == ["step", "compaction", "step"]
    assert (story.result.reason, story.result.steps) == ("answered", 2)


def test_old_outputs_are_pruned_at_the_end_of_a_turn_in_a_block_worth_it():
    calls = [call("fill", key=str(n), words=9_000) for n in range(8)]
    story = tell(counted([*calls, "done"]), tools=[fill])
    (part,) = story.parts(Compaction)
    assert (part.cause, part.outcome) == ("prune", "smaller")
    results = [message for message in story.session.messages if isinstance(message, ResultMessage)]
    gone = [message.text == PLACEHOLDER for message in results]
    assert gone == sorted(gone, reverse=True) and 1 <= sum(gone) < 8
    assert story.session.characters == sum(FRAME + len(message.text) for message in story.session.messages) + sum(
        FRAME + len(made.name) + len(made.arguments)
        for message in story.session.messages
        for made in getattr(message, "calls", ())
    )


def test_few_outputs_are_not_worth_pruning_and_one_setting_turns_it_off():
    few = tell(counted([call("fill"), "done"]), tools=[fill])
    assert few.parts(Compaction) == []
    calls = [call("fill", key=str(n), words=9_000) for n in range(8)]
    off = tell(
        counted([*calls, "done"]),
        tools=[fill],
        settings=Settings(agent="build", compaction=CompactionSettings(prune=False)),
    )
    assert off.parts(Compaction) == []


PICTURE = Attachment("horse.png", "image/png", "aGk=")


@tool
async def photograph(key: str = "") -> Output:
    """Show a picture."""
    return Output(f"[a picture {key}]", attached=(PICTURE,))


def test_what_a_call_shows_stands_behind_the_results_of_its_step():
    """The story is checked on all three wires and against a full scan, as every story is."""
    story = tell(
        ScriptedModel([[call("photograph", key="a"), call("look", key="b"), call("photograph", key="c")], "A horse."]),
        tools=(photograph, look),
    )
    shown = story.model.requests[-1].messages[-4:]
    assert [type(message).__name__ for message in shown] == ["ResultMessage"] * 3 + ["UserMessage"]
    expected = UserMessage("1.1.1.0.0.attached", "[read: horse.png, horse.png]", (PICTURE, PICTURE), "attached")
    assert shown[-1] == expected


def test_old_pictures_are_pruned_like_old_outputs():
    rounds = [[call("photograph", key=f"{turn}.{number}") for number in range(8)] for turn in range(20)]
    story = tell(ScriptedModel([*rounds, "Horses."]), tools=(photograph,))
    messages = story.session.messages
    gone = [message for message in messages if message.text == PLACEHOLDER]
    assert gone and all(not message.attachments for message in gone)
    newest = [message for message in messages if message.id.endswith(".attached")][-1]
    assert newest.attachments == (PICTURE,) * 8
