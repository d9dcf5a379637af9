"""Reads the secrets of a request: bearer, basic, query, path prefix, or the cookie and header of a page."""

from __future__ import annotations

import base64
import binascii
import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.types import Scope

from bridle.surfaces.shared.safe_text import plain

QUERY_NAME = "auth_token"
PAGE_HEADER = "x-bridle-page"
PAGE_COOKIE = "bridle-page"
PREFIX = "/t/"
TOKEN = re.compile("bridle_[0-9a-z]+", re.IGNORECASE)


def without_prefix(scope: Scope) -> tuple[Scope, str]:
    """Return the scope without a path prefix `/t/TOKEN`, and that token; empty if there is none."""
    path = str(scope["path"])
    if not path.startswith(PREFIX):
        return scope, ""
    token, slash, rest = path.removeprefix(PREFIX).partition("/")
    stripped = {**scope, "path": slash + rest or "/"}
    stripped.pop("raw_path", None)
    return stripped, token


def without_query_token(scope: Scope) -> tuple[Scope, str]:
    """Return the scope without `?auth_token=`, and the token in it; empty if there is none."""
    query = bytes(scope["query_string"])
    if QUERY_NAME.encode() not in query:
        return scope, ""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    given = next((value for name, value in pairs if name == QUERY_NAME), "")
    kept = urlencode([pair for pair in pairs if pair[0] != QUERY_NAME])
    return {**scope, "query_string": kept.encode()}, _password(given)


def for_log(path: str) -> str:
    """Return a path as one short line for the log, without tokens that were put at a wrong place."""
    return TOKEN.sub("bridle_…", plain(path).replace("\n", " "))[:300]


def header_token(headers: Headers) -> str:
    """Return the token of the header `Authorization`, bearer or basic; empty if there is none."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    return _password(value.strip()) if kind.lower() == "basic" else ""


def page_secrets(headers: Headers) -> tuple[str, str]:
    """Return the secrets of the cookie and of the header of a page; they count only together."""
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return "", ""
    name = page_cookie(headers.get("host", ""))
    cookie = cookies[name].value if name in cookies else ""
    return cookie, headers.get(PAGE_HEADER, "")


def page_cookie(host: str) -> str:
    """Return the name of a page's cookie: browsers send cookies to all ports of a host."""
    port = host.rpartition(":")[2]
    return f"{PAGE_COOKIE}-{port}" if port.isdecimal() else PAGE_COOKIE


def _password(encoded: str) -> str:
    """Return the password of `base64(user:password)`; empty if it is something else."""
    try:
        raw = base64.b64decode(encoded.replace("-", "+").replace("_", "/") + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    return raw.decode("utf-8", "replace").partition(":")[2]
