"""Loops are seen on the record; work that repeats for a reason is left alone."""

import itertools

import pytest
from support.stories import tell

from bridle import Agent, Limits, Rule, ScriptedModel, call, tool
from bridle.core.inbox import TurnOptions
from bridle.core.limits import MAX_STEPS
from bridle.tools.bash import TOOL as BASH


def cycle(*calls):
    """The same calls over and over, one a step, until tools are off."""
    endless = itertools.cycle(calls)
    return ScriptedModel(lambda request: next(endless) if request.tool_choice == "auto" else "In circles.")


def keyed(*keys):
    return cycle(*(call("look", key=key) for key in keys))


def test_the_third_identical_call_is_not_run():
    story = tell(keyed("a"))
    assert (story.result.reason, story.ran) == ("doom_loop", ["look a", "look a"])
    assert story.calls[-1] == ("look", "doom_loop")
    assert story.sentinels == ["Doom loop: the same calls were repeated without progress"]


@pytest.mark.parametrize("period", [2, 3, 4, 5, 6])
def test_a_cycle_is_stopped_at_the_call_that_would_complete_its_third_round(period):
    keys = "abcdef"[:period]
    story = tell(keyed(*keys))
    assert (story.result.reason, len(story.ran)) == ("doom_loop", 3 * period - 1)


def test_of_five_identical_calls_in_one_step_two_run_and_different_ones_too():
    batch = [call("look", key="a")] * 5 + [call("poll", key="b")]
    story = tell(ScriptedModel([batch, "closed"]))
    assert sorted(story.ran) == ["look a", "look a", "poll b"]
    assert [state for _, state in story.calls] == ["done", "done", "doom_loop", "doom_loop", "doom_loop", "done"]
    assert story.result.reason == "doom_loop"


def test_permuted_keys_are_the_same_call():
    @tool
    async def pair(a: int, b: int) -> str:
        """Take two."""
        return "same"

    model = cycle(call("pair", a=1, b=2), call("pair", b=2, a=1))
    story = tell(model, tools=[pair])
    assert (story.result.reason, story.result.tool_calls) == ("doom_loop", 2)


def test_blanks_at_the_end_of_a_value_make_no_other_call_and_those_before_it_do():
    @tool
    async def poke(key: str) -> str:
        """Poke at something."""
        return "same"

    blanks = itertools.count()
    trailing = ScriptedModel(
        lambda request: call("poke", key="a" + " \n" * next(blanks)) if request.tool_choice == "auto" else "In circles."
    )
    story = tell(trailing, tools=[poke])
    assert (story.result.reason, story.result.tool_calls) == ("doom_loop", 2)
    indented = ScriptedModel([*(call("poke", key=" " * depth + "a") for depth in range(5)), "Done."])
    story = tell(indented, tools=[poke])
    assert (story.result.reason, story.result.tool_calls) == ("answered", 5)


def test_a_changed_description_is_the_same_command(tmp_path):
    numbers = itertools.count()
    model = ScriptedModel(
        lambda request: (
            call("bash", command="true", description=f"try {next(numbers)}")
            if request.tool_choice == "auto"
            else "closed"
        )
    )
    result = Agent(model=model, tools=[BASH], on_ask="allow", directory=tmp_path).run_sync("go")
    assert (result.reason, result.tool_calls) == ("doom_loop", 2)


def test_an_identical_failing_call_is_a_loop():
    story = tell(cycle(call("broken", key="x")))
    assert (story.result.reason, story.ran) == ("doom_loop", ["broken x", "broken x"])


def test_an_identical_output_above_the_cap_is_a_loop():
    @tool
    async def flood() -> str:
        """Say much."""
        return "line\n" * 5_000

    story = tell(cycle(call("flood")), tools=[flood])
    assert (story.result.reason, story.result.tool_calls) == ("doom_loop", 2)


def test_outputs_that_differ_only_where_they_are_capped_are_different_results():
    turns = itertools.count()

    @tool
    async def flood() -> str:
        """Say much, each time a little else in the middle."""
        return "line\n" * 2_500 + f"{next(turns)}\n" + "line\n" * 2_500

    story = tell(cycle(call("flood")), tools=[flood], limits=Limits(tool_calls=20))
    assert story.result.reason == "tool_budget"


def test_three_malformed_calls_in_a_row_are_a_loop():
    numbers = itertools.count()
    model = ScriptedModel(
        lambda request: call(f"no_such_tool_{next(numbers)}") if request.tool_choice == "auto" else "closed"
    )
    story = tell(model)
    assert story.result.reason == "doom_loop"
    assert [state for _, state in story.calls] == ["invalid", "invalid", "doom_loop"]


def test_a_call_that_is_denied_again_and_again_is_a_loop():
    story = tell(keyed("a"), permission=(Rule("python", "look", "deny"), Rule("python", "poll", "allow")))
    assert [state for _, state in story.calls] == ["denied", "denied", "doom_loop"]


def test_twelve_calls_without_anything_new_are_a_loop():
    keys = iter("ab" + "aabbabaabbabbaab" * 4)
    model = ScriptedModel(lambda r: call("look", key=next(keys)) if r.tool_choice == "auto" else "closed")
    story = tell(model)
    assert story.result.reason == "doom_loop"
    assert len(story.ran) <= 2 + 11


LEGITIMATE = [
    ("polling whose result changes", [call("poll", key="job")] * 60),
    ("60 different searches that find nothing", [call("silent", key=f"word {n}") for n in range(60)]),
    ("30 writes that each say the same", [call("silent", key=f"file {n}") for n in range(30)]),
    ("an edit-test cycle whose result changes", [call("silent", key="edit"), call("poll", key="test")] * 20),
    ("polling with something between", [call("poll", key="job"), call("look", key="log")] * 20),
]


@pytest.mark.parametrize(("name", "calls"), LEGITIMATE, ids=[name for name, _ in LEGITIMATE])
def test_legitimate_repetition_passes(name, calls):
    story = tell(ScriptedModel([*calls, "done"]))
    assert (story.result.reason, len(story.ran)) == ("answered", len(calls))


def test_doom_loop_is_asked_and_allow_once_restarts_the_count():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        assert [ask.accesses[0].permission for ask in result.asks] == ["doom_loop"]
        await runtime.answer(session, result.asks[0].id, "once")

    story = tell(keyed("a"), options=TurnOptions(on_ask="pause"), people=people)
    assert story.result.reason == "paused"
    assert len(story.ran) == 3 + 1


def test_always_holds_for_that_tool_in_this_turn():
    async def people(runtime, session, prompt):
        result = await runtime.wait(session, prompt)
        await runtime.answer(session, result.asks[0].id, "always")

    story = tell(keyed("a"), steps=9, options=TurnOptions(on_ask="pause"), people=people)
    assert (story.result.reason, len(story.ran)) == ("step_cap", 8)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [(Rule("*", "*", "allow"), "doom_loop"), (Rule("doom_loop", "*", "allow"), "step_cap")],
    ids=["a wildcard never answers", "a rule that names it does"],
)
def test_only_a_rule_that_names_doom_loop_answers_it(rule, reason):
    story = tell(keyed("a"), steps=20, permission=(rule,), options=TurnOptions(on_ask="allow"))
    assert story.result.reason == reason


def test_a_stubborn_model_makes_no_more_requests_than_it_takes_to_see_it():
    model = ScriptedModel(lambda request: call("look", key="a"))
    story = tell(model)
    assert len(model.requests) == 4 < MAX_STEPS
    assert (story.result.reason, story.result.exit_status) == ("doom_loop", 3)
