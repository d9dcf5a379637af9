"""A call of a built-in tool, from what a model wrote to what is judged: a line with its name, then its arguments."""

import json
import tempfile
from pathlib import Path

import jsonschema
import msgspec

from bridle.core.parts import Call
from bridle.core.repair import arguments_of
from bridle.core.stream import ToolCall
from bridle.errors import ToolFailed
from bridle.tools.registry import builtin_tools
from bridle.turn.repair_call import call_part
from fuzz.target import Target

TOOLS = {tool.spec.name: tool for tool in builtin_tools()}
SCHEMAS = {name: jsonschema.Draft202012Validator(tool.spec.schema) for name, tool in TOOLS.items()}
FOLDER = Path(tempfile.gettempdir())


def check(data: bytes) -> None:
    name, _, text = data.decode("utf-8", "replace").partition("\n")
    for cut in ("", "the reply was cut"):
        part = call_part("c", ToolCall(name, text), TOOLS, cut=cut)
        written = msgspec.json.encode(part)
        assert msgspec.json.decode(written, type=Call) == part, "it cannot be recorded"
        assert len(part.invalid) < 3 * len(data) + 2_000
    part = call_part("c", ToolCall(name, text), TOOLS)
    given = arguments_of(part.arguments)
    assert isinstance(given, dict)
    if part.name not in TOOLS:
        assert part.invalid
        return
    tool = TOOLS[part.name]
    if part.invalid:
        unread = part.invalid.startswith("This call was not understood")
        assert unread or not SCHEMAS[part.name].is_valid(given), "the schema allows it"
        return
    checked = tool.check(given)
    try:
        accesses = tool.accesses(checked, FOLDER)
    except ToolFailed:
        return
    assert (msgspec.json.encode(accesses) and tool.asks(checked, "a") is None) or part.name == "question"
    turned = json.dumps(dict(reversed(given.items())))
    assert call_part("c", ToolCall(part.name, turned), TOOLS).digest == part.digest, "order makes it another call"


GIVEN = {
    "read": {"filePath": "a.py", "offset": 1, "limit": 20},
    "write": {"filePath": "a.py", "content": "x\n"},
    "edit": {"filePath": "a.py", "oldString": "a", "newString": "b", "replaceAll": True},
    "apply_patch": {"patchText": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"},
    "bash": {"command": "ls -l | wc", "description": "List", "timeout": 9, "workdir": "src", "outside": ["npm"]},
    "process": {"id": "p1", "action": "send", "text": "x"},
    "glob": {"pattern": "**/*.py", "path": "src"},
    "grep": {"pattern": "a+", "path": ".", "include": "*.py"},
    "list": {"path": "."},
    "todowrite": {"todos": [{"content": "a", "status": "pending", "priority": "high", "id": "1"}]},
    "todoread": {},
    "question": {"questions": [{"question": "Which?", "options": [{"label": "a", "description": "b"}]}]},
    "webfetch": {"url": "https://example.org/", "format": "markdown"},
}
SEEDS = tuple(f"{name}\n{json.dumps(GIVEN[name])}".encode() for name in TOOLS)
WORDS = tuple(f'"{key}"'.encode() for tool in TOOLS.values() for key in tool.spec.schema.get("properties", ()))
TARGETS = (
    Target(
        "calls",
        "A call becomes a part that can be recorded: refused in words, or one that its tool can judge; what the schema "
        "allows is not refused.",
        check,
        SEEDS,
        (*WORDS, *(name.encode() for name in TOOLS), b"file://", b"~root/", b"/dev/stdin", b"..", b"http://[", b"::1"),
        400,
    ),
)
