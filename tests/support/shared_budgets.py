"""Eight subagents under one budget, in any order."""

import random
from collections.abc import Callable
from typing import Any

from bridle import Limits, Price, Reply, TreeLimits, call
from bridle.core.states import Done, Usage
from bridle.core.stream import ModelRequest
from support.trees import Family, family, spawn

PRICE = Price(input=1.0, output=4.0)


CHILDREN = 8


TREE = TreeLimits(steps=1_000, live=CHILDREN)


def worker(seed: int) -> Callable[[ModelRequest], Reply]:
    """Each child works for a few steps; what it reads is what it was estimated to read."""

    def play(request: ModelRequest) -> Reply:
        chance = random.Random(f"{seed} {request.messages[0].id} {request.id}")
        done = len(request.messages) >= 2 * chance.randint(1, 3)
        usage = Usage(input=300, output=chance.randint(50, 700))
        calls = () if done or request.tool_choice == "none" else (call("look", key=f"{request.id} {seed}"),)
        return Reply(text="work", calls=calls, usage=usage, delay=chance.choice([0.0, 0.3, 1.0, 5.0]))

    return play


def crew(seed: int, budget: float, *, background: bool = False, **more: Any) -> Family:
    """Eight subagents, awaited or in the background; a root that awaits none answers after each report."""
    together = Reply(text="all together", usage=Usage(600, 100))
    return family(
        root=[[spawn(f"part {n}", background=background) for n in range(CHILDREN)], *[together] * (CHILDREN + 1)],
        child=worker(seed),
        price=PRICE,
        limits=Limits(cost=budget),
        tree=TREE,
        seed=seed,
        max_output_tokens=2_048,
        **more,
    )


def estimate_error(story: Family) -> float:
    """What requests read beyond their estimate, in money."""
    return (CHILDREN + len(story.requests("root")) - 2) * 600 * PRICE.input / 1e6


def check_tight(seed: int, *, background: bool = False) -> None:
    """A budget that is too small: never overspent, every child reports, and the root's closing is paid for."""
    chance = random.Random(seed)
    budget = chance.uniform(0.02, 0.06)
    story = crew(seed, budget, background=background)
    assert story.result.cost <= budget + estimate_error(story), (seed, story.result.cost, budget)
    assert all(account.reserved.cost == 0 and account.keeps.cost == 0 for account in story.accounts), seed
    reports = [made.state for made in story.calls()]
    assert len(reports) == CHILDREN and story.result.text, seed
    if story.result.reason != "answered":
        # Whoever is closed by the budget is told so, and the root still had money for its last words.
        assert story.result.reason in ("cost_budget", "tree_budget"), seed
        assert [request.purpose for request in story.requests("root")][-1] == "closing", seed


def check_roomy(seed: int) -> None:
    """A budget above the real demand and the reserves: parallel reservations make people wait, and close nobody."""
    story = crew(seed, 0.15)
    assert all(isinstance(made.state, Done) for made in story.calls()), seed
    assert story.result.reason == "answered", seed
    assert story.result.cost <= 0.15
