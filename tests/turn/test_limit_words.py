"""What is said of limits that a turn shares: the limit, whose it is, and both numbers."""

import itertools

import pytest
from support.stories import tell
from support.trees import family, spawn
from support.virtual import run_virtually

from bridle import Agent, Limits, Reply, ScriptedModel, Settings, call
from bridle.config.settings import LimitSettings
from bridle.core.agent import Price
from bridle.core.ledger import TreeLimits
from bridle.core.parts import Notice, Sentinel
from bridle.core.states import Usage
from bridle.journal.memory import MemoryJournal

PRICE = Price(10.0, 10.0)


def looking(**more):
    """A model that always looks at something else, and closes when it must."""
    keys = itertools.count()
    return ScriptedModel(
        lambda request: (
            Reply(calls=(call("look", key=str(next(keys))),), usage=Usage(4_000, 1_000))
            if request.tool_choice == "auto" and request.tools
            else Reply(text="Closed.", usage=Usage(4_000, 10))
        ),
        max_output_tokens=1_024,
        **more,
    )


def test_a_turn_alone_is_told_of_the_limit_of_its_tree_once_and_closes_with_its_numbers():
    model = looking()
    story = tell(model, tree=TreeLimits(steps=10))
    assert story.result.reason == "tree_budget"
    assert story.notices == ["Tree step limit nearly reached (8 of 10)"]
    assert story.sentinels == ["Tree step limit reached (9 of 10)"]
    told = [message.text for message in model.requests[-1].messages if hasattr(message, "attachments")]
    assert "Tree step limit nearly reached (8 of 10)" in told
    assert "Tree step limit reached (9 of 10)" in told[-1]


def test_calls_of_a_tree_are_a_limit_with_both_numbers():
    story = tell(looking(), tree=TreeLimits(tool_calls=5))
    assert story.result.reason == "tree_budget"
    assert story.notices == ["Tree tool call limit nearly reached (4 of 5)"]
    assert story.sentinels == ["Tree tool call limit reached (5 of 5)"]


def test_money_of_a_tree_is_told_in_dollars():
    story = tell(looking(price=PRICE), tree=TreeLimits(cost=1.0))
    assert story.result.reason == "tree_budget"
    assert story.notices == ["Tree cost limit nearly reached ($0.80 of $1.00)"]
    assert story.sentinels == ["Tree cost limit reached ($0.90 of $1.00)"]


@pytest.mark.parametrize(("scope", "word"), [("daily", "Daily"), ("monthly", "Monthly")])
def test_money_of_a_day_or_a_month_is_told_with_its_scope_and_both_numbers(scope, word):
    bound = type(LimitSettings().daily)(cost=1.0)
    settings = Settings(limits=LimitSettings(**{scope: bound}))
    story = tell(looking(price=PRICE), settings=settings)
    assert story.result.reason == "cost_budget"
    assert story.notices == [f"{word} cost limit nearly reached ($0.80 of $1.00)"]
    assert story.sentinels == [f"{word} cost limit reached ($0.90 of $1.00)"]


def test_a_subagent_and_its_parent_are_each_told_once():
    keys = itertools.count()

    def child(request):
        offered = request.tool_choice == "auto" and request.tools
        return call("look", key=f"c{next(keys)}") if offered else "Closed."

    story = family(root=[spawn("a"), "done"], child=child, tree=TreeLimits(steps=10))
    told = [
        [part.text for part in session.parts.values() if isinstance(part, Notice) and part.about == "budget"]
        for session in story.sessions.values()
    ]
    assert [len(texts) for texts in told] == [1, 1]
    assert all(text.startswith("Tree step limit nearly reached (") for texts in told for text in texts)
    ends = [
        part.text
        for session in story.sessions.values()
        for part in session.parts.values()
        if isinstance(part, Sentinel)
    ]
    assert ends and all(text.startswith("Tree step limit reached (") and text.endswith(" of 10)") for text in ends)


def test_a_limit_that_no_request_fits_says_what_one_may_cost():
    model = ScriptedModel(["Never said."], price=Price(10.0, 10.0), max_output_tokens=1_024)
    story = tell(model, limits=Limits(cost=0.005))
    assert (story.result.reason, model.requests) == ("cost_budget", [])
    (said,) = story.sentinels
    assert said.startswith("Cost limit too low for a request ($0.0050 allowed, one may need $0.0")
    assert said in story.result.text and "continue" not in story.result.text
    assert "raise the limit" in story.result.text


def test_a_limit_of_tokens_that_no_request_fits_says_so_too():
    model = ScriptedModel(["Never said."], max_output_tokens=1_024)
    story = tell(model, limits=Limits(tokens=500))
    assert story.sentinels[0].startswith("Token limit too low for a request (500 allowed, one may need ")


def test_an_exhausted_day_says_so_and_not_that_its_limit_is_too_low():
    async def work(seams):
        bound = type(LimitSettings().daily)(cost=0.5)
        settings = Settings(limits=LimitSettings(daily=bound))
        agent = Agent(model=looking(price=PRICE), settings=settings, seams=seams, journal=MemoryJournal())
        async with agent.runtime() as runtime:
            session = await runtime.create()
            for _ in range(20):
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
            state = await runtime.load(session)
            return result, [part.text for part in state.parts.values() if isinstance(part, Sentinel)]

    result, said = run_virtually(work)
    assert (result.reason, result.steps) == ("cost_budget", 0)
    assert said[-1].startswith("Daily cost limit reached ($0.") and said[-1].endswith(" of $0.50)")
