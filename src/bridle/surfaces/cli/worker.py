"""`bridle worker` drives sessions of a journal on PostgreSQL; `bridle workers` lists workers and waiting sessions."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.journal.worker_overview import LiveProcess, WaitingSession
from bridle.runtime import Runtime
from bridle.runtime.worker_process import WorkerOptions, WorkerProcess
from bridle.surfaces.cli.commands import finish, with_runtime
from bridle.surfaces.cli.output import say, say_json, tell

LOOPBACK = "127.0.0.1"


def worker(
    app: Annotated[
        list[str] | None,
        typer.Option(help="Drive sessions of this Agent (MODULE:NAME) instead of those of projects; repeatable."),
    ] = None,
    place: Annotated[str | None, typer.Option(help="Name of this machine, by default its host name.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Maximum number of sessions at once.")] = None,
    listen: Annotated[
        str, typer.Option(help="[HOST:]PORT for /health and /metrics; the host is loopback by default.")
    ] = "",
) -> None:
    """Drive sessions of the journal on PostgreSQL until SIGTERM or Ctrl-C; then hand them over to other workers.

    Example: bridle worker --listen 9464
    """
    host, port = _address(listen)
    process = WorkerProcess(WorkerOptions(apps=app or (), place=place, concurrency=concurrency), Path.cwd())
    finish(_work(process, host, port))


async def _work(process: WorkerProcess, host: str, port: int) -> None:
    loop, told = asyncio.get_running_loop(), False

    def leave() -> None:
        nonlocal told
        if told:
            # Nothing is lost: the leases run out, and other workers take over.
            os._exit(130)
        told = True
        tell("bridle worker: handing its turns over")
        process.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    status = None
    if port:
        # Imported only if asked for.
        from bridle.surfaces.cli.worker_status import serve_status

        status = await serve_status(process, host, port)
        tell(f"bridle worker: http://{host}:{port}/health and /metrics")
    tell(f"bridle worker: takes sessions of {' and '.join(process.queues)} (APP@PLACE)")
    try:
        await process.run()
    finally:
        if status is not None:
            status.cancel()
            with suppress(asyncio.CancelledError):
                await status
    tell("bridle worker: stopped")


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if listen and not (port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"--listen {listen}: write it as PORT or HOST:PORT")
    return host.strip("[]") or LOOPBACK, int(port or 0)


@with_runtime
async def workers(
    runtime: Runtime, format: Annotated[str, typer.Option(help="Output format: text or json.")] = "text"
) -> int | None:
    """List live workers with their sessions, and the sessions that wait or that no live worker may take.

    Example: bridle workers
    """
    found = await runtime.workers()
    if format == "json":
        say_json(found)
        return None
    for process in found.processes:
        say(_process_line(process))
    if not any(process.queues for process in found.processes):
        say("no live worker")
    for session in found.waiting:
        say(_session_line(session))
    return None


def _process_line(process: LiveProcess) -> str:
    takes = f"takes {' '.join(process.queues)}" if process.queues else "drives only its own"
    return f"{process.host}:{process.process}  up {process.seconds:.0f} s  drives {process.sessions}  {takes}"


def _session_line(session: WaitingSession) -> str:
    if session.aside:
        why = f"set aside: three workers in a row died while they drove it; continue with: bridle resume {session.id}"
    elif session.problem:
        why = session.problem
    elif session.has_worker:
        why = f"waits for {session.seconds:.0f} s"
    else:
        why = f"waits for {session.seconds:.0f} s: no live worker takes {session.queue}"
    return f"{session.id}  {session.queue}  {why}"
