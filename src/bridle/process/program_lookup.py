"""Finds programs that Bridle runs outside the sandbox, without those in folders that a model can write to."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


def own_program(name: str, *projects: Path, path: str | None = None) -> str | None:
    """Return the path of a program of the machine, and not of one of these projects or of the working folder."""
    return shutil.which(name, path=own_path(*projects, path=path))


def own_path(*projects: Path, path: str | None = None) -> str:
    """Return a search path, by default that of this process, without what these projects and the working folder have.

    A working folder above a project, such as `/`, may have all programs of the machine, so it stays.
    """
    path = os.environ.get("PATH", os.defpath) if path is None else path
    try:
        here = Path.cwd()
    except OSError:
        # The working folder is gone, and nothing can be in it.
        here = Path("/")
    is_above = here == here.parent or any(project.resolve().is_relative_to(here) for project in projects)
    return outside(path, *projects, *(() if is_above else (here,)))


def outside(path: str, *folders: Path) -> str:
    """Return a search path without entries that are relative or inside one of these folders."""
    real = [folder.resolve() for folder in folders]
    absolute = (entry for entry in path.split(":") if entry.startswith("/"))
    return ":".join(entry for entry in absolute if not any(map(Path(entry).resolve().is_relative_to, real)))
