"""What a page costs its browser, by CDP: first paint, script time, long tasks, elements and memory."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from playwright.async_api import BrowserContext, CDPSession, Page

WATCH = """
window.longTasks = [];
new PerformanceObserver(found => window.longTasks.push(...found.getEntries().map(each => each.duration)))
    .observe({ type: "longtask", buffered: true });
"""
IDLE = "() => new Promise(done => requestIdleCallback(() => requestIdleCallback(done)))"
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
PATIENCE_MS = 300_000


class Cost(NamedTuple):
    """Milliseconds, counts and megabytes of one page."""

    first_paint: float
    shown: float
    script: float
    long_tasks: int
    long_task_time: float
    elements: int
    heap: float
    loaded: float


class Watched:
    """A tab whose work is counted; `begin` starts a new count."""

    def __init__(self, page: Page, cdp: CDPSession) -> None:
        self.page = page
        self._cdp = cdp
        self._script = 0.0
        self._bytes = 0
        cdp.on("Network.dataReceived", self._received)

    def _received(self, told: dict[str, int]) -> None:
        self._bytes += told["dataLength"]

    async def begin(self) -> None:
        self._script = await self._metric("ScriptDuration")
        await self.page.evaluate("window.longTasks = []")

    async def _metric(self, name: str) -> float:
        found = (await self._cdp.send("Performance.getMetrics"))["metrics"]
        return float(next(each["value"] for each in found if each["name"] == name))

    async def cost(self) -> Cost:
        """Return what was used since `begin`, or since the page was opened."""
        shown = float(await self.page.evaluate("performance.now()"))
        await self.page.evaluate(IDLE)
        script = await self._metric("ScriptDuration") - self._script
        tasks: list[float] = await self.page.evaluate("window.longTasks")
        await self._cdp.send("HeapProfiler.collectGarbage")
        heap = (await self._cdp.send("Runtime.getHeapUsage"))["usedSize"]
        return Cost(
            first_paint=float(await self.page.evaluate(PAINT)),
            shown=shown,
            script=script * 1000,
            long_tasks=len(tasks),
            long_task_time=sum(tasks),
            elements=int(await self.page.evaluate("document.getElementsByTagName('*').length")),
            heap=heap / 1e6,
            loaded=self._bytes / 1e6,
        )


async def opened(context: BrowserContext, address: str, text: str) -> Watched:
    """Open an address with an empty cache, until it shows a text."""
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    cdp = await context.new_cdp_session(page)
    for method in ("Performance.enable", "Network.enable", "HeapProfiler.enable"):
        await cdp.send(method)
    await cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await page.add_init_script(WATCH)
    watched = Watched(page, cdp)
    await page.goto(address)
    await page.get_by_text(text).last.wait_for()
    return watched


def median(costs: Sequence[Cost]) -> Cost:
    """Return the medians of several rounds."""
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))
