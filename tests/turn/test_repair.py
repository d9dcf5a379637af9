"""Calls as other harnesses write them are repaired; what cannot be repaired is told to the model before it counts."""

import pytest
from support.stories import tell

from bridle import Agent, ScriptedModel, call
from bridle.core.inbox import TurnOptions
from bridle.core.messages import ResultMessage
from bridle.core.parts import Call
from bridle.core.repair import arguments_of
from bridle.core.stream import ToolCall
from bridle.testing.scripted import ScriptedCall
from bridle.tools.bash import BashArguments
from bridle.tools.builtin import builtin
from bridle.tools.edit import EditArguments
from bridle.tools.grep import GrepArguments
from bridle.tools.list import ListArguments
from bridle.tools.read import ReadArguments
from bridle.tools.task import TaskArguments
from bridle.tools.tool import Output
from bridle.tools.webfetch import WebfetchArguments
from bridle.tools.write import WriteArguments
from bridle.turn.repair_call import call_part


def bad(number=0):
    return call(f"no_such_tool_{number}")


def test_several_malformed_calls_in_one_reply_count_once():
    story = tell(ScriptedModel([[bad(1), bad(2), bad(3)], [bad(4), bad(5)], "Done."]))
    assert (story.result.reason, story.result.text) == ("answered", "Done.")
    assert {state for _, state in story.calls} == {"invalid"}


def test_malformed_calls_in_three_replies_in_a_row_are_a_loop():
    story = tell(ScriptedModel([[bad(1), bad(2)], [bad(3)], [bad(4), bad(5)], "Closed."]))
    assert story.result.reason == "doom_loop"
    assert [state for _, state in story.calls] == ["invalid", "invalid", "invalid", "doom_loop", "invalid"]


def test_a_reply_with_a_call_that_runs_ends_the_row_of_malformed_ones_wherever_the_call_stands():
    mixed = [[bad(1), call("look", key="a")], [call("look", key="b"), bad(2)], [bad(3), call("look", key="c")]]
    story = tell(ScriptedModel([*mixed, bad(4), bad(5), "Done."]))
    assert story.result.reason == "answered"


async def _none(given, invocation):
    return Output("")


def tools():
    shapes = {
        "read": ReadArguments,
        "write": WriteArguments,
        "edit": EditArguments,
        "bash": BashArguments,
        "grep": GrepArguments,
        "list": ListArguments,
        "webfetch": WebfetchArguments,
        "task": TaskArguments,
    }
    return {name: builtin(name, shape, _none, needs=lambda given, directory: ()) for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("Read", {"file_path": "a.py", "limit": "20"}, {"filePath": "a.py", "limit": "20"}),
        ("read", {"path": "a.py"}, {"filePath": "a.py"}),
        ("read", {"target_file": "a.py"}, {"filePath": "a.py"}),
        ("read", {"absolute_path": "/a.py"}, {"filePath": "/a.py"}),
        ("write", {"file_path": "a.py", "contents": "x"}, {"filePath": "a.py", "content": "x"}),
        ("write", {"path": "a.py", "file_text": "x"}, {"filePath": "a.py", "content": "x"}),
        (
            "Edit",
            {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True},
            {"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": True},
        ),
        ("edit", {"path": "a", "old_str": "x", "new_str": "y"}, {"filePath": "a", "oldString": "x", "newString": "y"}),
        ("bash", {"command": "ls", "run_in_background": True}, {"command": "ls", "background": True}),
        ("bash", {"cmd": "ls", "cwd": "src"}, {"command": "ls", "workdir": "src"}),
        ("grep", {"pattern": "x", "glob": "*.py"}, {"pattern": "x", "include": "*.py"}),
        ("grep", {"query": "x", "directory": "src"}, {"pattern": "x", "path": "src"}),
        ("list", {"dir_path": "src"}, {"path": "src"}),
        (
            "task",
            {"description": "d", "prompt": "p", "subagentType": "general"},
            {"description": "d", "prompt": "p", "subagent_type": "general"},
        ),
    ],
)
def test_the_argument_names_of_other_harnesses_are_taken_as_ours(name, given, meant):
    event = ToolCall(name, ScriptedCall(name, given).text)
    part = call_part("1", event, tools(), offered=tools())
    assert (part.invalid, part.name, arguments_of(part.arguments)) == ("", name.lower(), meant)
    assert all(f"`{key}`" in part.note for key in given if key not in meant)


@pytest.mark.parametrize(
    ("name", "given", "meant", "noted"),
    [
        ("webfetch", {"url": "u", "prompt": "sum it up"}, {"url": "u"}, "`prompt`"),
        ("read", {"filePath": "a", "file_path": "b"}, {"filePath": "a"}, "`file_path`"),
        ("read", {"filePath": "a", "limit": None, "pages": "1"}, {"filePath": "a"}, "`pages`"),
    ],
)
def test_an_unknown_argument_beside_a_complete_call_is_dropped_and_noted(name, given, meant, noted):
    part = call_part("1", ToolCall(name, ScriptedCall(name, given).text), tools(), offered=tools())
    assert (part.invalid, arguments_of(part.arguments)) == ("", meant)
    assert noted in part.note


def test_a_call_that_stays_incomplete_keeps_its_arguments_and_names_what_is_wrong():
    part = call_part("1", ToolCall("edit", '{"file_path": "a", "nonsense": 1}'), tools(), offered=["edit"])
    assert arguments_of(part.arguments) == {"file_path": "a", "nonsense": 1}
    assert "oldString" in part.invalid and part.invalid.endswith("Available tools: edit.")


def test_a_repaired_call_runs_and_the_model_reads_what_was_repaired():
    model = ScriptedModel([[ScriptedCall("Look", {"KEY": "7", "colour": "red"})], "Done."])
    story = tell(model)
    assert (story.ran, story.calls) == (["look 7"], [("look", "done")])
    (read,) = [message for message in model.requests[-1].messages if isinstance(message, ResultMessage)]
    assert read.text.startswith("saw 7\n\n[") and "`KEY`" in read.text and "`colour`" in read.text


def outputs(story):
    return [made.state.output for made in story.parts(Call)]


def test_an_error_lists_only_the_tools_that_this_turn_offers():
    story = tell(ScriptedModel([bad(), "Done."]), options=TurnOptions(tools={"poll": False}))
    assert outputs(story) == ['There is no tool "no_such_tool_0". Available tools: broken, look, silent.']


def test_a_task_that_is_not_offered_is_not_listed():
    child = Agent("child", model=ScriptedModel(["never asked"], ref="child"), description="digs")
    model = ScriptedModel([bad(), "Done."])
    story = tell(model, subagents=[child], options=TurnOptions(tools={"task": False}))
    assert outputs(story) == ['There is no tool "no_such_tool_0". Available tools: broken, look, poll, silent.']


def test_the_hidden_tool_for_invalid_calls_answers_with_the_error_and_is_never_offered_or_listed():
    model = ScriptedModel([call("invalid", tool="read", error="filePath is missing"), "Done."])
    story = tell(model)
    (told,) = outputs(story)
    assert told == "The call of read was invalid: filePath is missing. Available tools: broken, look, poll, silent."
    assert story.calls == [("invalid", "invalid")]
    assert all(spec.name != "invalid" for request in model.requests for spec in request.tools)
