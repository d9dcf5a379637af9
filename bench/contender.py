"""Who is measured or compared: each in an environment of its own, which is made when it is needed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CONTENDERS = Path(__file__).parent / "contenders"
HOMES = ROOT / ".bench"
UV = ROOT / ".uv" / "bin" / "uv"


@dataclass
class Contender:
    """Something that does the work, in an environment of its own."""

    name: str
    script: str
    flags: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    durable: bool = False
    reports: list[dict[str, Any]] = field(default_factory=list)

    @property
    def python(self) -> Path:
        return Path(sys.executable) if not self.needs else HOMES / self.script / "bin" / "python"

    def best(self, key: str) -> float:
        """The lowest of all rounds: what disturbs a run only ever adds to it."""
        return min(report[key] for report in self.reports)


def prepare(contender: Contender) -> str:
    """Make the contender's environment; returns why that failed, or nothing."""
    if contender.python.exists():
        return ""
    home = HOMES / contender.script
    install = [
        UV,
        "pip",
        "install",
        "--system-certs",
        "--quiet",
        "--compile-bytecode",
        "--python",
        home,
        *contender.needs,
    ]
    for command in ([UV, "venv", "--quiet", "--python", sys.executable, home], install):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip().splitlines()[-1]
    return ""
