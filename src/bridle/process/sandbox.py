"""The sandbox for commands: the project is writable, the home is nearly empty, and there is no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bridle.process.program_lookup import outside
from bridle.process.sandbox_home import Home

PROBE_SECONDS = 10.0
SOCKETS = ("/run", "/var/run", "/var/lib/docker")
"""Behind sockets sit programs that run outside of the sandbox."""
RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd")
HOMES = ("/home", "/root")
SYSTEM_SECRETS = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/krb5.keytab",
)
"""Readable for root alone, and so for commands of a Bridle that root has started."""
MOST_MOUNTS = 64
"""Mounts for protected and masked files around one command; each costs some milliseconds."""
SMALL, LARGE = str(64 << 20), str(1 << 30)
SESSION_VARIABLES = frozenset(
    {
        "DBUS_SESSION_BUS_ADDRESS",
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GPG_AGENT_INFO",
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
    }
)


@dataclass(frozen=True, slots=True)
class Openings:
    """What one command may do beyond the rule."""

    network: bool = False
    """The whole network."""
    fetches: bool = False
    """Some hosts through the proxy, so that package managers may fill their caches."""
    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    """Protected files that it may change, and masked ones that it may read."""


CLOSED = Openings()


@dataclass(frozen=True, slots=True)
class Layout:
    """How one command finds the project: what of it is writable, locked and masked."""

    project: Path
    folder: Path
    """Where the command starts."""
    writable: tuple[Path, ...] = ()
    """Folders besides the project: those of its git, as far as they lie elsewhere."""
    locked: tuple[Path, ...] = ()
    """Protected files and folders, mounted read-only."""
    masked: tuple[Path, ...] = ()
    """Files that cannot be opened."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands of one session are contained."""

    program: str
    known_home: Callable[[], Home]
    """Finds the home; called when a command runs."""
    scratch: Path
    """A folder of Bridle's own; in it lies the session's /tmp."""
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Folders and files that do not exist for a command."""
    network: bool = False
    """Whether every command has the network."""
    programs: tuple[Path, ...] = ()
    """Folders of programs, Bridle's own among them: readable wherever they lie, and never writable."""
    own: tuple[Path, ...] = ()
    """Of these, the folders that Bridle itself runs from."""
    read_only: bool = False
    """Whether the project may not be written either."""
    readable: tuple[Path, ...] = ()
    """What may be read although it lies in a hidden folder."""
    stored: str = ""
    """How the paths of stored outputs of this session begin; empty if none are stored."""
    protected: tuple[Path, ...] = ()
    """Files of the project that a command of the user's names which runs outside of the sandbox."""
    masks: tuple[str, ...] = ()
    """Patterns of files that commands may not open unless a rule or an approval allows it."""

    @property
    def home(self) -> Home:
        return self.known_home()

    def around(self, command: Iterable[str], layout: Layout, opened: Openings = CLOSED) -> list[str]:
        """The words that run a command inside of it."""
        temporary = self.scratch / "tmp"
        temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = [self.program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        words += ["--share-net"] if opened.network else []
        words += [
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--size",
            LARGE,
            "--tmpfs",
            "/dev/shm",
            "--remount-ro",
            "/dev",
        ]
        words += ["--proc", "/proc", "--bind", str(temporary), "/tmp"]
        words += self._without_sockets(network=opened.network)
        words += self._without_homes(network=opened.network or opened.fetches)
        for path in _real(self.programs):
            if _is_covered(path):
                words += ["--ro-bind", path, path]
        words += self._project(layout)
        for path in _real((*self.writable, *opened.writable)):
            words += ["--bind", path, path]
        words += self._pinned(layout)
        words += self._locked(layout)
        words += self._hidden(layout)
        return [*words, "--chdir", str(layout.folder), "--", *command]

    @staticmethod
    def _without_sockets(*, network: bool) -> list[str]:
        words: list[str] = []
        for path in SOCKETS:
            if os.path.isdir(path) and not os.path.islink(path):
                words += ["--size", SMALL, "--tmpfs", path]
        for path in RESOLVERS if network else ():
            words += ["--ro-bind-try", path, path]
        return words

    def _without_homes(self, *, network: bool) -> list[str]:
        """No home of anybody, and then the user's own with what a command needs of it."""
        words: list[str] = []
        home = self.home.folder
        for path in HOMES:
            if os.path.isdir(path) and not os.path.islink(path) and Path(path) != home:
                words += ["--size", SMALL, "--tmpfs", path]
        if home == Path("/") or not os.path.isdir(home):
            return words
        words += ["--size", LARGE, *self.home.words(self.programs, network=network)]
        if self.home.named != home and _is_covered(str(self.home.named)):
            words += ["--symlink", str(home), str(self.home.named)]
        return words

    def _project(self, layout: Layout) -> list[str]:
        """The project, and git's folders; a mount of its own cannot be moved out of the way."""
        project, home = layout.project, self.home.folder
        bind = "--ro-bind" if self.read_only else "--bind"
        if not home.is_relative_to(project):
            paths = _real((project, *layout.writable))
            return [word for path in paths for word in (bind, path, path)]
        # The home as a project: of the home itself only what is not hidden by its name.
        words = [bind, str(project), str(project)] if project != home else []
        words += self.home.words(self.programs, network=False) if project != home else []
        for path in sorted(home.iterdir()) if os.path.isdir(home) else ():
            if not path.name.startswith(".") and not os.path.islink(path):
                words += [bind, str(path), str(path)]
        return words

    def _pinned(self, layout: Layout) -> list[str]:
        """The folders above what is masked or hidden in the project: moved elsewhere, it would be found by nobody."""
        bind, project = "--ro-bind" if self.read_only else "--bind", layout.project
        kept = [Path(path) for path in _real((*layout.masked, *self.hidden, *self.own))]
        above = {folder for path in kept for folder in path.parents if folder.is_relative_to(project)}
        return [word for path in sorted(map(str, above - {project})) for word in (bind, path, path)]

    def _locked(self, layout: Layout) -> list[str]:
        """Protected places, and the folders that Bridle runs from, read-only over what is writable."""
        words: list[str] = []
        roots = [path.resolve() for path in (layout.project, *layout.writable, *self.writable)]
        own = [path for path in _real(self.own) if any(Path(path).is_relative_to(root) for root in roots)]
        for path in (*map(str, layout.locked), *own):
            words += ["--ro-bind-try", path, path]
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
        secrets = [Path(path) for path in (SYSTEM_SECRETS if os.getuid() == 0 else ())]
        needed = (layout.project, *layout.writable, *self.programs, *self.readable)
        away = (path for path in self.home.linked_away() if not any(one.is_relative_to(path) for one in needed))
        hidden = _real((*secrets, *away, *self.hidden))
        for path in hidden:
            words += ["--size", SMALL, "--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        for path in _real(self.readable):
            words += ["--ro-bind", path, path]
        for path in hidden:
            words += ["--remount-ro", path] if os.path.isdir(path) else []
        return words

    def environment(self, environment: Mapping[str, str], opened: Openings = CLOSED) -> dict[str, str]:
        """An environment without the ways to programs of the desktop, and with Bridle's own caches."""
        kept = {name: value for name, value in environment.items() if name not in SESSION_VARIABLES}
        return {**kept, **self.home.variables(network=opened.network or opened.fetches), "TMPDIR": "/tmp"}


def _is_covered(path: str) -> bool:
    """Whether a mount of the sandbox lies over a path, so that it must be mounted again to be seen."""
    return any(Path(path).is_relative_to(place) for place in ("/tmp", *HOMES, *SOCKETS))


def _real(paths: Iterable[Path]) -> list[str]:
    """Where paths lead, as far as there is something: a mount cannot be made on a link."""
    found: dict[str, None] = {}
    for path in paths:
        with suppress(OSError, RuntimeError):
            found.update({str(path.resolve()): None} if os.path.exists(path) else {})
    return list(found)


def fitted(paths: Iterable[Path], most: int, root: Path) -> list[Path]:
    """At most so many paths; where there are more, whole folders stand for the paths in them.

    The root stands for nothing: a project in which no other folder holds several of them gets more mounts.
    """
    found = list(dict.fromkeys(paths))
    while len(found) > most:
        folders: dict[Path, int] = {}
        for folder in (folder for path in found for folder in path.parents):
            if folder != root and not root.is_relative_to(folder):
                folders[folder] = folders.get(folder, 0) + 1
        several = {folder: count for folder, count in folders.items() if count > 1}
        if not several:
            break
        # The smallest folder that is enough; else the fullest, and of these the deepest.
        enough = [folder for folder, count in several.items() if count > len(found) - most]
        chosen = min(enough, key=lambda one: (several[one], -len(one.parts))) if enough else None
        chosen = chosen or max(several, key=lambda one: (several[one], len(one.parts)))
        found = [chosen, *(path for path in found if not path.is_relative_to(chosen))]
    return found


@cache
def sandbox_program() -> tuple[str, str]:
    """The program that makes sandboxes, or why there is none; one of the two is empty."""
    found = shutil.which("bwrap", path=outside(os.environ.get("PATH", os.defpath), Path.cwd()))
    if found is None:
        return "", "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
    command = [
        found,
        "--unshare-all",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--size",
        SMALL,
        "--tmpfs",
        "/tmp",
        "/bin/true",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"bubblewrap does not work here: {error}"
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        return "", f"bubblewrap does not work here: {said or f'it ended with {done.returncode}'}"
    return os.path.realpath(found), ""
