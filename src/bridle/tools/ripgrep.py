"""The search program that glob and grep stand on."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

from bridle.errors import ToolFailed


def _program() -> str:
    beside = Path(sys.executable).parent / "rg"
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if found is None:
        raise ToolFailed("ripgrep (rg) was not found.")
    return found


async def ripgrep(arguments: list[str], folder: Path) -> tuple[int, str]:
    """The exit status and the output, errors included."""
    if not folder.is_dir():
        raise ToolFailed(f"{folder} does not exist.")
    process = await asyncio.create_subprocess_exec(
        _program(),
        *arguments,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode or 0, output.decode("utf-8", errors="replace")


def listed(lines: list[str], most: int) -> str:
    """The first lines of what was found, and how many are left out."""
    more = f"\n\n[{len(lines) - most} more]" if len(lines) > most else ""
    return "\n".join(lines[:most]) + more
