"""`Sandbox`: makes bubblewrap command lines (writable project, nearly empty home, no network); starts nothing."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bridle.process.program_lookup import own_program
from bridle.process.sandbox_home import Home, mounts

PROBE_SECONDS = 10.0
SOCKETS = ("/run", "/var/run", "/var/lib/docker")
"""Folders with sockets of programs that run outside the sandbox."""
RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd")
HOMES = ("/home", "/root")
SYSTEM = Path("/etc")
MOST_SECRETS = 32
MOST_MOUNTS = 64
"""Most mounts for protected and masked files per command; each costs some milliseconds."""
SMALL, LARGE = str(64 << 20), str(1 << 30)
SESSION_VARIABLES = frozenset(
    {
        *("DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO"),
        *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    }
)


@dataclass(frozen=True, slots=True)
class Openings:
    """Additional rights of one command in the sandbox."""

    network: bool = False
    """Access to the whole network."""
    fetches: bool = False
    """Access to some hosts through the egress proxy, so that package managers may fill their caches."""
    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    """Protected files that it may change, and masked ones that it may read."""


CLOSED = Openings()


@dataclass(frozen=True, slots=True)
class Layout:
    """How one command sees the project: which paths are writable, locked and masked."""

    project: Path
    folder: Path
    """The folder in which the command starts."""
    writable: tuple[Path, ...] = ()
    """Folders besides the project: its git folders, if they lie elsewhere."""
    locked: tuple[Path, ...] = ()
    """Protected files and folders, mounted read-only."""
    masked: tuple[Path, ...] = ()
    """Files that cannot be opened."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The sandbox for the commands of one session."""

    program: str
    home: Callable[[], Home]
    """Returns the home; called when a command runs."""
    scratch: Path
    """A folder of Bridle's own, which contains the session's /tmp."""
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Folders and files that do not exist for a command."""
    journal: tuple[Path, ...] = ()
    """Files of the journal, which no command can open. Bridle itself may make them while one runs."""
    network: bool = False
    """Whether every command has network access."""
    programs: tuple[Path, ...] = ()
    """Folders of programs, including Bridle's own: always readable, never writable."""
    own: tuple[Path, ...] = ()
    """Those of `programs` that Bridle itself runs from."""
    read_only: bool = False
    """Whether the project is read-only too."""
    readable: tuple[Path, ...] = ()
    """Paths that are readable although they lie in a hidden folder."""
    stored: str = ""
    """Path prefix of this session's stored outputs; empty if none are stored."""
    protected: tuple[Path, ...] = ()
    """Files of the project that are named by user commands which run outside the sandbox."""
    masks: tuple[str, ...] = ()
    """Patterns of files that commands may not open unless a rule or an approval allows it."""

    def around(self, command: Iterable[str], layout: Layout, opened: Openings = CLOSED) -> list[str]:
        """Return the words that run a command in the sandbox."""
        temporary = self.scratch / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = [self.program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        words += ["--share-net"] if opened.network else []
        words += ["--ro-bind", "/", "/", "--dev", "/dev"]
        words += ["--size", LARGE, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
        words += ["--proc", "/proc", "--bind", str(temporary), "/tmp"]
        words += _emptied(SOCKETS)
        words += mounts("--ro-bind-try", RESOLVERS if opened.network else ())
        words += self._without_homes(network=opened.network or opened.fetches)
        words += mounts("--ro-bind", (path for path in _real(self.programs) if _is_covered(path)))
        words += self._project(layout)
        words += mounts("--bind", _real((*self.writable, *opened.writable)))
        words += self._pinned(layout)
        words += self._locked(layout)
        words += self._hidden(layout)
        return [*words, "--chdir", str(layout.folder), "--", *command]

    def _without_homes(self, *, network: bool) -> list[str]:
        """Return mounts that hide all homes, then show the parts of the user's own that commands need."""
        home = self.home().folder
        words = _emptied(path for path in HOMES if Path(path) != home)
        if home == Path("/") or not os.path.isdir(home):
            return words
        words += ["--size", LARGE, *self.home().words(self.programs, network=network)]
        if self.home().named != home and _is_covered(str(self.home().named)):
            words += ["--symlink", str(home), str(self.home().named)]
        return words

    def _project(self, layout: Layout) -> list[str]:
        """Return mounts for the project and its git folders; a mount point cannot be moved out of the way."""
        project, home = layout.project, self.home().folder
        bind = "--ro-bind" if self.read_only else "--bind"
        if not home.is_relative_to(project):
            return mounts(bind, _real((project, *layout.writable)))
        # The project contains the home: of the home, only entries without a leading dot are mounted.
        words = mounts(bind, [project]) + self.home().words(self.programs, network=False) if project != home else []
        entries = sorted(home.iterdir()) if os.path.isdir(home) else []
        return words + mounts(bind, (path for path in entries if path.name[0] != "." and not os.path.islink(path)))

    def _pinned(self, layout: Layout) -> list[str]:
        """Return mounts for the folders above masked or hidden paths, so that a command cannot move these elsewhere."""
        bind, project = "--ro-bind" if self.read_only else "--bind", layout.project
        kept = [Path(path) for path in _real((*layout.masked, *self.hidden, *self.journal, *self.own))]
        above = {folder for path in kept for folder in path.parents if folder.is_relative_to(project)}
        return mounts(bind, sorted(map(str, above - {project})))

    def _locked(self, layout: Layout) -> list[str]:
        """Return read-only mounts for protected paths and the folders that Bridle runs from, and masks."""
        roots = [path.resolve() for path in (layout.project, *layout.writable, *self.writable)]
        own = [path for path in _real(self.own) if any(Path(path).is_relative_to(root) for root in roots)]
        words = mounts("--ro-bind-try", (*layout.locked, *own))
        closed = self.scratch / "closed"
        for path in map(str, layout.masked):
            if os.path.isdir(path):
                words += ["--size", SMALL, "--tmpfs", path, "--remount-ro", path]
            else:
                closed.touch(mode=0o000, exist_ok=True)
                words += ["--ro-bind", str(closed), path]
        return words

    def _hidden(self, layout: Layout) -> list[str]:
        words: list[str] = []
        needed = (layout.project, *layout.writable, *self.programs, *self.readable)
        away = (path for path in self.home().linked_away() if not any(one.is_relative_to(path) for one in needed))
        hidden = _real((*system_secrets(), *away, *self.hidden, *self.journal))
        for path in hidden:
            words += ["--size", SMALL, "--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        words += mounts("--ro-bind", _real(self.readable))
        for path in hidden:
            words += ["--remount-ro", path] if os.path.isdir(path) else []
        return words

    def environment(self, environment: Mapping[str, str], opened: Openings = CLOSED) -> dict[str, str]:
        """Return an environment without variables for desktop programs, and with Bridle's own caches."""
        kept = {name: value for name, value in environment.items() if name not in SESSION_VARIABLES}
        return {**kept, **self.home().variables(network=opened.network or opened.fetches), "TMPDIR": "/tmp"}


def _emptied(folders: Iterable[str]) -> list[str]:
    """Return mounts that replace folders with small empty ones."""
    present = (path for path in folders if os.path.isdir(path) and not os.path.islink(path))
    return [word for path in present for word in ("--size", SMALL, "--tmpfs", path)]


def _is_covered(path: str) -> bool:
    """Return whether a mount of the sandbox covers a path, so that it must be mounted again to be visible."""
    return any(Path(path).is_relative_to(place) for place in ("/tmp", *HOMES, *SOCKETS))


def _real(paths: Iterable[Path]) -> list[str]:
    """Return the targets of existing paths, all links followed: a link cannot be a mount point."""
    found: dict[str, None] = {}
    for path in paths:
        with suppress(OSError, RuntimeError):
            found.update({str(path.resolve()): None} if os.path.exists(path) else {})
    return list(found)


@cache
def system_secrets() -> tuple[Path, ...]:
    """Return what lies in /etc and not everyone may read. Only commands that root starts could read it."""
    found: list[Path] = []
    for place, folders, files in os.walk(SYSTEM) if os.getuid() == 0 else ():
        private = {name for name in (*folders, *files) if _is_private(Path(place, name))}
        found += (Path(place, name) for name in sorted(private))
        folders[:] = [name for name in folders if name not in private]
    return tuple(fitted(found, MOST_SECRETS, SYSTEM))


def _is_private(path: Path) -> bool:
    with suppress(OSError):
        mode = path.lstat().st_mode
        return not stat.S_ISLNK(mode) and not mode & stat.S_IROTH
    return False


def fitted(paths: Iterable[Path], most: int, root: Path) -> list[Path]:
    """Return at most `most` paths; if there are more, whole folders replace the paths in them.

    The root replaces nothing: if no other folder holds several paths, more than `most` are returned.
    """
    found = list(dict.fromkeys(paths))
    while len(found) > most:
        folders = Counter(folder for path in found for folder in path.parents if not root.is_relative_to(folder))
        several = {folder: count for folder, count in folders.items() if count > 1}
        if not several:
            break
        # The folder with the fewest paths that is enough; else the one with the most, the deepest of these.
        enough = [folder for folder, count in several.items() if count > len(found) - most]
        fewest = min(enough, key=lambda one: (several[one], -len(one.parts)), default=None)
        chosen = fewest or max(several, key=lambda one: (several[one], len(one.parts)))
        found = [chosen, *(path for path in found if not path.is_relative_to(chosen))]
    return found


@cache
def sandbox_program(*written: Path) -> tuple[str, str]:
    """Return the program that makes sandboxes, and why there is none; one of the two is empty.

    It is none in a folder that commands have written, such as the project.
    """
    if sys.platform != "linux":
        return "", "the sandbox needs Linux"
    found = own_program("bwrap", *written)
    if found is None:
        return "", "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    return _probed(found)


@cache
def _probed(found: str) -> tuple[str, str]:
    command = [found, "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    command += ["--size", SMALL, "--tmpfs", "/tmp", "/bin/true"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bubblewrap does not work here: {error}"
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        return "", f"bubblewrap does not work here: {said or f'it ended with {done.returncode}'}"
    return os.path.realpath(found), ""
