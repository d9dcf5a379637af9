"""The `todowrite` tool: replace the to-do list, which is not stored apart but in the session's last such call."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bridle.core.todos import Todo
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output

MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoWriteArguments(msgspec.Struct, forbid_unknown_fields=True):
    todos: Annotated[list[Todo], msgspec.Meta(description="The whole list", max_length=200)]


async def todowrite(given: TodoWriteArguments, invocation: Invocation) -> Output:
    shown = "\n".join(f"{MARKS[todo.status]} {todo.content}" for todo in given.todos)
    return Output(shown or "[the list is empty]", kept=True, todos=tuple(given.todos))


TOOL = builtin("todowrite", TodoWriteArguments, todowrite, needs=lambda given, directory: (), leaves_files=True)
