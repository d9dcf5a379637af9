"""OpenCode's web page on Bridle: a proxy takes the page from OpenCode's own server, and all else from Bridle."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from playwright.async_api import Page, async_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
HOP = ("content-length", "transfer-encoding", "connection", "content-encoding")
PATIENCE_MS = 60_000


def is_of_page(request: Request) -> bool:
    """Return whether a browser asks for the page or for a file of it."""
    path = request.url.path
    wants_page = "text/html" in request.headers.get("accept", "")
    return request.method == "GET" and (wants_page or path.startswith("/assets/") or Path(path).suffix != "")


@asynccontextmanager
async def proxied(bridle: str, opencode: str) -> AsyncIterator[str]:
    """Serve the page of one server with the data of the other, and give the address."""
    async with httpx2.AsyncClient(timeout=None) as client:

        async def passed(request: Request) -> Response:
            source = opencode if is_of_page(request) else bridle
            address = f"{source}{request.url.path}" + (f"?{request.url.query}" if request.url.query else "")
            headers = [(name, value) for name, value in request.headers.items() if name != "accept-encoding"]
            sent = client.build_request(request.method, address, headers=headers, content=await request.body())
            answer = await client.send(sent, stream=True)
            given = {name: value for name, value in answer.headers.items() if name.lower() not in HOP}
            return StreamingResponse(answer.aiter_bytes(), answer.status_code, given)

        app = Starlette(routes=[Route("/{path:path}", passed, methods=METHODS)])
        listener = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", timeout_graceful_shutdown=1))
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await task
            listener.close()


@asynccontextmanager
async def browser(address: str) -> AsyncIterator[Page]:
    """Open an address in Debian's Chromium."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = await chromium.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        try:
            await page.goto(address)
            yield page
        finally:
            await chromium.close()
