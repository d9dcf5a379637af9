"""The sandbox for commands: the project and some caches may be written, secrets are hidden, there is no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bridle.process.programs import outside

PROBE_SECONDS = 10.0
CACHES = (
    ".cache",
    ".npm",
    ".yarn",
    ".bun/install/cache",
    ".cargo/registry",
    ".cargo/git",
    ".m2/repository",
    ".gradle/caches",
    ".local/share/pnpm",
    "go/pkg",
    ".nuget/packages",
)
"""Below the person's folder: what package managers fetch once and use again."""
SECRETS = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".terraform.d", ".databricks", ".oci"),
    *(".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/rclone", ".config/containers"),
    *(".mozilla", ".config/google-chrome", ".config/chromium", ".local/share/keyrings", ".config/Bitwarden"),
    *(".netrc", ".git-credentials", ".config/git/credentials", ".npmrc", ".pypirc", ".vault-token", ".s3cfg", ".boto"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".m2/settings.xml", ".pgpass", ".my.cnf"),
    *(".claude/.credentials.json", ".codex/auth.json", ".config/github-copilot", ".local/share/opencode/auth.json"),
    *(
        ".config/sops",
        ".dockercfg",
        ".config/pip/pip.conf",
        ".gradle/gradle.properties",
        ".config/stripe",
        ".config/doctl",
    ),
    *(".config/BraveSoftware", ".config/microsoft-edge", ".config/heroku", ".fly", ".thunderbird", "snap/firefox"),
    *(".var/app", ".Xauthority", ".composer/auth.json", ".yarnrc.yml", ".subversion/auth", ".nuget/NuGet/NuGet.Config"),
    *(".local/share/fish/fish_history", ".mysql_history", ".config/configstore", ".config/op", ".age", ".config/age"),
    *(".bash_history", ".zsh_history", ".python_history", ".psql_history", ".node_repl_history", ".claude.json"),
)
"""Below the person's folder: what a command could betray."""
SOCKETS = ("/run", "/var/run", "/var/lib/docker")
"""Behind sockets sit programs that run outside of the sandbox."""
RESOLVERS = ("/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf", "/run/nscd")
OBEYED = (".bridle", "bridle.toml", ".mcp.json", "opencode.json", "opencode.jsonc")
"""What programs of this kind obey when they are started in a project. What git itself changes from branch to branch,
such as AGENTS.md, is left to it: a mounted file cannot be replaced. Trust is pinned to what these files say."""
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
    writable: tuple[Path, ...] = ()
    git_config: bool = False


CLOSED = Openings()


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands of one session are shut in."""

    program: str
    home: Path
    scratch: Path
    """The session's own /tmp."""
    writable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    """Folders and files that do not exist for a command."""
    network: bool = False
    """Whether every command has the network."""
    programs: tuple[Path, ...] = ()
    """Folders of programs, which are there also if they lie below the real /tmp."""
    read_only: bool = False
    """Whether the project may not be written either."""
    readable: tuple[Path, ...] = ()
    """What may be read although it lies in a hidden folder."""

    def around(
        self,
        command: Iterable[str],
        *,
        project: Path,
        folder: Path,
        git: Sequence[Path] = (),
        held: Iterable[Path] = (),
        opened: Openings = CLOSED,
    ) -> list[str]:
        """The words that run a command inside of it; git's folders may be written to, but for what is `held`."""
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = [self.program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
        words += ["--share-net"] if opened.network else []
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", str(self.scratch), "/tmp"]
        words += self._without_sockets(network=opened.network)
        for path in _real(path for path in self.programs if path.resolve().is_relative_to("/tmp")):
            words += ["--ro-bind", path, path]
        home = self.home.resolve()
        own = () if self.read_only else (project, *git)
        for path in _real((*(home / name for name in CACHES), *self.writable, *opened.writable, *own)):
            # A mount of its own cannot be moved out of the way.
            words += ["--bind", path, path]
        words += [] if self.read_only else _protected(project, git, held, config=not opened.git_config)
        hidden = _real((*(home / name for name in SECRETS), *self.hidden))
        for path in hidden:
            words += ["--tmpfs", path] if Path(path).is_dir() else ["--ro-bind", "/dev/null", path]
        for path in _real(self.readable):
            words += ["--ro-bind", path, path]
        for path in hidden:
            words += ["--remount-ro", path] if Path(path).is_dir() else []
        return [*words, "--chdir", str(folder), "--", *command]

    @staticmethod
    def _without_sockets(*, network: bool) -> list[str]:
        words: list[str] = []
        for path in SOCKETS:
            if Path(path).is_dir() and not Path(path).is_symlink():
                words += ["--tmpfs", path]
        for path in RESOLVERS if network else ():
            words += ["--ro-bind-try", path, path]
        return words


def _real(paths: Iterable[Path]) -> list[str]:
    """Where paths lead, as far as there is something: a mount cannot be made on a link."""
    found: dict[str, None] = {}
    for path in paths:
        with suppress(OSError, RuntimeError):
            found.update({str(path.resolve()): None} if path.exists() else {})
    return list(found)


def _protected(project: Path, git: Iterable[Path], held: Iterable[Path], *, config: bool) -> list[str]:
    """Git may be used, but not told to run something later; Bridle's own files of the project are read-only."""
    words: list[str] = []
    for folder in git:
        hooks = folder / "hooks"
        if hooks.is_symlink():
            # What the link leads to can be protected, the link itself cannot: so nothing there may be changed.
            words += ["--ro-bind", str(folder), str(folder)]
            continue
        words += ["--ro-bind", str(hooks), str(hooks)] if hooks.is_dir() else ["--tmpfs", str(hooks)]
        words += ["--remount-ro", str(hooks)]
    for path in held:
        if config or path.name != "config":
            words += ["--ro-bind-try", str(path), str(path)]
    pointer = project / ".git"
    for path in (*(project / name for name in OBEYED), *((pointer,) if pointer.is_file() else ())):
        words += ["--ro-bind-try", str(path), str(path)]
    return words


def inside_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the ways to programs of the desktop."""
    kept = {name: value for name, value in environment.items() if name not in SESSION_VARIABLES}
    return {**kept, "TMPDIR": "/tmp"}


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
