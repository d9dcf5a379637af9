"""Where commands run: in a sandbox if there is one, within bounds, some of them in the background."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bridle.config.settings import SandboxSettings
from bridle.errors import ConfigError
from bridle.process.sandbox import Sandbox, sandbox_program
from bridle.tools.background import Backgrounds


@dataclass(slots=True)
class Shelter:
    """What the settings say of commands, for all sessions of one runtime."""

    settings: SandboxSettings
    environment: Mapping[str, str]
    guarded: tuple[Path, ...] = ()
    outputs: Path | None = None
    backgrounds: Backgrounds = field(default_factory=Backgrounds)
    _scratch: Path | None = None

    @property
    def sandboxed(self) -> bool:
        """Whether commands are shut in; raises `ConfigError` if they must be and cannot."""
        if self.settings.mode == "off":
            return False
        program, why_not = sandbox_program()
        if self.settings.mode == "required" and not program:
            raise ConfigError(f"sandbox.mode is required, and there is no sandbox: {why_not}")
        return bool(program)

    def warning(self) -> str:
        """What a reader must know where commands are not shut in."""
        if self.settings.mode != "auto" or self.sandboxed:
            return ""
        return f"commands run without a sandbox, so each of them is asked about: {sandbox_program()[1]}"

    def sandbox(self, session: str, *, read_only: bool = False) -> Sandbox | None:
        if not self.sandboxed:
            return None
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="bridle-"))
        return Sandbox(
            sandbox_program()[0],
            Path(self.environment.get("HOME") or "/nonexistent"),
            self._scratch,
            writable=_paths(self.settings.writable),
            hidden=(*self.guarded, *_paths(self.settings.hidden)),
            network=self.settings.network,
            read_only=read_only,
            programs=(Path(sys.prefix), Path(sys.base_prefix), *self._path()),
            readable=((self.outputs / session).resolve(),) if self.outputs is not None else (),
        )

    def _path(self) -> list[Path]:
        """The folders of programs; of a virtual environment, the whole of it."""
        entries = [Path(entry) for entry in self.environment.get("PATH", "").split(":") if entry.startswith("/")]
        return [entry.parent if (entry.parent / "pyvenv.cfg").exists() else entry for entry in entries]

    def bounds(self) -> dict[str, int]:
        """How much a command may take; what is 0 is not bounded."""
        given = self.settings
        bounds = {"processes": given.processes, "memory": given.memory_mb << 20, "file": given.file_mb << 20}
        return {name: most for name, most in bounds.items() if most > 0}

    async def close(self) -> None:
        """End what goes on in the background, and remove the scratch folder."""
        await self.backgrounds.close()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = None


def _paths(given: list[str]) -> tuple[Path, ...]:
    return tuple(Path(path).expanduser().resolve() for path in given)
