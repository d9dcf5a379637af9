"""`serve_status`: answers /health and /metrics of a worker over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from bridle.errors import ConfigError
from bridle.runtime.worker_process import WorkerProcess
from bridle.seams import begin

LOOK_SECONDS = 0.02


class _Server(uvicorn.Server):
    """A server that leaves the signals to the worker."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve_status(process: WorkerProcess, host: str, port: int) -> asyncio.Task[None]:
    """Serve the state of a worker, and return the task; raises `ConfigError` if the address cannot be used."""

    async def health(request: Request) -> JSONResponse:
        good = process.is_healthy
        body = {"status": "ok" if good else "no heartbeat", "sessions": process.runtimes.drive_count}
        return JSONResponse(body, 200 if good else 503)

    async def metrics(request: Request) -> PlainTextResponse:
        lines = [f"{name} {value:g}" for name, value in process.measured().items()]
        return PlainTextResponse("\n".join([*lines, ""]), media_type="text/plain; version=0.0.4")

    app = Starlette(routes=[Route("/health", health), Route("/metrics", metrics)])
    config = uvicorn.Config(app, host=host, port=port, log_config=None, lifespan="off", access_log=False)
    server = _Server(config)
    task = begin(_served(server))
    while not server.started:
        if task.done():
            raise ConfigError(f"--listen {host}:{port}: this address cannot be used")
        await asyncio.sleep(LOOK_SECONDS)
    return task


async def _served(server: _Server) -> None:
    try:
        await server.serve()
    except SystemExit:
        # Uvicorn has logged why; `serve_status` says so too.
        return
