"""What the user of a project has besides settings: approvals, skills, instructions and kept files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.core.permission import Rule
from bridle.tools.tool import Tool

if TYPE_CHECKING:
    from bridle.snapshots.snapshots import Snapshots
    from bridle.workspace.remote_instructions import RemoteInstructions
    from bridle.workspace.skills import Skill


@dataclass(slots=True, frozen=True, kw_only=True)
class UserSetup:
    """What belongs to the user of a project rather than to a program that embeds Bridle."""

    guarded: tuple[Path, ...] = ()
    """Folders of Bridle's own, which no tool writes to."""
    built_in: frozenset[str] = frozenset()
    """Tools that are offered to a small model only on request."""
    approvals: Path | None = None
    """The file of permanent approvals; None means that approvals end with their session."""
    skills: Mapping[str, Skill] = field(default_factory=dict)
    instructions: Callable[[], str] | None = None
    """Reads the files with instructions for agents, as they are now."""
    files: Snapshots | None = None
    """Keeps the files of projects before they are changed."""
    stricter: tuple[Rule, ...] = ()
    """Rules from elsewhere, which can only make the others stricter."""
    remote: RemoteInstructions | None = None
    """Instructions at web addresses, which the settings name."""

    async def prepare(self) -> None:
        """Get ready for a turn: fetch instructions."""
        if self.remote is not None:
            await self.remote.prepare()

    def news(self) -> list[str]:
        """Return what the reader must know of instructions."""
        return self.remote.news() if self.remote is not None else []

    def skill_tools(self) -> dict[str, Tool]:
        """Return the tool that loads skills, if there are any."""
        if not self.skills:
            return {}
        # Loaded only where there are skills.
        from bridle.tools.skill import skill_tool

        return {"skill": skill_tool(self.skills)}

    def skill_list(self) -> str:
        """Return the skills in words, for the model."""
        from bridle.tools.skill import listed

        return listed(self.skills)

    def skill_folders(self) -> tuple[Path, ...]:
        """Return the folders of the skills that are read without an ask."""
        return tuple(skill.folder.resolve() for skill in self.skills.values() if skill.outside is None)
