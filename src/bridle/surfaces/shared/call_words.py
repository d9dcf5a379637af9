"""Words for tool calls: arguments, relative paths, why a call was not run, and the marks of tasks."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bridle.core.states import RefusalName
from bridle.core.todos import Todo

REFUSALS: dict[RefusalName, str] = {
    "denied": "denied by a rule",
    "unasked": "not run: no person to ask",
    "rejected": "rejected",
    "hook": "refused by a hook",
    "doom_loop": "not run: it repeats itself",
    "limit": "not run: a limit is reached",
    "tools_off": "not run: tools are off",
    "invalid": "not run: invalid arguments",
    "aborted": "stopped",
    "unknown_outcome": "interrupted: its outcome is unknown",
    "superseded": "replaced by a later call",
}
TODO_MARKS = {"completed": "[✓]", "in_progress": "[•]", "cancelled": "[-]", "pending": "[ ]"}


def arguments_of(given: str) -> dict[str, Any]:
    """Return the arguments of a call; empty if they are no JSON object."""
    try:
        found = json.loads(given)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def worded(value: object) -> str:
    """Return a value of unknown type as text."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def within(path: str, directory: str, home: str = "") -> str:
    """Return a path as it reads in its project: relative to it, or to the home directory."""
    for folder, instead in ((directory, ""), (home, "~/")):
        if folder and path == folder:
            return instead.rstrip("/") or "."
        if folder and path.startswith(f"{folder.rstrip('/')}/"):
            return instead + path[len(folder.rstrip("/")) + 1 :]
    return path


def todos_in(arguments: dict[str, Any]) -> tuple[Todo, ...]:
    """Return the tasks in the arguments of a call that has not ended; none if they are not valid."""
    try:
        return msgspec.convert(arguments.get("todos"), tuple[Todo, ...])
    except msgspec.ValidationError:
        return ()
