"""A process that dies while subagents work in the background: whoever comes next loses none of them."""

from dataclasses import replace

import pytest
from support.crash import Left, check, lived, play
from support.crash_scenarios import aborting, answering, person, script, step_of
from support.cut_process import Scenario
from support.virtual import SESSION

from bridle import Reply, Rule, call
from bridle.config.settings import TreeSettings
from bridle.core.fold import load
from bridle.core.messages import UserMessage
from bridle.core.parts import Call, Request
from bridle.core.states import Done, Failed

STRIDE = 23


def beside(key):
    return call("task", description="a piece", prompt=f"do {key}", subagent_type="child", background=True)


def middle(request):
    """A subagent that works on beside its own in the background; those at the bottom only act."""
    if request.session.count(".") > 5:
        return "done"
    return {1: beside("deep"), 2: Reply(calls=(call("act", key="m"),), delay=1.0)}.get(step_of(request), "done")


def child(request):
    return Reply(calls=(call("act", key="d"),), delay=1.0) if step_of(request) == 1 else "done"


SCENARIOS = [
    # An answer that comes before the report is given again after it: whether it does depends on the moment of death.
    (
        Scenario(
            "answered before its report",
            script(beside("a"), call("act", key="b"), then="done"),
            person(),
            ("answered", 0, 2),
            child=child,
        ),
        (3, 4),
    ),
    (
        Scenario(
            "two beside an awaited one, with a place for one",
            script([beside("a"), beside("b"), call("look", key="c")], then="done"),
            person(),
            ("answered", 0, 3),
            child=child,
            tree=TreeSettings(live=1),
        ),
        (2, 3, 4),
    ),
    (
        Scenario(
            "aborted by the closing step",
            script(beside("a"), call("act", key="b"), then="closed"),
            person(),
            ("step_cap", 3, 2),
            child=script(Reply(text="thinking", hang=True)),
            steps=3,
        ),
        (3,),
    ),
    (
        Scenario(
            "aborted while it is awaited",
            script(beside("a"), then="done"),
            aborting,
            ("aborted", 2, 1),
            child=script(Reply(text="thinking", hang=True)),
        ),
        (2,),
    ),
    (
        Scenario(
            "with subagents of their own in the background",
            script(beside("a"), then="done"),
            person(),
            ("answered", 0, 1),
            child=middle,
            tree=TreeSettings(depth=2, live=2),
        ),
        (2, 3),
    ),
    (
        Scenario(
            "asking while another works",
            script([beside("a"), beside("b")], then="done"),
            answering,
            ("answered", 0, 2),
            on_ask="pause",
            child=lambda request: (
                child(request) if "do a" in request.messages[0].text else Reply(text="done", delay=5.0)
            ),
            child_permission=(Rule("python", "act", "ask"),),
        ),
        (2, 3, 4),
    ),
]


def check_reports(left, story):
    """Every subagent was started once, has reported once, and the model was told of that."""
    reported = set()
    for kept in left.store._sessions.values():
        session = load(kept.entries)
        calls = [part for part in session.parts.values() if isinstance(part, Call) and part.name == "task"]
        ended = [part for part in calls if isinstance(part.state, (Done, Failed))]
        assert [part for part in calls if part not in ended and part.state.refusal.limit != "depth"] == [], story
        reported |= {part.state.report.child for part in ended if part.state.report is not None}
        told = [message.id for message in session.messages if isinstance(message, UserMessage)]
        assert sorted(id for id in told if id.endswith(".report")) == sorted(f"{part.id}.report" for part in ended)
    assert reported == set(left.store._sessions) - {SESSION}, story


def survived(scenario, steps, result, left, cuts, requests):
    story = f"{scenario.name}, cut at {cuts}"
    assert result.steps in steps, story
    reason, _, calls = scenario.ends
    check(replace(scenario, ends=(reason, result.steps, calls)), result, left, cuts, requests)
    check_reports(left, story)


@pytest.mark.slow
@pytest.mark.parametrize("scenario, steps", SCENARIOS, ids=lambda value: getattr(value, "name", ""))
def test_a_turn_with_subagents_in_the_background_resumes_from_every_point(scenario, steps):
    whole, left, points = play(scenario)
    parts = load(left.store._sessions[SESSION].entries).parts.values()
    requests = sum(isinstance(part, Request) for part in parts) + len(steps) - 1
    survived(scenario, steps, whole, left, (), requests)
    once, twice = {}, set()
    for at in range(1, len(points) + 1):
        _, dead, _ = lived(scenario, Left(), 0, at)
        found = dead.told()
        if found in once:
            continue
        result, left, second = lived(scenario, dead, 1)
        survived(scenario, steps, result, left, (at,), requests)
        once[found] = len(second)
        for again in range(1 + at % STRIDE, len(second) + 1, STRIDE):
            _, dead_again, _ = lived(scenario, dead, 1, again)
            if (found_again := dead_again.told()) not in twice:
                twice.add(found_again)
                result, left, _ = lived(scenario, dead_again, 2)
                survived(scenario, steps, result, left, (at, again), requests)
