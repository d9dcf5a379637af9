"""What is still to be done is what a call has recorded as that, whatever calls print."""

import msgspec
import pytest
from support.stories import look, tell

from bridle import ScriptedModel, call, tool
from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.fold import load
from bridle.core.limits import Limits
from bridle.core.parts import Call, Extension, Notice, TurnStart
from bridle.core.states import Done
from bridle.core.todos import Todo, open_todos
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Output
from bridle.wire.entries import decode_events, encode

TODOWRITE = next(tool for tool in builtin_tools() if tool.spec.name == "todowrite")
PRINTED = "[ ] groom\n[>] shoe"


@tool
async def jot(key: str = "") -> Output:
    """Print something that looks like a list."""
    return Output(PRINTED, kept=True)


@tool(name="todowrite")
async def lookalike(key: str = "") -> Output:
    """Print something that looks like a list, under the name of the tool that keeps one."""
    return Output(PRINTED, kept=True)


@tool
async def plan(content: str) -> Output:
    """Keep a list of one's own."""
    return Output("planned", todos=(Todo(content), Todo("rest", "completed")))


@tool
async def halve(key: str = "") -> Output:
    """Keep a list that cannot be written as it is."""
    return Output("halved", todos=(Todo("half \ud800"),))


def ending(*calls, tools):
    """The lines of the text that Bridle writes where a model would not stop calling."""
    story = tell(ScriptedModel([*calls], then=call("look", key="b")), steps=len(calls) + 1, tools=(look, *tools))
    assert story.result.reason == "step_cap"
    return [line for line in story.result.text.splitlines() if "to be done" in line]


WRITE = call("todowrite", todos=[{"content": "feed", "status": "completed"}, {"content": "ride"}])


@pytest.mark.parametrize(
    ("calls", "tools", "told"),
    [
        ([WRITE], [TODOWRITE], ["Still to be done: ride."]),
        ([WRITE, call("jot")], [TODOWRITE, jot], ["Still to be done: ride."]),
        ([WRITE, call("todowrite", todos=[])], [TODOWRITE], []),
        ([call("jot")], [jot], []),
        ([call("todowrite")], [lookalike], []),
        ([call("plan", content="graze")], [plan], ["Still to be done: graze."]),
    ],
    ids=["written", "printed by another", "emptied", "only printed", "printed under its name", "a tool of one's own"],
)
def test_only_a_recorded_list_says_what_is_to_be_done(calls, tools, told):
    assert ending(*calls, tools=tools) == told


def test_a_list_is_recorded_as_it_was_written_with_every_letter_mended():
    story = tell(ScriptedModel([call("halve"), WRITE, "Done."]), tools=(halve, TODOWRITE))
    recorded = [made.state.todos for made in story.parts(Call)]
    assert recorded == [(Todo("half ?"),), (Todo("feed", "completed"), Todo("ride"))]
    assert (story.session.todos, open_todos(story.session.todos)) == (recorded[1], ["ride"])


def test_old_records_say_nothing_of_what_they_did_not_know():
    """A session as it was recorded before: a list that was printed, and an extension without its item."""
    start = TurnStart("1.start", 1, "build", "m", 5, Limits(), "deny")
    made = Call("1.1.1.0.0", "todowrite", "{}", "d")
    done = CallMoved(made.id, Done(PRINTED, "d", kept=True))
    extension = Extension("1.extension.ext_1", "steps", 2.0)
    notice = Notice("1.extension.ext_2", "extension", "no")
    events = (PartPut(start), PartPut(made), done, PartPut(extension), PartPut(notice))
    raw = encode(events)
    assert [word for word in (b"todos", b'"item"') if word in raw] == []
    session = load([Entry(1, 0.0, 0.0, decode_events(raw))])
    assert (session.todos, session.kept) == ((), {"todowrite": PRINTED})
    assert session.parts == {
        part.id: part for part in (start, msgspec.structs.replace(made, state=done.state), extension, notice)
    }
