"""Carries out an undo or redo plan: writes files from a snapshot and removes others, only at the plan's paths."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from bridle.errors import SnapshotFailed
from bridle.snapshots.repository import Held, Repository, seen_at
from bridle.workspace.open_beneath import NAME_ONLY, open_below


def restore(repository: Repository, wanted: Mapping[str, Held]) -> None:
    """Write or remove these paths so that they match the wanted state. Idempotent."""
    git = repository.git
    with git.alone():
        modes = {path: found.st_mode for path in wanted if (found := seen_at(git.tree / path)) is not None}
        for path in sorted((path for path, held in wanted.items() if not held.blob), reverse=True):
            _remove(git.tree, path)
        present = {path: held for path, held in wanted.items() if held.blob}
        if not present:
            return
        scratch = git.folder / "restoring"
        scratch.unlink(missing_ok=True)
        try:
            lines = (
                f"{held.mode} {held.blob}\t".encode() + os.fsencode(path) + b"\0" for path, held in present.items()
            )
            git.run("update-index", "-z", "--index-info", given=b"".join(lines), index=scratch)
            git.run("checkout-index", "--all", "--force", "--quiet", index=scratch)
        finally:
            scratch.unlink(missing_ok=True)
        for path, held in present.items():
            _keep_mode(git.tree / path, held, modes.get(path))


def _keep_mode(path: Path, held: Held, before: int | None) -> None:
    """Restore a file's previous permissions, which git does not store; only the executable bit follows the snapshot."""
    if before is None or not stat.S_ISREG(before) or held.mode == "120000":
        return
    runs = 0o111 if held.mode == "100755" else 0
    path.chmod(stat.S_IMODE(before) & ~0o111 | (runs & (stat.S_IMODE(before) >> 2 | 0o100)))


def _remove(root: Path, name: str) -> None:
    """Remove a file without following links, and then its empty parent folders."""
    inner = PurePosixPath(name)
    try:
        with open_below(root, inner.parent, NAME_ONLY) as folder, suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(inner.name, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise SnapshotFailed(f"{name} cannot be removed: {error.strerror}") from error
    for above in inner.parents[:-1]:
        with suppress(OSError), open_below(root, above.parent, NAME_ONLY) as folder:
            os.rmdir(above.name, dir_fd=folder)
