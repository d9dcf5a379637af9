"""Caps hold, whatever the model says."""

import pytest
from support.stories import tell

from bridle import Limits, Reply, ScriptedModel, call
from bridle.core.limits import Spent
from bridle.core.parts import TurnStart
from bridle.core.session import OpenTurn
from bridle.turn.closing import limit_notice


def counter(request):
    """Always a new call, so that only the cap can stop it."""
    return call("look", key=request.id)


def obedient(request):
    return "That is all I could do." if request.tool_choice == "none" else counter(request)


LONG = [pytest.param(steps, 200, marks=pytest.mark.slow) for steps in (200, None, 210)]
CAPS = [(1, 1), (2, 2), (3, 3), (5, 5), (10, 10), *LONG]


@pytest.mark.parametrize(("steps", "requests"), CAPS)
@pytest.mark.parametrize("model", [obedient, counter], ids=["obedient", "defiant"])
def test_a_cap_of_n_is_n_requests_of_which_the_last_cannot_act(steps, requests, model):
    story = tell(ScriptedModel(model), steps=steps, limits=Limits(tool_calls=1_000))
    assert len(story.model.requests) == requests
    assert [request.tool_choice for request in story.model.requests] == ["auto"] * (requests - 1) + ["none"]
    assert (story.result.reason, story.result.exit_status) == ("step_cap", 3)
    assert (story.result.steps, story.result.tool_calls, len(story.ran)) == (requests, requests - 1, requests - 1)
    assert story.sentinels == [f"Step limit reached ({requests}/{requests})"]
    assert story.result.text.strip()


def test_the_defiant_call_is_refused_by_the_name_of_its_limit_and_bridle_writes_the_text():
    story = tell(ScriptedModel(counter), steps=3)
    assert story.calls == [("look", "done"), ("look", "done"), ("look", "limit steps")]
    assert story.ran == ["look 1.1.1", "look 1.2.1"]
    assert story.result.text == (
        "Step limit reached (3/3).\nDone in this turn: 3 steps, 2 tool calls (look 2 times).\n"
        'Nothing was lost: say "continue" to go on from here.'
    )


def test_steps_0_is_one_text_only_request_without_closing_or_sentinel():
    story = tell(ScriptedModel([Reply(text="Just words.", calls=(call("look", key="x"),))]), steps=0)
    assert (story.result.reason, story.result.text, story.result.exit_status) == ("answered", "Just words.", 0)
    assert [(request.tools, request.tool_choice) for request in story.model.requests] == [((), "none")]
    assert story.sentinels == [] and story.ran == []
    assert story.calls == [("look", "tools_off")]
    assert story.notices == ["1 call refused: this agent has no tools"]


def test_an_answer_before_the_cap_is_an_answer():
    story = tell(ScriptedModel([call("look", key="a"), "Done."]), steps=5)
    assert (story.result.reason, story.result.steps, story.sentinels) == ("answered", 2, [])
    tokens, seconds = story.result.tokens, story.result.seconds
    assert story.result.spent == Spent(2, 1, tokens, 0.0, seconds) and tokens > 0


def test_a_value_over_the_ceiling_is_clamped_with_a_notice():
    story = tell(ScriptedModel(["hi"]), steps=210)
    assert story.notices == ["210 steps were requested; the ceiling is 200"]


def test_the_closing_instruction_is_a_user_message_that_names_the_limit():
    story = tell(ScriptedModel(obedient), steps=2)
    last = story.model.requests[-1].messages[-1]
    assert type(last).__name__ == "UserMessage"
    assert last.text.startswith("Step limit reached (2/2). Tools are off")


@pytest.mark.parametrize(("closing_tools", "offered"), [("omit", 0), ("none", 4)])
def test_the_closing_request_keeps_tools_only_where_the_provider_wants_them(closing_tools, offered):
    story = tell(ScriptedModel(obedient, closing_tools=closing_tools), steps=2)
    assert len(story.model.requests[-1].tools) == offered


def test_at_80_percent_reader_and_model_are_told_once():
    story = tell(ScriptedModel(counter), steps=10)
    assert story.notices == ["Step 8/10, 2 steps remaining"]
    told = [
        message.text for message in story.model.requests[-1].messages if "remaining" in getattr(message, "text", "")
    ]
    assert told == ["Step 8/10, 2 steps remaining"]


def test_of_five_parallel_calls_with_three_left_three_run():
    story = tell(ScriptedModel([[call("look", key=key) for key in "abcde"], "out"]), limits=Limits(tool_calls=3))
    assert sorted(story.ran) == ["look a", "look b", "look c"]
    assert [state for _, state in story.calls] == ["done"] * 3 + ["limit tool_calls"] * 2
    assert (story.result.reason, story.result.text) == ("tool_budget", "out")
    assert story.sentinels == ["Tool budget exhausted (3/3)"]


def test_a_call_that_is_refused_anyhow_takes_nothing_of_the_tool_budget():
    batch = [call("look", key=key) for key in "aaabc"]
    story = tell(ScriptedModel([batch, "out"]), limits=Limits(tool_calls=3))
    assert sorted(story.ran) == ["look a", "look a", "look b"]
    assert [state for _, state in story.calls] == ["done", "done", "doom_loop", "done", "limit tool_calls"]


def test_a_capped_session_goes_on_with_the_next_prompt():
    async def again(runtime, session, id):
        await runtime.wait(session, id)
        second = await runtime.prompt(session, "continue")
        result = await runtime.wait(session, second)
        assert (result.reason, result.text, result.turn) == ("answered", "Now it is done.", 2)

    model = ScriptedModel([call("look", key="a"), "half way", "Now it is done."])
    story = tell(model, steps=2, people=again)
    assert story.result.reason == "step_cap"
    assert [message.text for message in model.requests[-1].messages if message.text][-1] == "continue"


def test_each_limit_is_told_of_in_its_own_unit():
    turn = OpenTurn(TurnStart("1.start", 1, "build", "m", 10, Limits(10, 20, 30, 4.0, 50.0), "deny"))
    turn.used = Spent(tool_calls=16, tokens=24, cost=3.2)
    names = ("steps", "tool_calls", "tokens", "cost", "seconds")
    assert [limit_notice(turn, name, 8, 40.0).text for name in names] == [
        "Step 8/10, 2 steps remaining",
        "Tool call 16/20, 4 remaining",
        "24 of 30 tokens used",
        "$3.2000 of $4.0000 spent",
        "40 of 50 seconds used",
    ]
