"""The task list, as recorded by the call that writes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec


# No docstring, because it would become part of the schema that models read.
class Todo(msgspec.Struct, frozen=True, omit_defaults=True):
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


def open_todos(todos: Iterable[Todo]) -> list[str]:
    """Return the tasks that are still open."""
    return [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
