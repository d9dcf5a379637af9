"""git with a folder of its own over somebody else's files: none of their settings, hooks or attributes is obeyed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bridle.errors import SnapshotFailed
from bridle.process.programs import outside

CONFIGURED = (
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.symlinks=true",
    "core.fileMode=true",
    "core.ignoreCase=false",
    "core.quotePath=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.hooksPath=/dev/null",
    "core.logAllRefUpdates=false",
    "core.bare=false",
    "gc.auto=0",
    "gc.autoDetach=false",
)
ALONE = {
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "HOME": "/nonexistent",
}
BYTES_AS_THEY_ARE = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Attributes of a project would have git store other bytes than the file has; these go before them."""
MOST_SAID = 300


class Git:
    """One piece of work with git, in a thread of its own; `stop` may be called from another."""

    def __init__(self, folder: Path, tree: Path, project: Path, path: str) -> None:
        path = outside(path, tree, project)
        found = shutil.which("git", path=path or os.defpath)
        if found is None:
            raise SnapshotFailed("git is not installed")
        self.folder = folder
        self.tree = tree
        self._program = found
        self.environment = {**ALONE, "PATH": path, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(tree)}
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End what runs, and start nothing any more."""
        self._stopped = True
        process = self._process
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()

    def run(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> bytes:
        """What git prints; raises `SnapshotFailed` if it fails."""
        more = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        settings = [word for setting in CONFIGURED for word in ("-c", setting)]
        return self._run([*settings, *arguments], self.tree, {**self.environment, **more}, given)

    def asked(self, *arguments: str, environment: Mapping[str, str], folder: Path) -> bytes:
        """What the user's own git says to a question; nothing if it fails."""
        try:
            return self._run(["-c", "core.fsmonitor=false", *arguments], folder, environment, b"")
        except SnapshotFailed:
            return b""

    def _run(self, arguments: list[str], folder: Path, environment: Mapping[str, str], given: bytes) -> bytes:
        if self._stopped:
            raise SnapshotFailed("it took too long")
        try:
            with subprocess.Popen(
                [self._program, *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            ) as process:
                self._process = process
                if self._stopped:
                    process.kill()
                printed, complained = process.communicate(given)
        except OSError as error:
            raise SnapshotFailed(f"git cannot be run: {error}") from error
        finally:
            self._process = None
        if self._stopped:
            raise SnapshotFailed("it took too long")
        if process.returncode:
            said = complained.decode("utf-8", errors="replace").strip()[:MOST_SAID]
            raise SnapshotFailed(f"git failed: {said or process.returncode}")
        return printed

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the folder, so that no other session or process works with it; make it first if need be."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / "held", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SnapshotFailed(f"{self.folder} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # Whoever left it is dead: nobody else may write here now.
            (self.folder / "index.lock").unlink(missing_ok=True)
            if not (self.folder / "HEAD").exists():
                (self.folder / "info").mkdir(exist_ok=True)
                (self.folder / "info" / "attributes").write_text(BYTES_AS_THEY_ARE)
                self.run("init", "--quiet", "--template=")
            yield
        except OSError as error:
            raise SnapshotFailed(f"{self.folder}: {error.strerror or error}") from error
        finally:
            os.close(handle)
