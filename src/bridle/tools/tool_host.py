"""Subprocess that hosts the tools of one Python file: lists them, or runs one of them.

Bridle starts it in the sandbox with `python -I -m bridle.tools.tool_host FILE REPORT`. It reads a JSON request from
standard input and writes the answer to the file descriptor REPORT, so that a tool may print freely.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.stream import ToolSpec
from bridle.errors import BridleError, ToolFailed
from bridle.tools.command_setup import CommandSetup
from bridle.tools.python_tools import load_tools
from bridle.tools.tool import Invocation, Output, Tool


class ListedTool(msgspec.Struct, frozen=True):
    """Description of a tool in another process."""

    spec: ToolSpec
    permission: str
    repeatable: bool
    timeout_seconds: float


class ToolRequest(msgspec.Struct, frozen=True):
    """A tool call; an empty name asks for the list of tools."""

    name: str = ""
    arguments: dict[str, Any] = {}
    call: str = ""
    session: str = ""


class Answer(msgspec.Struct, frozen=True):
    """The answer to a request."""

    tools: tuple[ListedTool, ...] = ()
    output: Output | None = None
    problem: str = ""


def main(file: Path, report: int) -> None:
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=ToolRequest)
    try:
        tools = {tool.spec.name: tool for tool in load_tools(file)}
        answer = _called(tools[request.name], request) if request.name else Answer(tuple(map(_listed, tools.values())))
    except BridleError as error:
        answer = Answer(problem=str(error))
    except (Exception, SystemExit) as error:
        # The project's code may raise anything; the reason is reported to Bridle.
        answer = Answer(problem=f"{type(error).__name__}: {error}")
    with os.fdopen(report, "wb") as opened:
        opened.write(msgspec.json.encode(answer))


def _listed(tool: Tool) -> ListedTool:
    return ListedTool(tool.spec, tool.permission, tool.repeatable, tool.timeout_seconds)


def _called(tool: Tool, request: ToolRequest) -> Answer:
    invocation = Invocation(
        call=request.call,
        session=request.session,
        commands=CommandSetup(directory=Path.cwd()),
        timeout_seconds=tool.timeout_seconds,
    )
    try:
        return Answer(output=asyncio.run(tool.run(tool.check(request.arguments), invocation)))
    except (ToolFailed, msgspec.ValidationError) as error:
        return Answer(output=Output(str(error), failed=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
