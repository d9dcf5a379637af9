"""`native_routes`: the routes of the native API with its description, for `create_app`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from bridle.core.access import Right
from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.native.events_api import EventsApi
from bridle.surfaces.server.native.history_api import HistoryApi
from bridle.surfaces.server.native.openapi import PAGE_POLICY, openapi, reference_page
from bridle.surfaces.server.native.operation import Operation, routes_of
from bridle.surfaces.server.native.project_api import ProjectApi
from bridle.surfaces.server.native.prompting_api import PromptingApi
from bridle.surfaces.server.native.record_api import RecordApi
from bridle.surfaces.server.native.server_api import ServerApi
from bridle.surfaces.server.native.sessions_api import MakeReport, SessionsApi
from bridle.surfaces.server.native.turns_api import TurnsApi
from bridle.surfaces.server.problems import Json
from bridle.surfaces.server.routes import Guarded
from bridle.surfaces.server.session_rows import SessionRows
from bridle.wire.native_answers import ServerState


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeParts:
    """Dependencies of the native API, given by the program that serves it."""

    version: str
    report: MakeReport
    """Returns a session as one HTML page."""
    measured: Callable[[], dict[str, float]]
    """Returns counters by the names that Prometheus shows."""
    state: Callable[[Right], ServerState]


def native_routes(server: HttpServer, parts: NativeParts) -> list[Guarded]:
    """Return the routes of the native API."""
    rows = SessionRows(server.directories)
    about = ServerApi(server, parts.measured, parts.state)
    operations: list[Operation] = [
        *SessionsApi(server, rows, parts.report).operations(),
        *TurnsApi(server).operations(),
        *EventsApi(server, rows).operations(),
        *RecordApi(server).operations(),
        *PromptingApi(server).operations(),
        *HistoryApi(server).operations(),
        *ProjectApi(server).operations(),
        *about.operations(),
    ]

    async def document(request: Request) -> Response:
        return Json(openapi(operations, parts.version))

    async def page(request: Request) -> Response:
        made = reference_page(operations, parts.version)
        return Response(made, media_type="text/html", headers={"Content-Security-Policy": PAGE_POLICY})

    described = [Guarded("/openapi.json", document, right="view"), Guarded("/reference", page, right="view")]
    return [*routes_of(operations), *described, *about.routes()]
