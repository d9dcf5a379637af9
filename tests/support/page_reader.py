"""A person with a browser: Debian's Chromium on a server's page, watched for errors and requests to other places."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from support.served_home import ServedHome, Server

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--js-flags=--expose-gc"),
]
SIZES = {"phone": (390, 844), "desktop": (1440, 900)}
PATIENCE_MS = 45_000


@contextmanager
def opened_browser() -> Iterator[Browser]:
    """Give a browser, which ends with the block."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Reader:
    """One browser window of a person, logged in by a link."""

    def __init__(self, browser: Browser, server: Server, size: str = "desktop", scheme: Any = "light") -> None:
        width, height = SIZES[size]
        self.server = server
        self.context: BrowserContext = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.heard: list[str] = []
        """Errors, violations of the policy, and requests to other places."""
        self.page.on("pageerror", lambda error: self.heard.append(str(error)))
        self.page.on("console", lambda told: self.heard.append(told.text) if told.type == "error" else None)
        self.page.on("request", lambda asked: None if self._is_own(asked.url) else self.heard.append(asked.url))

    def _is_own(self, url: str) -> bool:
        return url.startswith((self.server.url, "blob:", "data:"))

    def log_in(self, home: ServedHome, *, token: str | None = None, path: str = "") -> "Reader":
        """Open the page with a link, and wait for what it shows."""
        with home.client(self.server, token) as client:
            code = client.post("/bridle/logins").json()["code"]
        self.page.goto(f"{self.server.url}/#code={code}")
        self.page.get_by_role("heading", name="Sessions").wait_for()
        if path:
            self.open(path)
        return self

    def open(self, path: str) -> None:
        """Go to a view by its address."""
        self.page.evaluate("path => { location.hash = path }", path)

    def button(self, name: str) -> Any:
        """Return the first button with exactly this name."""
        return self.page.get_by_role("button", name=name, exact=True).first

    @property
    def field(self) -> Any:
        """The field for prompts."""
        return self.page.get_by_role("textbox", name="Prompt")

    def send(self, text: str) -> None:
        """Write a prompt and send it."""
        self.field.fill(text)
        self.page.keyboard.press("Enter")

    def sees(self, text: str) -> None:
        """Wait until a text is shown."""
        self.page.get_by_text(text).first.wait_for()

    def chosen(self, name: str) -> None:
        """Choose an entry of the session's menu."""
        self.button("More actions").click()
        self.button(name).click()

    def read_back(self) -> bool:
        """Scroll up until older rows have come; return whether there are more."""
        first = ".rows > .row:first-of-type"
        if self.page.locator(".begin").count():
            return False
        key = str(self.page.locator(first).get_attribute("data-key"))
        self.page.locator(".transcript").evaluate(
            "view => { view.dispatchEvent(new WheelEvent('wheel')); view.scrollTop = 0 }"
        )
        quoted = key.replace("\\", "\\\\").replace("'", "\\'")
        self.page.locator(f"{first}:not([data-key='{quoted}']), .begin").first.wait_for()
        return True

    def read_on(self) -> None:
        """Scroll down until newer rows have come."""
        last = ".rows > .row:last-of-type"
        key = str(self.page.locator(last).get_attribute("data-key"))
        self.page.locator(".transcript").evaluate(
            "view => { view.dispatchEvent(new WheelEvent('wheel')); view.scrollTop = 1e9 }"
        )
        self.page.locator(f"{last}:not([data-key='{key}'])").wait_for()

    def nodes(self) -> int:
        """Return the number of elements in the document."""
        return int(self.page.evaluate("document.getElementsByTagName('*').length"))

    def close(self) -> None:
        self.context.close()


def axe_source() -> str:
    """Return axe-core, from the cache or from npm with its hash checked."""
    from support.page_vendor import fetched, text_of

    version = "4.14.1"
    cached = Path.home() / ".cache" / "bridle-tests" / f"axe-{version}.js"
    if not cached.exists():
        cached.parent.mkdir(parents=True, exist_ok=True)
        text = text_of(fetched("axe-core", version, AXE), "axe.min.js")
        partial = cached.with_suffix(".part")
        partial.write_text(text, encoding="utf-8")
        partial.rename(cached)
    return cached.read_text(encoding="utf-8")


AXE = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
