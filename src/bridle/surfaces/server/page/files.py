"""`page_routes`: serves the page's static files to everyone; the page gets data only after its login."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from bridle.surfaces.server.problems import RequestRefused
from bridle.surfaces.server.routes import Guarded

FOLDER = Path(__file__).parent / "static"
ENTRY = "index.html"
MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
"""Files with another ending are not served."""
SMALLEST_COMPRESSED = 500
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Asked for each time, and sent only if it has changed: a new version is never mixed with an old one.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file as it is sent."""

    media: str
    content: bytes
    compressed: bytes
    """Empty where compression gains nothing."""
    tag: str


def page_routes(folder: Path = FOLDER) -> list[Guarded]:
    """Return the routes `/`, which is the page, and `/page/PATH` for the files that it loads."""

    @cache
    def files() -> dict[str, StaticFile]:
        # Paths of requests are looked up here and never on disk. Read late: a server without readers needs no page.
        found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.suffix in MEDIA}
        return {name: _read(path) for name, path in found.items() if path.is_file()}

    async def entry(request: Request) -> Response:
        return _answer(request, files().get(ENTRY))

    async def file(request: Request) -> Response:
        return _answer(request, files().get(request.path_params["path"]))

    return [Guarded("/", entry, right="open"), Guarded("/page/{path:path}", file, right="open")]


def _read(path: Path) -> StaticFile:
    content = path.read_bytes()
    packed = gzip.compress(content, mtime=0) if len(content) >= SMALLEST_COMPRESSED else b""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return StaticFile(MEDIA[path.suffix], content, packed if 0 < len(packed) < len(content) else b"", tag)


def _answer(request: Request, file: StaticFile | None) -> Response:
    if file is None:
        raise RequestRefused(404, "", f"there is nothing at {request.scope['path']}")
    headers = {**HEADERS, "ETag": file.tag}
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if file.compressed and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.compressed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.media)
    return Response(file.content, headers=headers, media_type=file.media)
