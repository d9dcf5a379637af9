"""Limits on their own: each is one comparison, and both of its sides are shown."""

from pathlib import Path
from types import SimpleNamespace
from typing import get_args, get_type_hints

import pytest
from support.limit_rows import EXPECTED, RECORD
from support.oracle import read_turn

from bridle.config.settings import AgentLimits, Allowance, LimitSettings, TreeSettings
from bridle.core.fold import load
from bridle.core.ledger import TreeLimits
from bridle.core.limits import (
    LIMIT_NAMES,
    LIMITS,
    LOWEST_OUTPUT_TOKENS,
    MOST,
    NOTHING,
    ROWS,
    TREE_BOUNDS,
    UNLIMITED,
    Bound,
    Limits,
    LimitsOfTree,
    ReachedLimit,
    Reason,
    Scope,
    Spent,
    closing_seconds,
    counted,
    effective_cap,
    limits_in,
    seconds_left,
    wrong_bound,
    wrong_limit,
)

ALL = Limits(10, 20, 30, 4.0, 50.0)


def numbers(scope):
    """The limits that can be set in a scope, each with the type of its number."""
    return {row.name: int if row.whole else float for row in ROWS if scope in row.scopes}


def fields(struct):
    return {name: type for name, type in get_type_hints(struct).items() if name in LIMIT_NAMES}


def test_what_is_allowed_and_what_is_spent_have_a_typed_field_for_each_row_in_its_order():
    assert [row.name for row in ROWS] == list(LIMIT_NAMES)
    assert list(get_type_hints(Limits).items()) == [(name, each | None) for name, each in numbers("turn").items()]
    assert list(get_type_hints(Spent).items()) == list(numbers("turn").items())


def test_settings_have_a_typed_field_for_each_row_of_their_scope():
    def optional(scope):
        return {name: each | None for name, each in numbers(scope).items()}

    # Steps have their own places: `behavior.max_steps`, and `steps` of an agent.
    of_a_turn = {name: each for name, each in optional("turn").items() if name != "steps"}
    assert (fields(AgentLimits), fields(LimitSettings)) == (of_a_turn, of_a_turn)
    assert (optional("day"), optional("month")) == (get_type_hints(Allowance), get_type_hints(Allowance))
    bounds = dict.fromkeys(TREE_BOUNDS, int)
    assert get_type_hints(TreeSettings) == optional("tree") | bounds
    assert get_type_hints(TreeLimits) == optional("turn") | bounds
    # A literal in a union of literals is one of its arguments.
    names = {name for each in get_args(Bound) for name in get_args(each)}
    assert names == {*LIMIT_NAMES, *TREE_BOUNDS}


def test_each_row_has_its_own_ending_and_words_and_can_be_set_for_a_turn():
    reasons = {row.reason for row in ROWS}
    assert len(reasons) == len({row.headline for row in ROWS}) == len({row.label for row in ROWS}) == len(ROWS)
    assert reasons <= {*get_args(Reason)}
    assert all("turn" in row.scopes and {*row.scopes} <= {*get_args(Scope)} and row.extension > 0 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=LIMIT_NAMES)
def test_each_row_says_what_people_read_and_how_it_is_counted(row):
    on = frozenset(switch for switch in ("last_closes", "thousands", "shared") if getattr(row, switch))
    numbers = (row.exact(1), row.amount(1, 2), row.amount(0.01, 0.05), row.bound(1))
    expected = EXPECTED[row.name]._replace(counts=None)
    assert expected == (*(row.label, row.units, numbers, row.headline, row.notice, None, row.help, row.extension, on),)


def test_small_amounts_of_money_are_told_with_four_decimals():
    cost = LIMITS["cost"]
    assert [cost.amount(0.05, allowed) for allowed in (0.0999, 0.1, 1.0)] == ["$0.0500", "$0.05", "$0.05"]


def test_one_of_something_is_singular():
    assert [counted(number, "tool call") for number in (0, 1, 2)] == ["0 tool calls", "1 tool call", "2 tool calls"]


def test_a_turn_counts_something_for_each_row():
    used = load(RECORD).view(RECORD[-1].elapsed).spent
    assert used == read_turn(RECORD).spent
    assert all(used.of(name) for name in LIMIT_NAMES)


@pytest.mark.parametrize("name", LIMIT_NAMES)
def test_no_limit_is_left_out_of_a_sum_a_comparison_or_a_bound(name):
    three, two = Spent(**{name: 3}), Spent(**{name: 2})
    assert (three.plus(two), three.minus(two)) == (Spent(**{name: 5}), Spent(**{name: 1}))
    loose, tight = Limits(**{name: 7}), Limits(**{name: 6})
    assert (loose.at_most(tight), tight.over(loose), tight.raised(name, 1)) == (tight, tight, loose)
    assert loose.nearly_reached(Spent(**{name: 6}), frozenset()) == (name,)
    assert loose.reached(Spent(**{name: 7})) == (name if name != "steps" else None)
    assert limits_in(SimpleNamespace(**{name: 7}, other=1)) == loose


