"""Builds the facts of a session that lists show: its id, times, title, project and model, as clients name them."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from msgspec import UNSET

from bridle.core.events import SessionInfo
from bridle.surfaces.server.opencode import ids, shapes


def milliseconds(seconds: float) -> int:
    """Return a time as clients count it."""
    return int(seconds * 1_000 + 0.5)


def model_of(ref: str) -> tuple[str, str]:
    """Return provider and model of a reference; models without a provider are Bridle's own."""
    provider, slash, model = ref.partition("/")
    return (provider, model) if slash else ("bridle", ref)


def project_id(directory: str) -> str:
    """Return the id of the project in a directory."""
    return hashlib.sha256(directory.encode()).hexdigest()[:40]


def session_of(info: SessionInfo, updated: int) -> shapes.SessionShape:
    """Return a session of a list, which is not read further."""
    created = milliseconds(info.created)
    made = datetime.fromtimestamp(info.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    return shapes.SessionShape(
        id=ids.shown_session(info.id),
        slug=ids.mark(info.id),
        projectID=project_id(info.directory),
        directory=info.directory,
        title=info.title or f"New session - {made}",
        time=shapes.SessionTime(created, max(created, updated), milliseconds(info.archived) or UNSET),
        parentID=ids.shown_session(info.parent) if info.parent else UNSET,
    )
