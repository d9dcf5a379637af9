"""The detector on its own: tables of call sequences."""

import pytest
from hypothesis import given, settings, strategies as st

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
    ("one call twice after another that said the same", [("a", "ok"), ("b", "ok"), ("b", "ok")], None),
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
    assert repeats(Repetition(), [("a", UNKNOWN), ("a", "1")], "a")


def test_of_a_long_turn_no_more_is_remembered_in_order_than_the_longest_cycle_needs():
    past = Repetition()
    for place in range(1_000):
        past.add(str(place), "ok")
    assert [call for call, _ in past.window] == [str(place) for place in range(983, 1_000)]


KNOWN = "abcdefghijklm"
"""More calls than the longest cycle has, so that going through them again is no cycle."""


def worn(stale):
    """A past in which everything is known, and the last calls brought nothing new."""
    past = Repetition()
    for key in KNOWN + KNOWN[:stale]:
        past.add(key, f"result of {key}")
    return past


@pytest.mark.parametrize(
    ("stale", "batch", "call", "stopped"),
    [
        (11, [], "l", True),
        (10, [], "l", False),
        (11, [], "new", False),
        (10, [("k", UNKNOWN)], "l", True),
        (9, [("k", UNKNOWN)], "l", False),
        (10, [("k", "result of k")], "l", True),
        (11, [("k", "news of k")], "l", False),
        (11, [("new", UNKNOWN)], "l", False),
        (11, [("new", "a result")], "l", False),
        (0, [("new", UNKNOWN), *((key, UNKNOWN) for key in KNOWN[:11])], "new", True),
        (0, [("new", UNKNOWN), *((key, UNKNOWN) for key in KNOWN[:10])], "new", False),
        (0, [("new", UNKNOWN), *((key, UNKNOWN) for key in KNOWN[:11])], "another", False),
    ],
)
def test_calls_of_the_same_step_count_among_those_that_bring_nothing_new(stale, batch, call, stopped):
    assert repeats(worn(stale), batch, call) is stopped


@pytest.mark.parametrize(("keys", "stopped"), [("abcdef", True), ("abcdefg", False)])
def test_within_one_step_a_cycle_of_six_is_the_longest_that_is_seen(keys, stopped):
    *before, last = keys * 3
    assert repeats(Repetition(), [(key, UNKNOWN) for key in before], last) is stopped


def test_calls_that_could_not_be_understood_are_counted_until_one_ends():
    past = Repetition()
    past.add_malformed()
    past.add_malformed()
    assert past.malformed == 2
    past.restart()
    assert past == Repetition()
    past.add_malformed()
    past.add("a", "1")
    assert past.malformed == 0


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


@pytest.mark.parametrize(
    ("length", "place"), [(10, 150), (30, 325), (42, 450), (60, 600), (100, 950), (200, 1850), (251, 2325), (300, None)]
)
def test_a_chant_is_heard_at_the_tenth_time_of_its_last_chunk_unless_that_comes_too_seldom(length, place):
    sentence = "".join(chr(ord("a") + n % 26) + str(n) for n in range(length))[:length]
    assert heard(sentence * 60, chunk=1) == place


@pytest.mark.parametrize("chunk", [1, 13, 500, 10_000])
def test_a_chant_with_a_counter_between_is_heard_in_any_chunks(chunk):
    text = "".join(f"{SENTENCE}I will now read the whole of it once more. ({n}) " for n in range(60))
    assert heard(text, chunk) is not None


def alone(n):
    """A character that comes nowhere else."""
    return chr(ord("一") + n)


FIFTY = "Now I will read this file once more from the top. "


@pytest.mark.parametrize(("same", "place"), [(FIFTY, 1_000), (FIFTY[1:], None)])
def test_fifty_characters_that_come_back_are_a_chant_and_fewer_are_none(same, place):
    text = "".join(alone(n) * (100 - len(same)) + same for n in range(60))
    assert heard(text, chunk=1) == place


@pytest.mark.parametrize(("letters", "place"), [("abcdefgh", 125), ("abcdefg", None)])
def test_what_has_fewer_than_eight_letters_is_no_sentence(letters, place):
    assert heard(letters * 300, chunk=1) == place


def apart(times):
    """A sentence so many times, each a character further from the places that are looked at than the one before."""
    return "".join(alone(n) + FIFTY for n in range(times))


def test_each_place_is_looked_at_once_so_that_a_text_costs_what_its_length_does():
    """Of these sentences the second and the 27th end at a place that is looked at."""
    begins = alone(100) + FIFTY + "".join(map(alone, range(101, 125))) + FIFTY
    assert heard(begins + apart(30), chunk=1) == len(begins) + 25 * 51


def test_a_place_is_judged_by_what_came_before_it_however_much_comes_at_once():
    """Of these sentences only the first ends at a place that is looked at: the rest comes after it."""
    text = FIFTY + apart(20)
    text += "".join(map(alone, range(100, 100 + (50 - len(text)) % 25)))
    assert not Chant().heard(text)


def test_what_was_said_is_counted_and_nothing_before_it():
    chant, sentence = Chant(), "Let me look at all of that once more from the top!"
    said = [chant.heard(sentence[:-1])] + [chant.heard(sentence[-1] + sentence[:-1]) for _ in range(10)]
    assert said == [False] * 10 + [True]


@pytest.mark.parametrize(("fences", "chants"), [(1, False), (2, True), (3, False), (4, True)])
def test_a_chant_behind_code_is_heard_and_within_it_is_none(fences, chants):
    assert (heard("```\n" * fences + SENTENCE * 20) is not None) is chants


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
