"""Errors as OpenCode's clients read them, and `answering`, which turns exceptions of endpoints into them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from bridle.errors import AccessRefused, BridleError, ConfigError, LeaseLost, NoSuchSession, SnapshotFailed
from bridle.surfaces.server.native.operation import PREFIX
from bridle.surfaces.server.problems import RequestRefused, on_http_error

Endpoint = Callable[[Request], Awaitable[Response]]
Body = TypeVar("Body")
BUSY = "SessionBusyError"
INVALID = "InvalidRequestError"
STATUS: dict[type[BridleError], tuple[int, str]] = {
    NoSuchSession: (404, "NotFoundError"),
    AccessRefused: (403, "ForbiddenError"),
    ConfigError: (400, "BadRequest"),
    LeaseLost: (409, BUSY),
    SnapshotFailed: (409, BUSY),
}


class ClientFailure(Exception):
    """An answer that is an error: its status, its name, and a sentence."""

    def __init__(self, status: int, name: str, text: str) -> None:
        super().__init__(text)
        self.status, self.name = status, name


class JsonAnswer(Response):
    """JSON made from structs."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def failure(status: int, name: str, text: str, session: str = "") -> JsonAnswer:
    """Return an error in the shape that clients show."""
    if name == BUSY:
        return JsonAnswer({"_tag": name, "sessionID": session, "message": text}, status)
    if name == INVALID:
        return JsonAnswer({"_tag": name, "message": text}, status)
    return JsonAnswer({"name": name, "data": {"message": text}, "message": text}, status)


def answering(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint whose errors are answers."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientFailure as error:
            return failure(error.status, error.name, str(error), request.path_params.get("session", ""))
        except RequestRefused as error:
            return failure(error.status, "ForbiddenError", error.text)
        except BridleError as error:
            known = next((STATUS[each] for each in type(error).__mro__ if each in STATUS), (500, "UnknownError"))
            return failure(*known, str(error), request.path_params.get("session", ""))

    return answered


async def on_unknown(request: Request, error: HTTPException) -> Response:
    """Answer a path or method that no route has; those of the native API get its own answer."""
    if request.scope["path"].startswith(f"{PREFIX}/"):
        return await on_http_error(request, error)
    if error.status_code == 404:
        return failure(404, "NotFoundError", f"there is nothing at {request.scope['path']}")
    return failure(error.status_code, "BadRequest", f"{request.method} is not possible here")


async def read_body(request: Request, kind: type[Body]) -> Body:
    """Return the body of a request, `{}` if there is none; raises `ClientFailure` (400)."""
    raw = await request.body()
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ClientFailure(400, "BadRequest", f"the body does not fit: {error}") from error


def forbidden(what: str) -> Endpoint:
    """Return an endpoint that refuses: its action is allowed on the server's machine only."""

    async def refused(request: Request) -> Response:
        return failure(403, "ForbiddenError", f"{what} can only be changed on the server's machine")

    return refused