def test_what_subagents_use_is_added_once():
    own, below = Spent(1, 2, 300, 0.5, 5.0), Spent(10, 20, 200, 0.25, 50.0)
    assert own.with_subagents(below) == Spent(11, 22, 300, 0.5, 5.0)
    assert own.without_subagents(below) == Spent(1, 2, 100, 0.25, 5.0)
    assert own.without_subagents(Spent(tokens=400, cost=1.0)) == Spent(1, 2, 0, 0.0, 5.0)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("depth", 0, None),
        ("depth", 3, None),
        ("depth", 4, "must be a whole number from 0 to 3, not 4"),
        ("live", 0, "must be a whole number from 1 to 64, not 0"),
        ("total", True, "must be a whole number from 0 to 1000, not True"),
        ("total", 1.0, "must be a whole number from 0 to 1000, not 1.0"),
    ],
)
def test_what_cannot_bound_a_tree_is_told_why(name, value, wrong):
    assert wrong_bound(name, value) == wrong


def test_what_was_spent_is_added_and_taken_away_limit_by_limit():
    assert Spent(1, 2, 3, 0.25, 5.0).plus(Spent(10, 20, 30, 0.5, 50.0)) == Spent(11, 22, 33, 0.75, 55.0)
    assert Spent(11, 22, 33, 0.75, 55.0).minus(Spent(10, 20, 30, 0.5, 50.0)) == Spent(1, 2, 3, 0.25, 5.0)


def test_a_balance_of_prices_that_drifted_reads_as_nothing():
    assert Spent(cost=0.1 + 0.2).minus(Spent(cost=0.3)) == NOTHING
    assert Spent(cost=0.3).minus(Spent(cost=0.1 + 0.2)) == NOTHING
    assert Spent(cost=0.1).minus(Spent(cost=0.2)) == NOTHING


def test_the_smallest_price_that_is_still_told_from_nothing():
    assert Spent(cost=2e-12).minus(Spent(cost=1e-12)) == Spent(cost=1e-12)
    assert Spent(cost=2e-13).minus(Spent(cost=1e-13)) == NOTHING


@pytest.mark.parametrize(
    ("limits", "spent", "reached"),
    [
        (UNLIMITED, Spent(10**9, 10**9, 10**9, 1e9, 1e9), None),
        (Limits(steps=1), Spent(steps=2), None),
        (Limits(tool_calls=3), Spent(tool_calls=2), None),
        (Limits(tool_calls=3), Spent(tool_calls=3), "tool_calls"),
        (Limits(tool_calls=0), NOTHING, "tool_calls"),
        (Limits(tokens=3), Spent(tokens=2), None),
        (Limits(tokens=3), Spent(tokens=3), "tokens"),
        (Limits(cost=3.0), Spent(cost=2.9), None),
        (Limits(cost=3.0), Spent(cost=3.0), "cost"),
        (Limits(seconds=100.0), Spent(seconds=89.9), None),
        (Limits(seconds=100.0), Spent(seconds=90.0), "seconds"),
        # A timer that was set for 14.58 s has fired.
        (Limits(seconds=16.2), Spent(seconds=14.579999999999998), "seconds"),
        (Limits(seconds=100.0), Spent(seconds=89.98), None),
        (Limits(seconds=100.0), Spent(seconds=90.0 - 0.01), "seconds"),
        (ALL, Spent(10, 20, 30, 4.0, 50.0), "tool_calls"),
        (ALL, Spent(10, 19, 30, 4.0, 50.0), "tokens"),
        (ALL, Spent(10, 19, 29, 4.0, 50.0), "cost"),
        (ALL, Spent(10, 19, 29, 3.9, 50.0), "seconds"),
    ],
)
def test_a_limit_is_reached_when_nothing_of_it_is_left(limits, spent, reached):
    assert limits.reached(spent) == reached


def test_a_tenth_of_the_time_is_held_back_for_the_closing_request_but_no_more_than_half_a_minute():
    assert [seconds_left(100.0, elapsed) for elapsed in (0.0, 30.0, 89.5, 95.0)] == [90.0, 60.0, 0.5, 0.01]
    assert [closing_seconds(seconds) for seconds in (100.0, 299.0, 300.0, 3_000.0)] == [10.0, 29.9, 30.0, 30.0]


