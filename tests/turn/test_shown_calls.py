"""Replies that show calls or JSON, and replies that are calls written as text: tests/data/written_calls.toml."""

import msgspec
import pytest
from support.data import load
from support.stories import tell

from bridle import ScriptedModel, tool
from bridle.core.agent import ModelInfo
from bridle.core.parts import Call
from bridle.model.prompted_tools import TextCalls


class Shown(msgspec.Struct, forbid_unknown_fields=True):
    why: str
    text: str
    bare: bool = False


class Meant(msgspec.Struct, forbid_unknown_fields=True):
    why: str
    text: str
    calls: list[tuple[str, str]]


class Corpus(msgspec.Struct, forbid_unknown_fields=True):
    shown: list[Shown]
    meant: list[Meant]


CORPUS = load("written_calls.toml", Corpus)
BESIDE_OTHER_TEXT = [row for row in CORPUS.shown if not row.bare]


@tool
async def read(filePath: str = "") -> str:
    """Read a file."""
    return "one"


@tool
async def write(filePath: str = "", content: str = "") -> str:
    """Write a file."""
    return "written"


@tool
async def edit(filePath: str = "", oldString: str = "", newString: str = "") -> str:
    """Edit a file."""
    return "edited"


@tool
async def bash(command: str = "") -> str:
    """Run a command."""
    return "done"


@tool
async def grep(pattern: str = "") -> str:
    """Search."""
    return "nothing"


class Worded(TextCalls):
    """A scripted model that is told its tools in the prompt."""

    def __init__(self, inner):
        super().__init__(inner, ModelInfo("worded", calls="text"), constrained=False)
        self.requests = inner.requests


def told(kind, text):
    """Return how a turn ends in which a model of this kind says this, and then that it is done."""
    model = ScriptedModel([text, "Done."])
    if kind == "text":
        model = Worded(model)
    else:
        model.info = msgspec.structs.replace(model.info, calls=kind)
    story = tell(model, tools=(read, write, edit, bash, grep))
    return story.result.text.strip(), [(made.name, made.arguments) for made in story.parts(Call)]


def named(rows):
    return {"argvalues": rows, "ids": [row.why for row in rows]}


def test_the_corpus_shows_sixty_different_replies():
    assert len({row.text for row in CORPUS.shown}) == len({row.why for row in CORPUS.shown}) == 60


@pytest.mark.parametrize("row", **named(CORPUS.shown))
def test_a_reply_of_a_model_that_calls_natively_is_never_taken_as_a_call(row):
    assert told("native", row.text) == (row.text.strip(), [])


@pytest.mark.parametrize("kind", ["unknown", "text"])
@pytest.mark.parametrize("row", **named(BESIDE_OTHER_TEXT))
def test_a_reply_that_only_shows_calls_is_text_for_every_model(kind, row):
    assert told(kind, row.text) == (row.text.strip(), [])


@pytest.mark.parametrize("kind", ["unknown", "text"])
@pytest.mark.parametrize("row", **named(CORPUS.meant))
def test_a_reply_that_is_nothing_but_calls_is_taken_as_these_calls(kind, row):
    text, made = told(kind, row.text)
    assert (text, made) == ("Done.", row.calls)
