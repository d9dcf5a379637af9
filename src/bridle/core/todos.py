"""`Todo`: a task of the model's to-do list, which `todowrite` replaces and the state of the session keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec


# No docstring, because it would become part of the schema that models read.
class Todo(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a session's todo list."""

    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


def open_todos(todos: Iterable[Todo]) -> list[str]:
    """Return the tasks that are still open."""
    return [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
