"""Finds AGENTS.md files in the folders of a file that `read` reads; the model gets each once, with the file."""

from __future__ import annotations

from pathlib import Path

from bridle.core.permission import Access
from bridle.tools.tool import Invocation
from bridle.workspace.files import digest
from bridle.workspace.instructions import beneath, instruction_files, instructions_of


def nested_instructions(path: Path, invocation: Invocation) -> str:
    """Return the instructions from the folders of a file that this session has not seen yet."""
    pieces: list[str] = []
    project = invocation.directory.resolve()
    for folder in beneath(project, path):
        for found in instruction_files([folder]):
            allowed = invocation.permits is None or invocation.permits(Access("read", str(found.relative_to(project))))
            said = instructions_of(found, project) if allowed else ""
            if found == path or str(found) in invocation.known_files or not said.strip():
                continue
            invocation.sees(str(found), digest(said.encode()))
            shown = found.relative_to(project)
            pieces.append(f"[Instructions from {shown}, for everything beneath its folder:\n{said.strip()}]")
    return "\n\n".join(pieces)