def test_limits_of_which_four_fifths_are_spent_are_told_of():
    assert ALL.nearly_reached(Spent(8, 16, 24, 3.2, 40.0), frozenset()) == (
        *("steps", "tool_calls", "tokens", "cost", "seconds"),
    )
    assert ALL.nearly_reached(Spent(7, 15, 23, 3.1, 39.9), frozenset()) == ()
    assert ALL.nearly_reached(Spent(8, 16, 23, 3.1, 39.9), frozenset({"steps"})) == ("tool_calls",)


def test_of_a_limit_that_is_not_set_or_allows_nothing_nobody_is_told():
    assert UNLIMITED.nearly_reached(Spent(8, 8, 8, 8.0, 8.0), frozenset()) == ()
    assert Limits(tool_calls=0).nearly_reached(NOTHING, frozenset()) == ()


def test_the_smaller_of_two_limits_counts_and_a_limit_is_smaller_than_none():
    left = Limits(steps=1, tool_calls=9, tokens=5)
    right = Limits(steps=2, tool_calls=8, cost=1.0)
    both = Limits(steps=1, tool_calls=8, tokens=5, cost=1.0)
    assert (left.at_most(right), right.at_most(left)) == (both, both)


def test_limits_over_others_win_where_they_say_something():
    above, below = Limits(steps=1, tool_calls=0), Limits(steps=2, tool_calls=7, tokens=3)
    assert above.over(below) == Limits(steps=1, tool_calls=0, tokens=3)
    assert below.over(above) == below


def test_a_limit_is_raised_by_whole_numbers_where_things_are_counted():
    raised = ALL
    for name in ("steps", "tool_calls", "tokens", "cost", "seconds"):
        raised = raised.raised(name, 1.5)
    assert raised == Limits(11, 21, 31, 5.5, 51.5)
    # Equal numbers may differ in type, and only one of them is written down as a whole one.
    assert [type(value) for value in (raised.steps, raised.tool_calls, raised.tokens)] == [int, int, int]


def test_a_limit_that_is_not_set_cannot_be_raised():
    assert UNLIMITED.raised("tokens", 100) == UNLIMITED


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("steps", "many", "must be a whole number, not 'many'"),
        ("tool_calls", True, "must be a whole number, not True"),
        ("cost", None, "must be a number, not None"),
        ("seconds", False, "must be a number, not False"),
        ("steps", 1.5, "must be a whole number, not 1.5"),
        ("tool_calls", 1.0, "must be a whole number, not 1.0"),
        ("tokens", 1.0, "must be a whole number, not 1.0"),
        ("cost", float("inf"), "must be finite, not inf"),
        ("seconds", float("nan"), "must be finite, not nan"),
        ("tokens", MOST + 1, "must be at most 1000000000000000"),
        ("tokens", MOST, None),
        ("steps", -1, "must not be negative, not -1"),
        ("cost", -0.5, "must not be negative, not -0.5"),
        ("steps", 0, None),
        ("tool_calls", 0, None),
        ("tokens", 0, "must be more than 0: leave it out for no limit"),
        ("cost", 0, "must be more than 0: leave it out for no limit"),
        ("seconds", 0.0, "must be more than 0: leave it out for no limit"),
        ("steps", 1, None),
        ("tokens", 1, None),
        ("cost", 1, None),
        ("seconds", 0.5, None),
        ("seconds", 10**400, "must be at most 1000000000000000"),
        ("stepz", 1, f"is no limit (known: {', '.join(LIMIT_NAMES)})"),
    ],
)
def test_what_cannot_be_a_limit_is_told_why(name, value, wrong):
    assert wrong_limit(name, value) == wrong


def test_a_turn_has_the_steps_that_it_asks_for_up_to_the_ceiling():
    assert [effective_cap(steps, 200) for steps in (None, 0, 199, 201)] == [200, 0, 199, 200]


def test_a_reply_is_given_no_less_than_the_documents_say():
    limits = Path(__file__).parent.parent.parent / "docs" / "limits.md"
    assert f"down to {LOWEST_OUTPUT_TOKENS:,} tokens" in limits.read_text()


def test_limits_that_count_from_now_on_leave_out_what_was_used():
    used = Spent(steps=3, tool_calls=2, tokens=500, cost=0.25, seconds=4.0)
    own = Limits(steps=5, cost=1.0)
    assert own.given == {"steps": 5, "cost": 1.0}
    assert own.counted_from(used) == Limits(steps=8, cost=1.25)


def test_a_subagent_uses_up_what_is_counted_for_all():
    used = Spent(steps=3, tool_calls=2, tokens=500, cost=0.25, seconds=4.0)
    assert used.shared == Spent(tokens=500, cost=0.25)


def test_defaults_of_limits_are_those_of_the_documents():
    assert LimitsOfTree().steps == 1_000
    assert ReachedLimit("cost", "day", 1.0, 1.0).account == ""
    assert ROWS[0].since_start
