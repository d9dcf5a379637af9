"""The `skill` tool: load the text of a skill and list its files."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output, Tool
from bridle.workspace.files import beyond, located
from bridle.workspace.skills import Skill, skill_text

MOST_FILES = 10


class SkillArguments(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(description="The skill")]


def skill_tool(skills: Mapping[str, Skill]) -> Tool:
    """Return the tool for the given skills."""

    async def load(given: SkillArguments, invocation: Invocation) -> Output:
        found = skills.get(given.name)
        if found is None:
            raise ToolFailed(f"There is no skill {given.name!r} (there are: {', '.join(skills)}).")
        if invocation.permits is not None and not all(map(invocation.permits, _linked(found, invocation.directory))):
            raise ToolFailed(f"The skill {given.name!r} leads out of the project, which was not allowed.")
        try:
            text = skill_text(found)
        except OSError as error:
            raise ToolFailed(f"{found.folder}/SKILL.md cannot be read: {error.strerror or error}") from error
        return Output(f"{text}\n\n[the folder of this skill: {found.folder}]{_files(found.folder)}")

    def needs(given: SkillArguments, directory: Path) -> tuple[Access, ...]:
        found = skills.get(given.name)
        return (Access("skill", given.name), *(_linked(found, directory) if found is not None else ()))

    return builtin("skill", SkillArguments, load, needs=needs, leaves_files=True)


def _linked(skill: Skill, directory: Path) -> tuple[Access, ...]:
    """Return the permission for a skill that is a link out of an untrusted project."""
    outside = skill.outside
    return () if outside is None else (Access("external_directory", beyond(located(directory, str(outside)))),)


def _files(folder: Path) -> str:
    others = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "SKILL.md")
    named = "\n".join(str(path.relative_to(folder)) for path in islice(others, MOST_FILES))
    return f"\n[some of its files]\n{named}" if named else ""


def listed(skills: Mapping[str, Skill]) -> str:
    """Return the list of skills for the system prompt."""
    lines = "\n".join(f"- {skill.name}: {skill.description}" for skill in skills.values())
    return f"Skills, to be loaded with the tool `skill` when they fit:\n{lines}" if lines else ""
