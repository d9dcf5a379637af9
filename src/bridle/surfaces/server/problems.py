"""Errors of the server as JSON answers: a status, the field at fault and a sentence; never a traceback."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bridle.errors import (
    AccessRefused,
    BridleError,
    ConfigError,
    JournalFailed,
    JournalRefused,
    LeaseGivenUp,
    LeaseLost,
    NoSuchSession,
    SnapshotFailed,
)
from bridle.surfaces.server.credentials import for_log
from bridle.wire.native_answers import ErrorBody

LOG = logging.getLogger(__name__)
STATUS: dict[type[BridleError], int] = {
    NoSuchSession: 404,
    ConfigError: 400,
    AccessRefused: 403,
    LeaseLost: 409,
    LeaseGivenUp: 503,
    JournalFailed: 503,
    JournalRefused: 500,
    SnapshotFailed: 409,
}


class RequestRefused(Exception):
    """A request is not served; it carries the status, the field at fault and the sentence of the answer."""

    def __init__(self, status: int, key: str, text: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.key = key
        self.text = text
        self.headers = headers or {}


class Json(Response):
    """A JSON answer from structs."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def problem(
    status: int, text: str, key: str = "", headers: dict[str, str] | None = None, *, cause: BaseException | None = None
) -> Json:
    """Return an error as an answer; `cause` is the exception behind it."""
    kind = type(cause).__name__ if isinstance(cause, BridleError) else ""
    return Json(ErrorBody(text, key, kind), status, headers)


def refused(error: RequestRefused) -> Json:
    """Return the answer to a refused request."""
    return problem(error.status, error.text, error.key, error.headers, cause=error.__cause__)


async def on_refused(request: Request, error: Exception) -> Response:
    """Answer a refused request."""
    assert isinstance(error, RequestRefused)
    return refused(error)


async def on_error(request: Request, error: Exception) -> Response:
    """Answer an error that Bridle raised on purpose."""
    status = next((STATUS[each] for each in type(error).__mro__ if each in STATUS), 500)
    return problem(status, str(error), cause=error)


async def on_http_error(request: Request, error: HTTPException) -> Response:
    """Answer what Starlette itself refuses: unknown paths and methods."""
    headers = dict(error.headers or {})
    if error.status_code == 404:
        return problem(404, f"there is nothing at {request.scope['path']}", headers=headers)
    if error.status_code == 405:
        return problem(405, f"{request.method} is not possible here", headers=headers)
    return problem(error.status_code, str(error.detail), headers=headers)


async def on_gone(request: Request, error: Exception) -> Response:
    """End a request whose client went away before its body was whole; no client reads the answer."""
    return problem(400, "the body ended before its size was reached")


async def on_crash(request: Request, error: Exception) -> Response:
    """Answer an unexpected error; its traceback goes to the log only."""
    LOG.error("%s %s failed", request.method, for_log(str(request.scope["path"])), exc_info=error)
    return problem(500, "the server failed; its log has the details")
