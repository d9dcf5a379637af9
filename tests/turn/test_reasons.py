"""Every way in which a turn may end has its own word, and the exit status tells the truth."""

import asyncio

import pytest
from support.stories import tell

from bridle import ConfigError, Limits, Price, Reply, Rule, ScriptedModel, call
from bridle.core.inbox import TurnOptions
from bridle.core.states import Usage
from bridle.testing.scripted import ScriptedError

CHANT = "I will now look at the file and then I will fix it. "


def always(key="same"):
    return lambda request: call("look", key=key) if request.tool_choice == "auto" else "closed"


def fresh(request):
    return call("look", key=request.id) if request.tool_choice == "auto" else "closed"


async def abort(runtime, session, prompt):
    await asyncio.sleep(1)
    await runtime.abort(session, detail="by hand")


async def reject(runtime, session, prompt):
    result = await runtime.wait(session, prompt)
    await runtime.answer(session, result.asks[0].id, "reject")


ASK = (Rule("python", "look", "ask"),)
BIG = Usage(input=900, output=100)

ROWS = [
    ("answered", {"model": ["hi"]}, 0, 1, False),
    ("step_cap", {"model": fresh, "steps": 2}, 3, 2, True),
    ("tool_budget", {"model": fresh, "limits": Limits(tool_calls=2)}, 3, 3, True),
    (
        "token_budget",
        {"model": lambda r: Reply(usage=BIG, calls=(call("look", key=r.id),)), "limits": Limits(tokens=9_000)},
        3,
        None,
        True,
    ),
    (
        "cost_budget",
        {
            "model": lambda r: Reply(usage=BIG, calls=(call("look", key=r.id),)),
            "price": Price(1.0, 10.0),
            "limits": Limits(cost=0.05),
        },
        3,
        None,
        True,
    ),
    ("time_budget", {"model": [Reply(text="slow", delay=95), "closed"], "limits": Limits(seconds=100)}, 3, 2, True),
    ("doom_loop", {"model": always()}, 3, 4, True),
    ("denied", {"model": fresh, "permission": ASK, "on": "pause", "people": reject}, 4, 1, True),
    ("empty", {"model": ["", " \n"]}, 1, 2, True),
    ("error", {"model": [Reply(error=ScriptedError("no such model", status=404))]}, 1, 1, True),
    ("aborted", {"model": [Reply(hang=True)], "people": abort}, 130, 1, True),
]


@pytest.mark.parametrize(("reason", "given", "status", "requests", "sentinel"), ROWS, ids=[row[0] for row in ROWS])
def test_each_reason_has_its_exit_status_its_sentinel_and_its_text(reason, given, status, requests, sentinel):
    given = dict(given)
    model = ScriptedModel(given.pop("model"), price=given.pop("price", None))
    on_ask = given.pop("on", None)
    story = tell(model, options=TurnOptions(on_ask=on_ask), **given)
    assert (story.result.reason, story.result.exit_status) == (reason, status)
    assert len(story.sentinels) == sentinel
    assert story.result.text.strip()
    if requests is not None:
        assert len(model.requests) == requests


def test_paused_is_no_ending():
    story = tell(ScriptedModel(fresh), permission=ASK, options=TurnOptions(on_ask="pause"))
    assert (story.result.reason, story.result.exit_status) == ("paused", 5)
    assert [ask.text for ask in story.result.asks] == ["Allow python: look?"]


def test_answered_with_something_that_nobody_could_be_asked_exits_4():
    story = tell(ScriptedModel([call("look", key="a"), "I could not look."]), permission=ASK)
    assert (story.result.reason, story.result.denied, story.result.exit_status) == ("answered", True, 4)
    assert story.calls == [("look", "unasked")]


def test_a_rule_that_denies_is_told_to_the_model_and_the_turn_goes_on():
    rules = (Rule("python", "look", "deny"),)
    model = ScriptedModel([[call("look", key="a"), call("poll", key="b")], "Then not."])
    story = tell(model, permission=(*rules, Rule("python", "poll", "allow")))
    assert story.calls == [("look", "denied"), ("poll", "done")]
    assert (story.result.reason, story.result.exit_status) == ("answered", 0)


def test_a_rejection_with_feedback_is_told_to_the_model_and_the_turn_goes_on():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await runtime.answer(session, result.asks[0].id, "reject", "look elsewhere")

    model = ScriptedModel([call("look", key="a"), "I will look elsewhere."])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="pause"), people=people)
    assert story.result.reason == "answered"
    assert "look elsewhere" in model.requests[-1].messages[-1].text


def test_on_ask_allow_runs_what_needs_a_person():
    model = ScriptedModel([call("look", key="a"), "Saw it."])
    story = tell(model, permission=ASK, options=TurnOptions(on_ask="allow"))
    assert (story.calls, story.result.exit_status) == ([("look", "done")], 0)


def test_a_length_finish_marks_the_answer_as_cut():
    story = tell(ScriptedModel([Reply(text="It begins", finish="length")]))
    assert (story.result.reason, story.result.cut, story.result.text) == ("answered", True, "It begins")


def test_a_chanting_text_is_cut_off_and_the_turn_closes():
    model = ScriptedModel([Reply(text=CHANT * 40, chunk=20), "I was repeating myself."])
    story = tell(model)
    assert (story.result.reason, story.result.text) == ("doom_loop", "I was repeating myself.")
    spoken = model.requests[1].messages[-2].text
    assert 10 * len(CHANT) <= len(spoken) < 20 * len(CHANT)


def test_spending_stays_within_a_token_budget_also_with_the_closing_request():
    model = ScriptedModel(lambda r: Reply(usage=BIG, calls=(call("look", key=r.id),)))
    story = tell(model, limits=Limits(tokens=9_000))
    assert story.result.tokens <= 9_000
    assert model.requests[-1].tool_choice == "none"
    lowered = [request.max_output_tokens for request in model.requests]
    assert lowered[0] < 8_192 and min(lowered) >= 1_024


def test_when_not_even_the_closing_request_is_affordable_bridle_writes_the_text():
    story = tell(ScriptedModel(["never asked"]), limits=Limits(tokens=500))
    assert (story.result.reason, len(story.model.requests), story.result.steps) == ("token_budget", 0, 0)
    assert story.result.text.startswith("Token limit too low for a request (500 allowed, one may need ")


def test_a_cost_limit_on_a_model_without_a_price_is_refused_with_the_way_out():
    with pytest.raises(ConfigError, match=r'set \[models."scripted/model"\] price'):
        tell(ScriptedModel(["hi"]), limits=Limits(cost=1.0))


def test_a_call_ends_when_the_turns_time_is_up_and_the_turn_closes():
    model = ScriptedModel([call("nap"), "Time is up."])

    from bridle import tool

    @tool
    async def nap() -> str:
        """Sleep for long."""
        await asyncio.sleep(1_000)
        return "rested"

    story = tell(model, tools=[nap], limits=Limits(seconds=60))
    assert (story.result.reason, story.result.text) == ("time_budget", "Time is up.")
    assert story.calls == [("nap", "failed")]
    assert 53 < story.result.seconds < 61
