"""Bridle's page and OpenCode's page on one `bridle serve`, each behind the same proxy, with sessions of many steps."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext
from support.opencode_packages import installed, own_server
from support.opencode_page import proxied

from bench.server.served import Served

SETTINGS = "[behavior]\nceiling = 100000\n[limits]\ntool_calls = 100000\n"
FIRST = "These are the first words."
LAST = "These are the last words."
WORDS = "Step **{0}** looks at `file{0}.py`, and says what it found:\n\n- one\n- two\n\n```python\nprint({0})\n```\n"
VIEWPORT: Any = {"width": 1280, "height": 900}


class World:
    """The server, its sessions, and the addresses of both pages."""

    def __init__(self, served: Served, ours: str, theirs: str) -> None:
        self.served = served
        self._ours = ours
        self._theirs = theirs
        (served.project / "data.txt").write_text("line\n" * 100_000)

    def model(self, steps: int) -> str:
        """Return a model whose turn has this number of steps."""
        replies: list[object] = [
            {
                "text": WORDS.format(number),
                "chunk": 16,
                "calls": [{"name": "read", "arguments": {"filePath": "data.txt", "offset": number, "limit": 3}}],
            }
            for number in range(1, steps)
        ]
        return self._script(f"steps-{steps}", [*replies, LAST])

    def _script(self, name: str, replies: list[object]) -> str:
        path = self.served.folder / f"{name}.json"
        path.write_text(json.dumps({"replies": replies, "then": replies[-1]}))
        return f"scripted:{path}"

    def begun(self) -> str:
        """Return a session with one short turn."""
        session: str = self.served.ask("POST", "/bridle/sessions", {})["id"]
        prompt = self.prompt(session, self._script("first", [FIRST]), 5)
        self.served.ask("GET", f"/bridle/sessions/{session}/prompts/{prompt}/result?wait=50")
        return session

    def prompt(self, session: str, model: str, steps: int) -> str:
        options = {"model": model, "limits": {"steps": steps + 1}}
        body = {"text": "Go.", "options": options}
        id: str = self.served.ask("POST", f"/bridle/sessions/{session}/prompts", body)["id"]
        return id

    def address(self, name: str, session: str) -> str:
        """Return where a page shows a session."""
        if name == "bridle":
            return f"{self._ours}/#/s/{session}"
        project = urlsafe_b64encode(str(self.served.project).encode()).decode().rstrip("=")
        return f"{self._theirs}/{project}/session/{session}"

    @asynccontextmanager
    async def context(self, browser: Browser, name: str) -> AsyncIterator[BrowserContext]:
        """Give a new browser profile; one for Bridle's page is logged in."""
        context = await browser.new_context(viewport=VIEWPORT, reduced_motion="reduce")
        if name == "bridle":
            page = await context.new_page()
            await page.goto(f"{self._ours}/#code={self.served.ask('POST', '/bridle/logins', {})['code']}")
            await page.get_by_role("heading", name="Sessions").wait_for()
            await page.close()
        try:
            yield context
        finally:
            await context.close()


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """Run the server and both proxies."""
    served = Served(folder / "bridle", settings=SETTINGS)
    try:
        with own_server(installed(), folder / "opencode", served.project) as opencode:
            token = f"{served.url}/t/{served.token}"
            async with proxied(served.url, served.url) as ours, proxied(token, opencode) as theirs:
                yield World(served, ours, theirs)
    finally:
        served.close()
