"""What the checks of a release share: its sources, its files, and the failure that ends it."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[2]
UV = HERE / ".uv" / "bin" / "uv"
LAST_LINES = 20


class Fault(Exception):
    """The sentence that says why there is no release."""


@dataclass
class Release:
    """A release of the sources in `root`, made in `out`."""

    root: Path
    out: Path
    is_short: bool = False
    key: Path | None = None
    """An SSH key that signs the provenance."""
    notes: list[str] = field(default_factory=list)

    @cached_property
    def project(self) -> dict[str, Any]:
        found: dict[str, Any] = tomllib.loads((self.root / "pyproject.toml").read_text())["project"]
        return found

    @property
    def version(self) -> str:
        return str(self.project["version"])

    @property
    def wheel(self) -> Path:
        return self.out / f"bridle-{self.version}-py3-none-any.whl"

    @property
    def sdist(self) -> Path:
        return self.out / f"bridle-{self.version}.tar.gz"

    @property
    def sbom(self) -> Path:
        return self.out / f"bridle-{self.version}.cdx.json"

    @property
    def provenance(self) -> Path:
        return self.out / f"bridle-{self.version}.provenance.json"

    @cached_property
    def commit(self) -> str:
        return self.git("rev-parse", "HEAD")

    @cached_property
    def epoch(self) -> str:
        """The time of the commit: what SOURCE_DATE_EPOCH is in its builds."""
        return self.git("log", "-1", "--format=%ct")

    def git(self, *words: str) -> str:
        return self.run("git", "-C", str(self.root), *words).strip()

    def run(
        self,
        *words: str | Path,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        words_in: str = "",
    ) -> str:
        """Run a command to its end and return its output; raise `Fault` with its last lines if it fails."""
        given = {**os.environ, "UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never", **(environment or {})}
        command = [str(word) for word in words]
        done = subprocess.run(
            command, cwd=cwd or self.root, env=given, input=words_in, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-LAST_LINES:])
            raise Fault(f"{' '.join(command)} ended with {done.returncode}\n{last}")
        return done.stdout


Check = Callable[[Release], str]
"""Return what was found, in a few words; raises `Fault`."""


def digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def in_words(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)
