"""`AccessControl`: ASGI middleware that checks host, origin, token and size of requests, and logs no secrets."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bridle.core.access import Grant, PageSecrets, Right
from bridle.errors import BridleError
from bridle.surfaces.server import credentials
from bridle.surfaces.server.limits import KNOWN, Rates, ServerLimits, bounded
from bridle.surfaces.server.problems import STATUS, Json, RequestRefused, problem, refused
from bridle.surfaces.server.routes import CLIENT, Client

ACCESS_LOG = logging.getLogger("bridle.access")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""Headers of each answer that does not set them itself."""
ALLOWED_HEADERS = "authorization, content-type, last-event-id, x-bridle-page, x-opencode-directory"


class Logins(Protocol):
    """The tokens, codes and pages of a server. Methods raise `JournalError` if they cannot be read."""

    async def token(self, secret: str) -> Grant | None:
        """Return the grant of a token; None if it is unknown, revoked or of another place."""

    async def page(self, cookie: str, header: str) -> Grant | None:
        """Return the grant of a page by both of its secrets."""

    async def new_code(self, name: str, right: Right, maker: str = "") -> str:
        """Return a code with which a page logs in once, within two minutes, with this name and right.

        `maker` is the digest of the client that asks for it.
        """

    async def exchange(self, code: str) -> PageSecrets | None:
        """Return the secrets of a page for a code, which is used up; None for an invalid one."""

    async def holds(self, digest: str) -> bool:
        """Return whether a grant is still valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The host names and origins by which clients may reach the server."""

    hosts: frozenset[str] = frozenset()
    """Additional host names, besides those of this machine."""
    origins: frozenset[str] = frozenset()
    """Origins of other pages that may use the server."""
    is_local: bool = False
    """Whether all requests come through the local socket, whose peers were checked."""
    is_secure: bool = False
    """Whether clients reach the server by TLS."""
    limits: ServerLimits = field(default_factory=ServerLimits)


class AccessControl:
    """Refuses forbidden requests, and passes on the others with their `Client`, whose right the routes check."""

    def __init__(self, app: ASGIApp, logins: Logins, policy: Policy) -> None:
        self._app = app
        self._logins = logins
        self._policy = policy
        self._rates = Rates(policy.limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = _Answer(send, headers.get("origin", ""), self._policy)
        client: Client | None = None
        scope, secrets = _secrets(scope, headers)
        try:
            self._check_size(scope, headers)
            self._check_names(scope, headers)
            if headers.get("origin") in self._policy.origins and scope["method"] == "OPTIONS":
                await Json(None, 200, _preflight())(scope, receive, answer.send)
                return
            client = await self._caller(secrets, headers)
            self._rates.take(client.digest or client.name if client is not None else f"from {_address(scope)}")
            most = self._policy.limits.open_body_bytes
            inner = scope
            if client is not None:
                most = self._policy.limits.body_bytes
                inner = {**scope, CLIENT: client}
                scope.get(KNOWN, _nothing)()
            limited = bounded(receive, most, headers.get("content-length", ""))
            await self._app(inner, limited, answer.send)
        except RequestRefused as error:
            if not answer.status:
                await refused(error)(scope, receive, answer.send)
        except BridleError as error:
            if not answer.status:
                status = next((STATUS[each] for each in type(error).__mro__ if each in STATUS), 500)
                await problem(status, str(error))(scope, receive, answer.send)
        except Exception:
            # The application has logged and answered a failure of its own; Starlette raises it on all the same.
            if not answer.status:
                raise
        finally:
            self._log(scope, client, answer)

    def _check_size(self, scope: Scope, headers: Headers) -> None:
        """Raise `RequestRefused` (431) for headers and an address that are too long together."""
        size = sum(len(name) + len(value) for name, value in headers.raw) + len(scope["query_string"])
        if size + len(str(scope["path"])) > self._policy.limits.header_bytes:
            raise RequestRefused(431, "", f"headers and address may have {self._policy.limits.header_bytes} bytes")

    def _check_names(self, scope: Scope, headers: Headers) -> None:
        """Raise `RequestRefused` unless the request names this server, and comes from no other page."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._knows(hosts[0]):
            name = hosts[0] if hosts else ""
            raise RequestRefused(403, "host", f"this server is not known as {name!r}: allow it with --allow-host")
        if not origins:
            return
        own = (f"http://{hosts[0]}".lower(), f"https://{hosts[0]}".lower())
        if len(origins) != 1 or (origins[0].lower() not in own and origins[0] not in self._policy.origins):
            raise RequestRefused(
                403, "origin", "this server refuses pages of other origins: allow one with --cors-origin"
            )

    def _knows(self, host: str) -> bool:
        found = HOST.fullmatch(host.lower())
        if found is None:
            return False
        name = found[1].strip("[]")
        return name in LOCAL_NAMES or name.endswith(".localhost") or name in self._policy.hosts

    async def _caller(self, secrets: list[str], headers: Headers) -> Client | None:
        """Return the client; None without valid credentials."""
        if self._policy.is_local:
            return Client("local", "drive", is_local=True)
        for secret in secrets:
            grant = await self._logins.token(secret)
            if grant is not None:
                return Client(grant.name, grant.right, grant.digest)
        cookie, header = credentials.page_secrets(headers)
        if not cookie or not header:
            return None
        grant = await self._logins.page(cookie, header)
        return Client(grant.name, grant.right, grant.digest) if grant is not None else None

    def _log(self, scope: Scope, client: Client | None, answer: _Answer) -> None:
        took = (asyncio.get_running_loop().time() - answer.began) * 1000
        name = client.name if client is not None else "-"
        path = credentials.for_log(str(scope["path"]))
        status = answer.status or 0
        ACCESS_LOG.info(f"{_address(scope)} {name} {scope['method']} {path} {status} {took:.0f}ms")


class _Answer:
    """Sends an answer with the security headers, and keeps its status for the log."""

    def __init__(self, send: Send, origin: str, policy: Policy) -> None:
        self._send = send
        self._origin = origin if origin in policy.origins else ""
        self._is_secure = policy.is_secure
        self.status = 0
        self.began = asyncio.get_running_loop().time()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["Date"] = formatdate(usegmt=True)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            if self._is_secure:
                headers.setdefault("Strict-Transport-Security", "max-age=31536000")
            if self._origin:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers.add_vary_header("Origin")
        await self._send(message)


def _secrets(scope: Scope, headers: Headers) -> tuple[Scope, list[str]]:
    """Return the scope without secrets in its address, and the tokens that the request gives."""
    scope, prefix = credentials.without_prefix(scope)
    scope, query = credentials.without_query_token(scope)
    return scope, [secret for secret in (credentials.header_token(headers), query, prefix) if secret]


def _nothing() -> None:
    return


def _preflight() -> dict[str, str]:
    return {
        "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
        "Access-Control-Allow-Headers": ALLOWED_HEADERS,
        "Access-Control-Max-Age": "600",
    }


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else "local"
