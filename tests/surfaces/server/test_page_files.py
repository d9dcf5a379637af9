"""The page's static files: open to everyone, with a strict policy, and nothing else of the disk."""

import asyncio
import gzip
from functools import partial

import httpx2
import pytest
from support.served_home import raw
from support.source import SOURCE

from bridle.surfaces.server.page.files import page_routes
from bridle.surfaces.server.problems import RequestRefused

STATIC = SOURCE / "surfaces" / "server" / "page" / "static"


def test_the_page_is_open_and_may_load_nothing_from_elsewhere(shared):
    with httpx2.Client(base_url=shared.servers[0].url) as client:
        page = client.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.content == (STATIC / "index.html").read_bytes()
        policy = dict(each.split(" ", 1) for each in page.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cross-origin-opener-policy"] == "same-origin"
        again = client.get("/page/index.html", headers={"If-None-Match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        plain = client.get("/page/index.html", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert client.head("/").status_code == 200
        assert client.post("/").status_code == 401


def test_large_files_are_compressed_and_other_files_are_not_served(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "app.js").write_text("export const one = 1;\n" * 100)
    (tmp_path / "secret.toml").write_text("key = 1")
    routes = page_routes(tmp_path)

    async def keep(sent, message):
        sent.append(message)

    async def ask(path, accepted=b""):
        sent = []
        scope = {"type": "http", "method": "GET", "path": path, "headers": [(b"accept-encoding", accepted)]}
        for route in routes:
            match, inner = route.matches({**scope, "root_path": ""})
            if match.value == 2:
                await route.handle({**scope, **inner}, None, partial(keep, sent))
                return dict(sent[0]["headers"]), sent[1]["body"]
        raise AssertionError(path)

    async def story():
        headers, body = await ask("/page/below/app.js", b"gzip, br")
        assert headers[b"content-encoding"] == b"gzip"
        assert gzip.decompress(body) == (tmp_path / "below" / "app.js").read_bytes()
        assert headers[b"content-type"] == b"text/javascript; charset=utf-8"
        for missing in ("/page/secret.toml", "/page/below", "/page/../files.py", "/page//etc/passwd", "/"):
            with pytest.raises(RequestRefused):
                await ask(missing)

    asyncio.run(story())


@pytest.mark.parametrize(
    "path",
    [
        b"/page/../files.py",
        b"/page/%2e%2e/files.py",
        b"/page/..%2ffiles.py",
        b"/page//etc/passwd",
        b"/page/index.html/",
        b"/page/index.html%00.js",
        b"/page/",
        b"/page/./index.html",
        b"/page/\xff",
    ],
)
def test_only_listed_files_exist(shared, path):
    asked = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert raw(shared.servers[0], asked).split(b" ")[1] in (b"404", b"400")
