"""`Git`: runs git for snapshots with Bridle's own git folder, without the project's git settings, hooks, attributes."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bridle.errors import SnapshotFailed
from bridle.process.program_lookup import outside
from bridle.snapshots.git_process import Leash
from bridle.snapshots.named_pipes import pipe_for_git
from bridle.workspace.git_place import ISOLATED

CONFIGURED = (
    *("core.autocrlf=false", "core.safecrlf=false", "core.symlinks=true", "core.fileMode=true"),
    *("core.ignoreCase=false", "core.quotePath=false", "core.fsmonitor=false", "core.untrackedCache=false"),
    *("core.protectNTFS=false", "core.protectHFS=false", "core.hooksPath=/dev/null", "core.logAllRefUpdates=false"),
    *("core.bare=false", "gc.auto=0", "gc.autoDetach=false"),
)
ALONE = {
    **ISOLATED,
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
}
BYTES_AS_THEY_ARE = "* -text -eol -ident -filter -working-tree-encoding\n"
"""Overrides attributes of the project that would make git store other bytes than the file has."""
MOST_SAID = 300


MOST_SECONDS = 60.0
"""Timeout of one command; callers may have a shorter one."""
TIDY_SECONDS = 600.0
SUSPECT_SECONDS = 1.0
"""If git takes longer than this, it may be blocked on a named pipe."""


class Git:
    """Runs git for one job, in that job's thread."""

    def __init__(
        self, folder: Path, tree: Path, project: Path, path: str, leash: Leash, *, seconds: float = MOST_SECONDS
    ) -> None:
        path = outside(path, tree, project)
        found = shutil.which("git", path=path or os.defpath)
        if found is None:
            raise SnapshotFailed("git is not installed")
        self.folder = folder
        self.tree = tree
        self._program = found
        self.environment = {**ALONE, "PATH": path, "GIT_DIR": str(folder), "GIT_WORK_TREE": str(tree)}
        self._project = project
        self._leash = leash
        self._seconds = seconds

    def run(self, *arguments: str, given: bytes = b"", index: Path | None = None) -> bytes:
        """Run git and return its output; raises `SnapshotFailed` if it fails."""
        more = {} if index is None else {"GIT_INDEX_FILE": str(index)}
        settings = [word for setting in CONFIGURED for word in ("-c", setting)]
        return self._run([*settings, *arguments], self.tree, {**self.environment, **more}, given)

    def asked(self, *arguments: str, environment: Mapping[str, str], folder: Path) -> bytes:
        """Run git with the given environment and return its output; empty if it fails."""
        try:
            return self._run(["-c", "core.fsmonitor=false", *arguments], folder, environment, b"")
        except SnapshotFailed:
            return b""

    def _run(self, arguments: list[str], folder: Path, environment: Mapping[str, str], given: bytes) -> bytes:
        seconds = TIDY_SECONDS if "gc" in arguments else self._seconds
        try:
            with self._leash.start([self._program, *arguments], folder, environment) as process:
                printed, complained = self._told(process, given, seconds)
        except OSError as error:
            raise SnapshotFailed(f"git cannot be run: {error}") from error
        self._leash.check()
        if process.returncode:
            said = complained.decode("utf-8", errors="replace").strip()[:MOST_SAID]
            raise SnapshotFailed(f"git failed: {said or process.returncode}")
        return printed

    def _told(self, process: subprocess.Popen[bytes], given: bytes, seconds: float) -> tuple[bytes, bytes]:
        """Return the command's stdout and stderr; ends the leash on a timeout or a named pipe."""
        try:
            return process.communicate(given, min(SUSPECT_SECONDS, seconds))
        except subprocess.TimeoutExpired:
            # Only now, because scanning all folders before each command would take as long as the command itself.
            pipe = pipe_for_git(self.tree, self._project)
        if pipe:
            self._leash.end(f"{pipe} is a pipe, on which git would block forever: remove it")
        try:
            return process.communicate(timeout=max(seconds - SUSPECT_SECONDS, 0.0) if not pipe else None)
        except subprocess.TimeoutExpired:
            self._leash.end(f"git took longer than {seconds:g} s")
            return process.communicate()

    def moment_ns(self) -> int:
        """Return the time in nanoseconds by the file system's clock, which is coarser than others and lags behind."""
        touched = self.folder / "held"
        touched.touch()
        return touched.stat().st_ctime_ns

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the git folder against other sessions and processes; creates it if necessary."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.folder / "held", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise SnapshotFailed(f"{self.folder} cannot be used: {error.strerror}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            # With the lock held, a leftover index.lock belongs to a dead process.
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
