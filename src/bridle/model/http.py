"""`Lane`: the HTTP connections to one provider; streams replies as raw events, classifies failures, never retries."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import msgspec

from bridle.core.context import sound
from bridle.core.stream import ModelError
from bridle.errors import BridleError
from bridle.model.server_json import json_text
from bridle.model.sse import EventParts, TooLong

LOOPBACK = ("127.0.0.1", "localhost", "::1")
CONNECT_SECONDS = 15.0
KEEP_SECONDS = 60.0
"""How long an idle connection is kept: tools take time, and a new handshake costs more."""
PLAIN_SECONDS = 10.0
MAX_ERROR_BYTES = 64 * 1024
MAX_REPLY_BYTES = 64 * 1024 * 1024
MESSAGE_CHARACTERS = 1_000
OPEN_HEADERS = ("user-agent", "anthropic-version", "anthropic-beta")
TOLD_HEADERS = re.compile(r"retry-after|retry-after-ms|x-should-retry|.*request-id|.*ratelimit.*", re.IGNORECASE)

BAD_HEADER = "the request could not be sent: the key or a header has characters that HTTP headers do not allow"
UNSENT = (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, OverflowError, ExceptionGroup, ImportError)
"""Errors of unsent requests: invalid address or header, missing certificates, unsupported proxy type."""
OVERFLOW = re.compile(
    r"context[_ ]?(length|window|size)|maximum context|prompt is too long|input is too long|too many (input )?tokens"
    r"|exceeds? the (available|model's|maximum) (context|input)|input length and `?max_tokens`? exceed"
    r"|request_too_large|reduce the length of the (messages|prompt)|maximum prompt length|exceeded model token limit"
    r"|input token count.*exceeds|prompt exceeds max(imum)? length|exceeds the limit of \d+",
    re.IGNORECASE,
)
EXHAUSTED = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|exceeded your current quota|credit balance is too low"
    r"|billing[_ ](hard[_ ]limit|not[_ ]active)|quota exhausted|payment required|usage limit (has been )?reached",
    re.IGNORECASE,
)
DELAY = re.compile(
    r"(?:retry_?delay\W+|(?:retry|try again) in )(?:(?P<minutes>\d+)m)?(?P<number>[\d.]+)\s*(?P<unit>ms|s)",
    re.IGNORECASE,
)
"""A retry delay in the text of an error, for providers that send no header."""
FILTERED = re.compile(r"content[_ ]?(filter|policy|management)|responsible ai|safety system", re.IGNORECASE)


@dataclass(slots=True)
class Lane:
    """The connections to one provider. It never retries or follows redirects: keys go to one address only."""

    address: str
    headers: Callable[[], Mapping[str, str]] = field(repr=False)
    """Returns the headers of a request, including keys; called for each one, so that no secret is stored here."""
    ca_bundle: str = ""
    proxy: str = field(default="", repr=False)
    connect_seconds: float = CONNECT_SECONDS
    _places: dict[str, httpx2.URL] = field(default_factory=dict, repr=False)
    _client: httpx2.AsyncClient | None = field(default=None, repr=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)

    def client(self) -> httpx2.AsyncClient:
        """Return the HTTP client of the running event loop, because connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(None, connect=self.connect_seconds),
                verify=self._trusted(),
                proxy=self.proxy or None,
                # httpx2 would send even loopback requests through the environment's proxy.
                trust_env=urlsplit(self.address).hostname not in LOOPBACK,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEP_SECONDS),
            )
        return self._client

    def _place(self, path: str) -> httpx2.URL:
        """Return the URL of a path, cached: parsing it takes as long as reading a short reply."""
        if path not in self._places:
            self._places[path] = httpx2.URL(self.address.rstrip("/") + path)
        return self._places[path]

    def _trusted(self) -> ssl.SSLContext | bool:
        if self.ca_bundle:
            return ssl.create_default_context(cafile=self.ca_bundle)
        if self.address.startswith("http://"):
            # No TLS, so skip reading the system's certificates, which takes 20 ms.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return True

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncGenerator[list[bytes] | ModelError, None]:
        """Send a request and yield the data of the reply's events as they arrive; nothing follows a `ModelError`."""
        try:
            async with aclosing(self._post(path, body, headers)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            yield _broken(error)
        except TooLong:
            yield ModelError("the provider sent an event that is too long", retryable=False)
        except UnicodeEncodeError:
            yield ModelError(BAD_HEADER, retryable=False)
        except (*UNSENT, BridleError) as error:
            yield ModelError(f"the request could not be sent: {_words(error)}", retryable=False)

    async def _post(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncGenerator[list[bytes] | ModelError, None]:
        sent = {"content-type": "application/json", "accept": "text/event-stream", **headers, **self.headers()}
        async with self.client().stream("POST", self._place(path), content=body, headers=sent) as response:
            if response.status_code != 200:
                yield await _refusal(response)
                return
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind in ("application/json", "text/html", "text/plain"):
                yield await _not_a_stream(response, kind)
                return
            parts = EventParts()
            size = 0
            async for chunk in response.aiter_bytes():
                size += len(chunk)
                if size > MAX_REPLY_BYTES:
                    yield ModelError(f"the reply is longer than {MAX_REPLY_BYTES // 2**20} MB", retryable=False)
                    return
                yield parts.feed(chunk)
            if found := parts.end():
                yield found

    async def get(self, path: str) -> tuple[int, Any]:
        """Return status and JSON of a GET request, e.g. for the list of models; raises `UNSENT` and `TimeoutError`."""
        async with (
            asyncio.timeout(PLAIN_SECONDS),
            self.client().stream("GET", self._place(path), headers=dict(self.headers())) as response,
        ):
            return response.status_code, _json(await _body(response))

    def clean(self, error: ModelError) -> ModelError:
        """Return the error without secrets: providers repeat keys in their messages."""
        message = error.message
        for name, value in self.headers().items():
            secret = value.removeprefix("Bearer ")
            if len(secret) >= 8 and name.lower() not in OPEN_HEADERS:
                message = message.replace(secret, "[key]")
        return msgspec.structs.replace(error, message=sound(message[:MESSAGE_CHARACTERS]))


async def _body(response: httpx2.Response) -> bytes:
    content = b""
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_ERROR_BYTES:
            break
    return content


async def _refusal(response: httpx2.Response) -> ModelError:
    status = response.status_code
    headers = {name: value for name, value in response.headers.items() if TOLD_HEADERS.fullmatch(name)}
    if 300 <= status < 400:
        where = response.headers.get("location", "nowhere")
        return ModelError(f"HTTP {status}: redirected to {where}; set the provider's base_url", status, headers, False)
    try:
        body = await _body(response)
    except httpx2.TransportError:
        # The status is enough.
        body = b""
    return failure(_json(body) or body.decode("utf-8", "replace"), status, headers)


async def _not_a_stream(response: httpx2.Response, kind: str) -> ModelError:
    body = await _body(response)
    found = _json(body)
    if isinstance(found, dict) and found.get("error"):
        return failure(found)
    shown = body[:200].decode("utf-8", "replace")
    return ModelError(f"the response is {kind}, not a stream of events: {shown}", 200, {}, False)


def failure(body: Any, status: int | None = None, headers: Mapping[str, str] | None = None) -> ModelError:
    """Return the `ModelError` for a provider's message, from the body of an HTTP error or an event of a stream."""
    message, code = _said(body)
    words = f"{code}: {message}" if code and code not in message else message
    text = f"HTTP {status}: {words}" if status is not None else words
    headers = dict(headers or {})
    delay = _delay(body) if "retry-after" not in headers and "retry-after-ms" not in headers else None
    if delay is not None:
        headers["retry-after"] = str(delay)
    told = headers.get("x-should-retry", "")
    retryable = {"true": True, "false": False}.get(told, True if status is None else None)
    overflow = status in (None, 400, 413, 422) and bool(OVERFLOW.search(words))
    # A provider that names a retry delay is not exhausted for good, regardless of its wording.
    exhausted = delay is None and EXHAUSTED.search(words)
    if overflow or exhausted or FILTERED.search(words):
        retryable = False
    return ModelError(text.strip(), status, headers, retryable, overflow)


def _delay(body: Any) -> float | None:
    found = DELAY.search(body if isinstance(body, str) else json_text(body))
    if found is None:
        return None
    try:
        number = float(found["number"])
    except ValueError:
        return None
    return 60.0 * int(found["minutes"] or 0) + (number / 1000 if found["unit"].lower() == "ms" else number)


def _said(body: Any) -> tuple[str, str]:
    """Return message and code of an error, from the various nestings that servers use."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return " ".join(str(body).split()), ""
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner), ""
    message = inner.get("message") or inner.get("detail") or body.get("message") or ""
    code = inner.get("code") or inner.get("type") or ""
    return str(message) or json_text(inner), str(code)


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _broken(error: httpx2.TransportError | httpx2.DecodingError) -> ModelError:
    match error:
        case httpx2.ConnectTimeout():
            return ModelError("no connection to the provider in time", retryable=True)
        case httpx2.LocalProtocolError():
            # The exception's text repeats the header, which may be the key.
            return ModelError(BAD_HEADER, retryable=False)
        case httpx2.RemoteProtocolError() if "location header" in str(error):
            return ModelError(f"redirected to nowhere: {_words(error)}; set the provider's base_url", retryable=False)
        case httpx2.UnsupportedProtocol():
            return ModelError(f"the request could not be sent: {_words(error)}", retryable=False)
    return ModelError(f"the connection to the provider failed: {_words(error)}", retryable=True)


def _words(error: Exception) -> str:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
