"""`login` and `Tokens`: OAuth for MCP servers; a person logs in once in a browser, then stored tokens are used."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared import auth
from pydantic import AnyUrl

from bridle.config.settings import McpServer
from bridle.errors import ServerFailed
from bridle.seams import Clock
from bridle.workspace.json_store import JsonStore

WAIT_SECONDS = 300.0
WANTS_LOGIN = "it wants a login"
PORT = 19_876
"""Port of the redirect URL; fixed, because servers register it."""
PAGE = "<!doctype html><title>Bridle</title><p>{}. You can close this page."


class Stored(msgspec.Struct, frozen=True):
    """Stored OAuth data of one server, in the library's JSON."""

    tokens: str = ""
    client: str = ""
    server: str = ""
    """Metadata of the authorization server that issues new tokens."""
    resource: str = ""
    expires: float | None = None
    """When the tokens expire, in seconds since 1970."""


class Tokens:
    """The tokens of one server, in a file that only the user can read. See `TokenStorage`."""

    context: OAuthContext

    def __init__(self, path: Path, key: str, server: McpServer, clock: Clock) -> None:
        self._clock = clock
        self._kept = JsonStore(path, dict[str, Stored])
        self._key = key
        self._server = server

    async def get_tokens(self) -> auth.OAuthToken | None:
        found = self._stored().tokens
        return auth.OAuthToken.model_validate_json(found) if found else None

    async def set_tokens(self, tokens: auth.OAuthToken) -> None:
        found, about = self.context.oauth_metadata, self.context.protected_resource_metadata
        self._change(
            tokens=tokens.model_dump_json(),
            server=found.model_dump_json() if found is not None else "",
            resource=about.model_dump_json() if about is not None else "",
            expires=self._clock.wall() + tokens.expires_in if tokens.expires_in is not None else None,
        )

    def recall(self, context: OAuthContext) -> None:
        """Restore expiry time and server metadata from the last process, which the library does not store."""
        self.context = context
        kept = self._stored()
        if kept.server:
            context.oauth_metadata = auth.OAuthMetadata.model_validate_json(kept.server)
        if kept.resource:
            context.protected_resource_metadata = auth.ProtectedResourceMetadata.model_validate_json(kept.resource)
        context.token_expiry_time = kept.expires

    async def get_client_info(self) -> auth.OAuthClientInformationFull | None:
        found = self._stored().client
        if found:
            return auth.OAuthClientInformationFull.model_validate_json(found)
        if not self._server.client_id:
            return None
        secret = self._server.client_secret or None
        return auth.OAuthClientInformationFull.model_validate(
            {
                "client_id": self._server.client_id,
                "client_secret": secret,
                "redirect_uris": [_back()],
                "token_endpoint_auth_method": "client_secret_post" if secret else "none",
            }
        )

    async def set_client_info(self, client_info: auth.OAuthClientInformationFull) -> None:
        self._change(client=client_info.model_dump_json())

    def forget(self) -> bool:
        """Delete the stored login; return False if there was none."""
        return self._kept.remove(self._key)

    @property
    def stored(self) -> bool:
        """Whether tokens are stored."""
        return bool(self._stored().tokens)

    def _stored(self) -> Stored:
        return self._kept.read().get(self._key, Stored())

    def _change(self, **fields: str | float | None) -> None:
        self._kept.change(self._key, lambda kept: msgspec.structs.replace(kept or Stored(), **fields))


def login(
    key: str, url: str, server: McpServer, path: Path, clock: Clock, *, show: Callable[[str], None] | None
) -> OAuthClientProvider | None:
    """Return the OAuth handler of a server: it uses stored tokens, or a person opens the URL passed to `show`.

    None without stored tokens and without `show`.
    """
    tokens = Tokens(path, key, server, clock)
    if show is not None:
        # An interactive login starts afresh: the server may have forgotten the old registration.
        tokens.forget()
    elif not tokens.stored:
        return None
    back = _Back()

    async def redirect(address: str) -> None:
        if show is None:
            raise ServerFailed(WANTS_LOGIN)
        await back.listen(parse_qs(urlsplit(address).query).get("state", [""])[0])
        show(address)

    metadata = auth.OAuthClientMetadata(
        client_name="Bridle",
        redirect_uris=[AnyUrl(_back())],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope=server.scope or None,
    )
    provider = OAuthClientProvider(url, metadata, tokens, redirect, back.result)
    tokens.recall(provider.context)
    return provider


def _back() -> str:
    return f"http://127.0.0.1:{PORT}/callback"


class _Back:
    """HTTP listener on loopback for the redirect from the browser."""

    def __init__(self) -> None:
        self._answer: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()
        self._server: asyncio.Server | None = None
        self._state = ""

    async def listen(self, state: str) -> None:
        """Listen for a redirect with this secret state; raises `ServerFailed` if the port is taken."""
        self._state = state
        self._answer = asyncio.get_running_loop().create_future()
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", PORT, limit=16_384)
        except OSError as error:
            raise ServerFailed(f"the login needs port {PORT} on loopback, which cannot be used: {error}") from error

    async def result(self) -> AuthorizationCodeResult:
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await self._answer
        except TimeoutError:
            raise ServerFailed(f"no login within {WAIT_SECONDS:g} s") from None
        finally:
            if self._server is not None:
                self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                first = (await reader.readline()).decode("latin-1").split()
            asked = urlsplit(first[1]) if len(first) > 1 else urlsplit("/")
            given = {name: values[0] for name, values in parse_qs(asked.query).items()}
            known = asked.path == "/callback" and given.get("state") == self._state
            known = known and ("code" in given or "error" in given)
            words = self._taken(given) if known else "There is nothing here"
            body = PAGE.format(words).encode()
            head = f"HTTP/1.1 {200 if known else 404} OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}"
            writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (TimeoutError, OSError, ValueError):
            # A foreign or broken request; keep listening for the browser.
            return
        finally:
            writer.close()

    def _taken(self, given: dict[str, str]) -> str:
        if self._answer.done():
            return "This login is over"
        if "error" in given:
            self._answer.set_exception(ServerFailed(f"the login was refused: {given['error']}"))
            return "The login was refused"
        result = AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))
        self._answer.set_result(result)
        return "You are logged in"
