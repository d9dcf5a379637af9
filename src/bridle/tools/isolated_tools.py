"""Makes tools of a trusted project's Python files; calls run `tool_host` in a subprocess, sandboxed if possible."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.permission import Access
from bridle.core.stream import ToolSpec
from bridle.errors import ToolFailed
from bridle.process.containment import contain, told
from bridle.process.sandbox import Sandbox
from bridle.tools.prepared_command import prepare
from bridle.tools.tool import Invocation, Output, Tool
from bridle.tools.tool_host import Answer, ToolRequest

LIST_SECONDS = 20.0
MOST_ANSWER = 64 << 20
MODULE = "bridle.tools.tool_host"


def _words(file: Path, report: int) -> list[str]:
    return [sys.executable, "-I", "-m", MODULE, str(file), str(report)]


@dataclass(slots=True)
class HostedTool(Tool):
    """A tool that runs in a subprocess."""

    file: Path
    spec: ToolSpec
    permission: str
    repeatable: bool
    timeout_seconds: float

    def check(self, arguments: Mapping[str, Any]) -> Any:
        # Imported for a call only: it takes as long as all other imports together.
        import jsonschema

        properties = self.spec.schema.get("properties", {})
        given = {name: _coerced(value, properties.get(name, {})) for name, value in arguments.items()}
        try:
            jsonschema.validate(given, self.spec.schema)
        except jsonschema.ValidationError as error:
            raise msgspec.ValidationError(error.message) from error
        return given

    def accesses(self, arguments: Any, directory: Path) -> tuple[Access, ...]:
        return (Access(self.permission, self.spec.name),)

    async def run(self, arguments: Any, invocation: Invocation) -> Output:
        project = invocation.directory.resolve()
        request = ToolRequest(self.spec.name, arguments, invocation.call, invocation.session)
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as report:
            given.write(msgspec.json.encode(request))
            given.seek(0)
            ready = await prepare(_words(self.file, report.fileno()), invocation, project)
            piped = ready.start(given.fileno(), passes=(report.fileno(),))
            try:
                status = await piped.run(invocation.print)
            finally:
                invocation.print(told(piped.differences(), project))
            answer = _read(report.fileno())
        if answer.output is None:
            raise ToolFailed(answer.problem or f"{self.spec.name} ended with status {status} and without an answer")
        return answer.output


def _coerced(value: Any, schema: Mapping[str, Any]) -> Any:
    """Convert a number or boolean that was given as text."""
    kinds = {"integer": int, "number": float, "boolean": bool}
    kind = kinds.get(schema.get("type", ""))
    if kind is None or not isinstance(value, str):
        return value
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        return value


def _read(report: int) -> Answer:
    raw = os.pread(report, MOST_ANSWER, 0)
    try:
        return msgspec.json.decode(raw, type=Answer)
    except msgspec.MsgspecError:
        return Answer()


def hosted_tools(
    folder: Path, project: Path, environment: Mapping[str, str], sandbox: Sandbox | None
) -> tuple[list[Tool], list[str]]:
    """Return the tools of all Python files in a folder, and the problems of files that cannot be used."""
    tools: list[Tool] = []
    problems: list[str] = []
    for path in sorted(folder.glob("*.py")):
        answer = _list(path, project, environment, sandbox)
        tools += [HostedTool(path, **msgspec.structs.asdict(listed)) for listed in answer.tools]
        if answer.problem:
            problems.append(f"{path} cannot be loaded: {answer.problem}")
    return tools, problems


def _list(path: Path, project: Path, environment: Mapping[str, str], sandbox: Sandbox | None) -> Answer:
    prefix: list[str] = []
    if sandbox is not None:
        contained = contain(sandbox, project, project, environment, lasting=True)
        prefix, environment = contained.words, contained.environment
    with tempfile.TemporaryFile() as report:
        try:
            done = subprocess.run(
                [*prefix, *_words(path, report.fileno())],
                input=msgspec.json.encode(ToolRequest()),
                capture_output=True,
                cwd=project,
                env=dict(environment),
                pass_fds=(report.fileno(),),
                timeout=LIST_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Answer(problem=f"it took longer than {LIST_SECONDS:g} s")
        answer = _read(report.fileno())
    if answer.tools or answer.problem:
        return answer
    said = done.stderr.decode(errors="replace").strip()[-300:]
    return Answer(problem=f"it ended with {done.returncode}: {said}") if done.returncode else answer
