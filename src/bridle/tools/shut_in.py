"""A command in the sandbox: what it is given, and a look afterwards at what it may have left for a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.process.sandbox import Openings, Sandbox
from bridle.tools.tool import Invocation
from bridle.workspace.files import Place, beyond, located
from bridle.workspace.git import git_folders, planted, steering_files

SET_ASIDE = ".git.set-aside"


@dataclass(slots=True)
class ShutIn:
    """The sandbox around one command, and the state of git before it."""

    sandbox: Sandbox
    place: Place
    git: tuple[Path, ...]
    shared: tuple[Path, ...]
    """The folders of git that had no `commondir`: one that appears there was planted."""

    @classmethod
    def at(cls, place: Place, sandbox: Sandbox) -> ShutIn:
        git = git_folders(place.project)
        return cls(sandbox, place, git, tuple(folder for folder in git if not (folder / "commondir").exists()))

    def around(self, command: Sequence[str], opened: Openings) -> list[str]:
        held = [path for folder in self.git for path in steering_files(folder, self.place.project)]
        return self.sandbox.around(
            command, project=self.place.project, folder=self.place.path, git=self.git, held=held, opened=opened
        )

    def looked_after(self) -> str:
        """Take away what would make git run something when a person uses it next; the words for the model."""
        for folder in self.shared:
            with suppress(OSError):
                (folder / "commondir").unlink()
        made = self.place.project / ".git"
        if self.git or not (made.exists() or made.is_symlink()):
            return ""
        why = planted(made)
        if not why:
            return ""
        with suppress(OSError):
            made.rename(_free(self.place.project))
        return f"\n[the new .git was set aside because of {why}: a command may not plant what git runs later]"


def _free(project: Path) -> Path:
    number = 1
    while (project / f"{SET_ASIDE}-{number}").exists():
        number += 1
    return project / f"{SET_ASIDE}-{number}"


def openings(outside: Iterable[str], needs: Sequence[Access], invocation: Invocation, *, alone: bool) -> Openings:
    """What a call was given beyond the rule; git's settings only if nothing else is on its line."""
    writable: list[Path] = []
    for path in outside:
        if path != "network":
            place = located(invocation.directory, path)
            if invocation.permits is not None and not invocation.permits(Access("external_directory", beyond(place))):
                raise ToolFailed(f"{path} is not what was allowed.")
            writable.append(place.path)
    named = {access.permission for access in needs}
    assert invocation.sandbox is not None
    return Openings(
        network="network" in named or invocation.sandbox.network,
        writable=tuple(writable),
        git_config="git_config" in named and alone,
    )
