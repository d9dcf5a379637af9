"""A batch whose every result is marked is answered by one request, and the turn ends."""

import pytest
from support.stories import look, tell
from support.synthesis import gather, playing

from bridle import Reply, Rule, ScriptedModel, call
from bridle.core.limits import Limits
from bridle.core.parts import Request, ReservationRefused
from bridle.core.states import Broken, Usage
from bridle.testing.scripted import ScriptedError


def test_a_marked_batch_is_synthesised_and_ends_the_turn():
    model = ScriptedModel(playing("Both say yes."))
    story = tell(model, tools=[gather], prompt="Do they agree?")
    assert (story.result.reason, story.result.text) == ("synthesized", "Both say yes.")
    assert (story.result.steps, story.result.exit_status, story.sentinels) == (1, 0, [])
    asked = model.requests[-1]
    assert (asked.purpose, asked.tool_choice, asked.tools) == ("synthesis", "none", ())
    (words,) = [message.text for message in asked.messages]
    assert all(piece in words for piece in ("Do they agree?", "one says yes", "two says yes"))
    # The answer stands in the conversation, so that the next prompt builds on it.
    assert story.session.messages[-1].text == "Both say yes."
    assert story.result.tokens == sum(request.state.usage.total for request in story.parts(Request))


@pytest.mark.parametrize(
    "answer",
    [Reply(error=ScriptedError("gone", 404)), Reply(text=""), Reply(calls=(call("gather", source="three"),))],
    ids=["failed", "empty", "calling"],
)
def test_a_synthesis_that_fails_is_remembered_and_the_loop_goes_on(answer):
    story = tell(ScriptedModel(playing(answer)), tools=[gather])
    assert (story.result.reason, story.result.text, story.result.steps) == ("answered", "as usual", 2)
    assert sum(request.purpose == "synthesis" for request in story.parts(Request)) == 1


def test_synthesised_with_something_that_nobody_could_be_asked_exits_4():
    replies = [call("look", key="a"), [call("gather", source="one"), call("gather", source="two")], "Both say yes."]
    rules = (Rule("python", "look", "ask"),)
    story = tell(ScriptedModel(replies), tools=[gather, look], permission=rules)
    assert (story.result.reason, story.result.denied, story.result.exit_status) == ("synthesized", True, 4)


def test_one_call_that_is_not_marked_makes_it_an_ordinary_batch():
    story = tell(
        ScriptedModel([[call("gather", source="one"), call("look", key="x")], "as usual"]), tools=[gather, look]
    )
    assert (story.result.reason, story.result.text) == ("answered", "as usual")


def test_a_synthesis_uses_up_no_step_of_the_cap():
    story = tell(ScriptedModel(playing("Both.")), tools=[gather], steps=2)
    assert (story.result.reason, story.result.steps) == ("synthesized", 1)


def test_a_budget_that_is_gone_closes_instead():
    story = tell(ScriptedModel(playing("Both.")), tools=[gather], limits=Limits(tool_calls=2))
    assert story.result.reason == "tool_budget"


HALF = Reply(text="half " * 900, error=ScriptedError("x", 503))


@pytest.mark.parametrize(("tokens", "answer", "tried"), [(4_000, "never", False), (5_500, HALF, True)])
def test_a_synthesis_or_another_try_of_it_that_cannot_be_paid_for_closes_the_turn(tokens, answer, tried):
    def play(request):
        if request.purpose == "step":
            return Reply(calls=(call("gather", source="one"),), usage=Usage(100, 1_200))
        return answer if request.purpose == "synthesis" else "closed"

    story = tell(ScriptedModel(play), tools=[gather], limits=Limits(tokens=tokens))
    assert (story.result.reason, story.result.text) == ("token_budget", "closed")
    (refused,) = story.parts(ReservationRefused)
    assert (refused.id, refused.limit) == ("1.1.s1.refused", "tokens")
    side_requests = [request.state for request in story.parts(Request) if request.purpose == "synthesis"]
    assert [type(state) for state in side_requests] == [Broken] * tried
    assert [request.purpose for request in story.model.requests] == ["step", *["synthesis"] * tried, "closing"]
