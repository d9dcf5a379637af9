"""`UserSetup`: holds a user's approvals, skills, instructions, snapshots and logins for a runtime; empty by default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.core.permission import Rule
from bridle.tools.tool import Tool

if TYPE_CHECKING:
    from bridle.mcp.accepted_tools import AcceptedTools
    from bridle.snapshots.snapshots import Snapshots
    from bridle.workspace.remote_instructions import RemoteInstructions
    from bridle.workspace.skills import Skill


@dataclass(slots=True, frozen=True, kw_only=True)
class UserSetup:
    """The parts of a runtime that belong to the user; programs that embed Bridle use the defaults."""

    guarded: tuple[Path, ...] = ()
    """Bridle's own folders, which no tool writes to."""
    built_in: frozenset[str] = frozenset()
    """Tools that are offered to a small model only on request."""
    approvals: Path | None = None
    """The file of permanent approvals; None means that approvals end with their session."""
    caches: Path | None = None
    """The folder of caches for commands; None means one that ends with the runtime."""
    pins: AcceptedTools | None = None
    """The accepted offers of MCP servers; None accepts the first offers to this runtime."""
    logins: Path | None = None
    """The file of logins to MCP servers; None means that there are none."""
    skills: Mapping[str, Skill] = field(default_factory=dict)
    instructions: Callable[[], str] | None = None
    """Returns the current text of the instruction files for agents."""
    files: Snapshots | None = None
    """Snapshots of project files before changes; None disables them."""
    stricter: tuple[Rule, ...] = ()
    """Rules imported from other programs, which can only make the others stricter."""
    remote: RemoteInstructions | None = None
    """Instructions from URLs in the settings."""

    async def prepare(self) -> None:
        """Fetch remote instructions before a turn."""
        if self.remote is not None:
            await self.remote.prepare()

    def news(self) -> list[str]:
        """Return notices about remote instructions."""
        return self.remote.news() if self.remote is not None else []

    def skill_tools(self) -> dict[str, Tool]:
        """Return the tool that loads skills, if there are any."""
        if not self.skills:
            return {}
        # Imported only if there are skills.
        from bridle.tools.skill import skill_tool

        return {"skill": skill_tool(self.skills)}

    def skill_list(self) -> str:
        """Return the list of skills for the model."""
        from bridle.tools.skill import listed

        return listed(self.skills)

    def skill_folders(self) -> tuple[Path, ...]:
        """Return the folders of the skills that can be read without asking."""
        return tuple(skill.folder.resolve() for skill in self.skills.values() if skill.outside is None)
