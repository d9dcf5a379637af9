"""The site: built strictly, complete, readable with axe-core in light and dark, and silent towards other hosts."""

import functools
import http.server
import os
import shutil
import subprocess
import sys
import threading

import pytest
from support.page_reader import PATIENCE_MS, axe_source, opened_browser
from support.paths import ROOT, TESTS
from support.site_reference import commands_page

from bridle.surfaces.cli.index import COMMANDS

PAGES = (
    "index.html",
    "first-run.html",
    "limits.html",
    "tools-and-sandbox.html",
    "library.html",
    "moving-from-opencode.html",
    "commands.html",
    "all-settings.html",
    "evidence/comparison.html",
    "project/changelog.html",
)
VIEWS = {"light": (1440, 900, "light"), "dark": (1440, 900, "dark"), "phone": (390, 844, "dark")}


def build(config, folder):
    """Build the site as `scripts/site` does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "--site-dir", folder]
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


class Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *words):
        return


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site, and its address on loopback."""
    folder = tmp_path_factory.mktemp("site") / "site"
    done = build(ROOT / "mkdocs.yml", folder)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    serve = functools.partial(Silent, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_every_page_of_the_documents_is_on_the_site(site):
    folder, _ = site
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    built = {path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html") for path in pages}
    assert sorted(str(path) for path in built if not (folder / path).is_file()) == []


def test_every_command_is_in_the_reference():
    page = commands_page()
    assert [name for name in COMMANDS if f"### bridle {name}\n" not in page] == []
    assert page.count("```sh\n") >= len(COMMANDS) - 3
    assert "| `--max-cost` |" in page and "### bridle mcp add\n" in page and "bridle auth login" in page


@pytest.mark.parametrize("link", ["[gone](gone.md)", "[gone](limits.md#gone)"])
def test_a_dead_link_fails_the_build(link, tmp_path):
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs)
    with (docs / "index.md").open("a") as page:
        page.write(f"\n{link}\n")
    config = tmp_path / "mkdocs.yml"
    text = (ROOT / "mkdocs.yml").read_text()
    config.write_text(text.replace("docs_dir: docs", f"docs_dir: {docs}").replace("tests/support", f"{TESTS}/support"))
    done = build(config, tmp_path / "site")
    assert (done.returncode, "gone" in done.stderr) == (1, True)


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_no_other_host_is_asked(view, site, browser):
    _, address = site
    width, height, scheme = VIEWS[view]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    elsewhere, found = [], {}
    page.on("request", lambda asked: None if asked.url.startswith((address, "data:")) else elsewhere.append(asked.url))
    for path in PAGES:
        page.goto(f"{address}/{path}")
        page.evaluate(axe_source())
        violations = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
        found[path] = [(each["id"], [node["target"] for node in each["nodes"][:3]]) for each in violations]
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()
    assert {path: each for path, each in found.items() if each} == {}
    assert elsewhere == []


def test_the_search_finds_a_limit(site, browser):
    _, address = site
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{address}/index.html")
    page.locator("input[name=query]").fill("doom loop")
    page.locator(".md-search-result__link").first.wait_for()
    assert page.locator(".md-search-result__link").count() > 0
    page.close()
