"""`Operation`: one entry of the native API: its route, its types and its function; reads requests strictly."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_origin

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from bridle.surfaces.server.problems import Json, RequestRefused
from bridle.surfaces.server.routes import Guarded, Needed
from bridle.wire.native_answers import Accepted
from bridle.wire.native_requests import NoQuery, Strict

PREFIX = "/bridle"
Read = TypeVar("Read", bound=msgspec.Struct)
Method = Literal["GET", "POST", "PATCH", "DELETE"]
Run = Callable[[Request, Any, Any], Awaitable[object]]
"""Gets a request, its parameters and its body, and returns the answer."""
PLACE = re.compile(r" - at `(?:key in )?\$\.?([^`]*)`")
FIELD = re.compile(r"field `([^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation, with its types."""

    name: str
    method: Method
    path: str
    right: Needed
    summary: str
    run: Run
    query: type[Strict] = NoQuery
    body: type[Strict] | None = None
    answer: object = None
    """The type of the answer; None for one that is not JSON."""
    media: str = "application/json"
    status: int = 200

    @property
    def address(self) -> str:
        """The whole path."""
        return f"{PREFIX}{self.path}"


def get(
    name: str,
    path: str,
    summary: str,
    run: Run,
    answer: object,
    *,
    query: type[Strict] = NoQuery,
    right: Needed = "view",
    media: str = "application/json",
) -> Operation:
    """Return an operation that reads."""
    return Operation(
        name=name,
        method="GET",
        path=path,
        right=right,
        summary=summary,
        run=run,
        query=query,
        answer=answer,
        media=media,
    )


def post(
    name: str,
    path: str,
    summary: str,
    run: Run,
    body: type[Strict],
    *,
    query: type[Strict] = NoQuery,
    answer: object = Accepted,
    status: int = 200,
) -> Operation:
    """Return an operation for clients that may drive sessions."""
    return Operation(
        name=name,
        method="POST",
        path=path,
        right="drive",
        summary=summary,
        run=run,
        query=query,
        body=body,
        answer=answer,
        status=status,
    )


def routes_of(operations: Sequence[Operation]) -> list[Guarded]:
    """Return the routes of operations; those of one path are one route for each right."""
    return [_route(operation) for operation in operations]


def _route(operation: Operation) -> Guarded:
    async def endpoint(request: Request) -> Response:
        query = read_query(request, operation.query)
        body = read_body(await request.body(), operation.body) if operation.body is not None else None
        answer = await operation.run(request, query, body)
        return answer if isinstance(answer, Response) else Json(answer, operation.status)

    return Guarded(operation.address, endpoint, right=operation.right, methods=[operation.method])


def read_query(request: Request, kind: type[Read]) -> Read:
    """Return the parameters of a request; raises `RequestRefused` (400)."""
    given: dict[str, Any] = dict(request.query_params)
    for field in msgspec.structs.fields(kind):
        if get_origin(field.type) is tuple and field.name in given:
            given[field.name] = request.query_params.getlist(field.name)
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise misread(error, "the parameters") from None


def read_body(raw: bytes, kind: type[Read]) -> Read:
    """Return the body of a request, an empty one as `{}`; raises `RequestRefused` (400)."""
    try:
        return msgspec.json.decode(raw or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise misread(error, "the body") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RequestRefused(400, "", f"the body must be JSON: {error}") from None


def misread(error: msgspec.ValidationError, what: str) -> RequestRefused:
    """Return the refusal of a value of a wrong type, with its key and the expected type."""
    words = str(error)
    place, field = PLACE.search(words), FIELD.search(words)
    keys = [found.group(1) for found in (place, field) if found is not None and found.group(1)]
    return RequestRefused(400, ".".join(keys), f"{what}: {PLACE.sub('', words)}")
