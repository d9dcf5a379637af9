"""Every class that a signature of the public API names is public itself."""

import inspect
from typing import get_args, get_origin, get_type_hints

import bridle
from bridle import Agent, Runtime, Sessions, TurnOptions

NAMES = {name: getattr(bridle, name) for name in bridle.__all__}
PUBLIC = {kind for kind in NAMES.values() if inspect.isclass(kind)}
NOT_TAKEN = {
    "ContextTool": "made by @tool",
    "PlainTool": "made by @tool",
    "Function": "any function",
    "RunArguments": "the arguments of `run`, by their names",
    "Missing": "the default of an argument",
    "UserSetup": "what the command line adds",
    "Program": "made by an agent",
    "KnownWindows": "made by an agent",
    "WrapsTool": "made by @tool",
    "Delegation": "written by Bridle alone",
    "Branch": "a view of a tree",
    "Dumps": "an object of another library",
    "AgentRunner": "made by a call",
    "FunctionTool": "made by @tool",
    "_Decorator": "made by @tool",
    "Messages": "a sequence of `Message`",
    **dict.fromkeys(
        ["Start", "StepBegin", "TextStart", "TextEnd", "ReasoningStart", "ReasoningEnd", "ToolResult", "ToolError"],
        "an event that a model may leave out",
    ),
}
"""Classes that no program has to name, and why."""
METHODS = {
    Agent: ["__init__", "run", "run_sync", "stream", "resume", "answer", "begin", "history", "override", "runtime"],
    Runtime: ["__init__", "open", "listen"],
    Sessions: [name for name, each in vars(Sessions).items() if name[0] != "_" and inspect.isfunction(each)],
}
FIELDS = ["RuntimeConfig", "TurnOptions", "ModelRequest", "Output", "Ask", "AccountUse", "Result", "Hooks", "Context"]


def classes(kind):
    """The classes of Bridle that an annotation names."""
    found = {get_origin(kind) or kind}
    for inner in get_args(kind):
        for each in inner if isinstance(inner, list) else [inner]:
            found |= classes(each)
    return {each for each in found if inspect.isclass(each) and each.__module__.startswith("bridle")}


def signatures():
    names = {**NAMES, "Listen": object}
    for owner, methods in METHODS.items():
        for method in methods:
            hints = get_type_hints(inspect.unwrap(getattr(owner, method)), localns=names)
            yield from ((f"{owner.__name__}.{method}: {name}", kind) for name, kind in hints.items())
    for function in (bridle.tool, bridle.coding_tools, bridle.from_openai, bridle.to_openai, bridle.Model.stream):
        hints = get_type_hints(inspect.unwrap(function), localns=names)
        yield from ((f"{function.__qualname__}: {name}", kind) for name, kind in hints.items())
    for owner in FIELDS:
        hints = get_type_hints(NAMES[owner], localns=names)
        yield from ((f"{owner}.{name}", kind) for name, kind in hints.items())


def test_a_program_can_import_every_class_that_it_passes_or_gets():
    named = [(place, each) for place, kind in signatures() for each in classes(kind)]
    hidden = {
        f"{place} {each.__name__}" for place, each in named if each not in PUBLIC and each.__name__ not in NOT_TAKEN
    }
    assert len(named) > 150
    assert TurnOptions in {each for _, each in named}
    assert hidden == set()
