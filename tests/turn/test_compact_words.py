"""What is said of a compaction that a person asked for: to the person the truth, to the model nothing."""

import pytest
from support.virtual import run_virtually

from bridle import Agent, Reply, ScriptedModel
from bridle.core.parts import Compaction
from bridle.core.states import Usage
from bridle.surfaces.tui.views import view_of
from bridle.wire.projection import compaction_text


def compacted(*replies, summary):
    """A session that answered, was compacted by a person, and answered again."""
    model = ScriptedModel([*replies, "Then."], summary=summary)

    async def work(seams):
        async with Agent(model=model, seams=seams).runtime() as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "first"))
            await runtime.compact(session)
            await runtime.parked(session)
            await runtime.wait(session, await runtime.prompt(session, "second"))
            return await runtime.load(session)

    state = run_virtually(work)
    (part,) = [part for part in state.parts.values() if isinstance(part, Compaction) and part.outcome != "open"]
    return part, [message.text for message in model.requests[-1].messages]


def test_a_compaction_without_gain_says_nothing_to_the_model():
    part, read = compacted("Short.", summary="A much longer summary than what it stands for. " * 5)
    assert (part.outcome, read) == ("no_progress", ["first", "Short.", "second"])


def test_a_compaction_that_gained_leaves_its_summary_and_no_words_about_itself():
    long = Reply(text=" ".join(f"Word {n}." for n in range(4_000)), usage=Usage(12_000, 12_000))
    part, read = compacted(long, summary="In short.")
    assert part.outcome == "smaller"
    assert "In short." in read[0] and not any("compacted from about" in text for text in read)


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Compaction("c", "manual", "no_progress", before=215, after=235), "context not compacted: nothing to gain"),
        (Compaction("c", "usage", "smaller", before=900, after=300), "context compacted: 900 → 300 tokens"),
    ],
)
def test_every_surface_says_the_same_of_a_compaction(part, words):
    assert compaction_text(part) == words
    (row,) = view_of(part).rows(100)
    assert "".join(text for text, ink in row.pieces) == f"◇ C{words[1:]}"
