"""Thoughts that a model writes into its text are found, however the text is cut into deltas."""

import pytest

from bridle.core.thinking import Thinking


def split(text, size):
    """What was said and what was thought, if the text arrives in pieces of this size."""
    thinking = Thinking()
    pieces = [piece for at in range(0, len(text), size) for piece in thinking.take(text[at : at + size])]
    pieces += thinking.end()
    said = "".join(words for kind, words in pieces if kind == "text")
    return said, "".join(words for kind, words in pieces if kind == "reasoning")


CASES = [
    ("<think>Hm.</think>\n\nYes.", "Yes.", "Hm."),
    ("\n<think>\nHm.\n</think>Yes.", "Yes.", "\nHm.\n"),
    ("<thinking>Hm.</thinking>Yes.", "Yes.", "Hm."),
    ("<THINK>Hm.</THINK>Yes.", "Yes.", "Hm."),
    ("[THINK]Hm.[/THINK]Yes.", "Yes.", "Hm."),
    ("<thought>Hm.</thought>Yes.", "Yes.", "Hm."),
    ("<seed:think>Hm.</seed:think>Yes.", "Yes.", "Hm."),
    ("◁think▷Hm.◁/think▷Yes.", "Yes.", "Hm."),
    ("<|begin_of_thought|>Hm.<|end_of_thought|>Yes.", "Yes.", "Hm."),
    ("<think>One.</think>\n<think>Two.</think>\nYes.", "Yes.", "One.Two."),
    ("<think></think>Yes.", "Yes.", ""),
    ("<think>Is a < b? </thi", "", "Is a < b? </thi"),
    ("<think>Hm.</think>Write <think> in it.", "Write <think> in it.", "Hm."),
    ("Write <think>x</think> in it.", "Write <think>x</think> in it.", ""),
    ("  <b>bold</b>", "  <b>bold</b>", ""),
    ("<thi", "<thi", ""),
    ("<thinkable>", "<thinkable>", ""),
    ("  ", "  ", ""),
    ("42.", "42.", ""),
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize(("text", "said", "thought"), CASES)
def test_thoughts_at_the_start_of_a_reply_are_no_text(text, said, thought, size):
    assert split(text, size) == (said, thought)


def test_plain_text_passes_at_once():
    thinking = Thinking()
    assert list(thinking.take("Hel")) == [("text", "Hel")]
    assert list(thinking.take("lo <think>")) == [("text", "lo <think>")]
    assert list(thinking.end()) == []
