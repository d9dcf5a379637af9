"""Warnings of a server for people at a terminal: a missing sandbox, and projects that are not trusted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from textwrap import shorten

from bridle.errors import ConfigError
from bridle.runtime.project import Backend
from bridle.runtime.project_views import TrustView
from bridle.surfaces.server.opencode.events import Toast
from bridle.surfaces.shared.safe_text import plain

MOST_SHOWN = 300
"""Letters of what is ignored: a message covers a part of the screen."""
SHOWN_MILLISECONDS = 20_000


async def server_warnings(
    missing_sandbox: str, served: Sequence[Path], backend: Callable[[str], Awaitable[Backend]]
) -> list[Toast]:
    """Return one message, since each takes the place of the one before it; none if all is well.

    `missing_sandbox` says why there is no sandbox, and may be empty.
    """
    found = [missing_sandbox]
    for path in map(str, served):
        try:
            found.append(_ignored(await (await backend(path)).trust()))
        except ConfigError as error:
            found.append(str(error))
    words = "\n".join(filter(None, found))
    return [Toast(message=plain(words), variant="warning", duration=SHOWN_MILLISECONDS)] if words else []


def _ignored(trust: TrustView) -> str:
    if not trust.ignored:
        return ""
    ignored = shorten("; ".join(trust.ignored), MOST_SHOWN, placeholder=" …")
    return f"{trust.root} is not trusted, so this is ignored: {ignored}. On the server's machine: {trust.command}"
