"""`Instructions`: joins the texts for a turn (the user's file, the project's AGENTS.md, `instructions` in settings)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from glob import iglob
from itertools import islice
from pathlib import Path

from bridle.config.markdown import split
from bridle.config.trust import project_folders
from bridle.errors import ConfigError
from bridle.workspace.instructions import NAME, OTHER_NAME, instruction_files, instructions_of
from bridle.workspace.remote_instructions import RemoteInstructions, is_address

MOST_FILES = 50


@dataclass(slots=True, frozen=True)
class Instructions:
    """The sources of instructions. They are read for each turn, so that it sees the current files."""

    directory: Path
    own: tuple[Path, ...]
    """Candidates for the user's file; the first that exists is used."""
    patterns: Sequence[str] = ()
    remote: RemoteInstructions | None = None

    def text(self) -> str:
        """Return all instructions, each with its path."""
        pieces = [(path, instructions_of(path, path.parent)) for path in self.own if path.is_file()][:1]
        folders = project_folders(self.directory)
        top = folders[-1] if (folders[-1] / ".git").exists() else None
        if top is None:
            # Without git the project's boundary is unknown; folders above may belong to others.
            folders = folders[:1]
        for path in instruction_files(reversed(folders)):
            said = instructions_of(path, top or path.parent)
            pieces.append((path, _without_agents(said) if path.name == NAME else said))
        pieces += [(path, instructions_of(path, Path("/"))) for path in self._named()]
        texts = [(str(path), said) for path, said in pieces]
        texts += list(self.remote.texts.items()) if self.remote is not None else []
        return "\n\n".join(f"Instructions from {name}:\n{said.strip()}" for name, said in texts if said.strip())

    def _named(self) -> list[Path]:
        found: dict[Path, None] = {}
        for pattern in (each for each in self.patterns if not is_address(each)):
            try:
                matching = iglob(str(Path(pattern).expanduser()), root_dir=self.directory, recursive=True)
                found |= dict.fromkeys(sorted(self.directory / name for name in islice(matching, MOST_FILES)))
            except (RuntimeError, ValueError, OSError):
                # An invalid pattern matches nothing.
                continue
        return [path for path in found if path.is_file()]


def own_files(home: Path, config: Path) -> tuple[Path, ...]:
    """Return the possible paths of the user's own instructions."""
    return (config / NAME, home / ".config" / "opencode" / NAME, home / ".claude" / OTHER_NAME)


def _without_agents(text: str) -> str:
    """Return the text of a file without the agents that it defines."""
    try:
        return split(text)[0]
    except ConfigError:
        return text
