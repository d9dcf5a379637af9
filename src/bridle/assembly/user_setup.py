"""What a person who works on a project brings, besides settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.core.permission import Rule
from bridle.workspace.remote_instructions import RemoteInstructions
from bridle.workspace.skills import Skill

if TYPE_CHECKING:
    from bridle.snapshots.snapshots import Snapshots


@dataclass(slots=True, frozen=True)
class UserSetup:
    """What belongs to the user of a project rather than to a program that embeds Bridle."""

    guarded: tuple[Path, ...] = ()
    """Folders of Bridle's own, which no tool writes to."""
    built_in: frozenset[str] = frozenset()
    """Tools that a small model is told of only if somebody asks for them."""
    approvals: Path | None = None
    """The file in which approvals for good are kept; None means that they end with their session."""
    skills: Mapping[str, Skill] = field(default_factory=dict)
    instructions: Callable[[], str] | None = None
    """What files say that are written for agents, as it is now."""
    files: Snapshots | None = None
    """Who keeps the files of projects before they are changed."""
    stricter: tuple[Rule, ...] = ()
    """Rules from elsewhere, which can only make the others stricter."""
    remote: RemoteInstructions | None = None
    """Instructions at web addresses, which the settings name."""

    async def prepare(self) -> None:
        """Get ready for a turn: fetch instructions."""
        if self.remote is not None:
            await self.remote.prepare()

    def news(self) -> list[str]:
        """What the reader must know of instructions."""
        return self.remote.news() if self.remote is not None else []
