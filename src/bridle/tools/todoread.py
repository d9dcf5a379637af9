"""The `todoread` tool: read the to-do list."""

from __future__ import annotations

import msgspec

from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output


class TodoReadArguments(msgspec.Struct, forbid_unknown_fields=True):
    pass


async def todoread(given: TodoReadArguments, invocation: Invocation) -> Output:
    return Output(invocation.recall("todowrite") or "[there is no list]")


TOOL = builtin("todoread", TodoReadArguments, todoread, needs=lambda given, directory: (), leaves_files=True)
