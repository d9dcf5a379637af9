"""The detector on its own: tables of call sequences."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.core.repetition import UNKNOWN, Chant, Repetition, repeats


def fires_at(pairs, limit=60):
    """The place of the call that is stopped, or None."""
    past = Repetition()
    for place, (call, result) in enumerate(pairs[:limit], 1):
        if repeats(past, [], call):
            return place
        past.add(call, result)
    return None


def same(keys, rounds=20):
    return [(key, f"result of {key}") for _ in range(rounds) for key in keys]


TABLE = [
    ("one call", same("a"), 3),
    ("two in turn", same("ab"), 6),
    ("three in turn", same("abc"), 9),
    ("four in turn", same("abcd"), 12),
    ("five in turn", same("abcde"), 15),
    ("six in turn", same("abcdef"), 18),
    ("seven in turn: nothing new for twelve calls", same("abcdefg"), 19),
    ("a pair and a stranger", same("aab"), 9),
    ("one call, changing result", [("a", str(n)) for n in range(60)], None),
    ("different calls, same result", [(str(n), "ok") for n in range(60)], None),
    ("edit and test, changing result", [p for n in range(30) for p in (("edit", "ok"), ("test", str(n)))], None),
    ("one call, two results in turn: twelve without news", [("a", str(n % 2)) for n in range(60)], 14),
]


@pytest.mark.parametrize(("name", "pairs", "place"), TABLE, ids=[row[0] for row in TABLE])
def test_where_a_sequence_is_stopped(name, pairs, place):
    assert fires_at(pairs) == place


def test_results_that_are_still_unknown_count_as_equal():
    past = Repetition()
    past.add("a", "1")
    past.add("a", "2")
    assert not repeats(past, [], "a")
    assert repeats(past, [("a", UNKNOWN)], "a")


def test_a_restart_counts_anew():
    past = Repetition()
    past.add("a", "1")
    past.add("a", "1")
    assert repeats(past, [], "a")
    past.restart()
    assert not repeats(past, [], "a")
    assert past == Repetition()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 10**6).map(str)), max_size=40))
def test_calls_whose_every_result_is_new_are_never_stopped(pairs):
    fresh = [(call, f"{place} {result}") for place, (call, result) in enumerate(pairs)]
    assert fires_at(fresh) is None


def heard(text, chunk=7):
    chant = Chant()
    for start in range(0, len(text), chunk):
        if chant.heard(text[start : start + chunk]):
            return start + chunk
    return None


SENTENCE = "Let me look at the file again to be sure. "


def test_a_chant_is_heard_about_the_tenth_time():
    at = heard(SENTENCE * 50)
    assert at is not None
    assert 9 * len(SENTENCE) < at < 14 * len(SENTENCE)


@pytest.mark.parametrize("chunk", [1, 13, 500, 10_000])
def test_a_chant_with_a_counter_between_is_heard_in_any_chunks(chunk):
    text = "".join(f"{SENTENCE}I will now read the whole of it once more. ({n}) " for n in range(60))
    assert heard(text, chunk) is not None


LEGITIMATE = {
    "prose": " ".join(
        f"Sentence {n} says something new about topic {n * 7}, which differs from the last." for n in range(300)
    ),
    "a table": "| name | value |\n| --- | --- |\n" + "".join(f"| row {n} | {n * n} |\n" for n in range(300)),
    "a rule": "-" * 5_000,
    "code": "```\n" + "    self.assertEqual(value.compute(), expected)\n" * 60 + "```\n",
}


@pytest.mark.parametrize("name", LEGITIMATE)
def test_ordinary_text_is_no_chant(name):
    assert heard(LEGITIMATE[name]) is None
