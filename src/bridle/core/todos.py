"""The list of what is to be done, as the call that writes it records it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec


# Without a docstring, which would become part of the schema that models read.
class Todo(msgspec.Struct, frozen=True, omit_defaults=True):
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


def open_todos(todos: Iterable[Todo]) -> list[str]:
    """Return what is still to be done."""
    return [todo.content for todo in todos if todo.status in ("pending", "in_progress")]
