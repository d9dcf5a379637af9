"""The `webfetch` tool: fetch a web page from a public address, with limits on size and time."""

from __future__ import annotations

import asyncio
import socket
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urljoin

import msgspec

from bridle.core.permission import Access
from bridle.core.web import WEBFETCH, Address, parsed
from bridle.errors import ToolFailed
from bridle.process.output_stream import OutputStream
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output
from bridle.values.addresses import PRIVATE, is_private_name, is_public

MAX_BYTES = 5_000_000
SECONDS, MOST_SECONDS = 30, 120
MOST_REDIRECTS = 5
LONGEST_CHARSET = 40
PAGE = Path(__file__).with_name("html_text.py")
PAGE_MEMORY = 1 << 30


class WebfetchArguments(msgspec.Struct, forbid_unknown_fields=True):
    url: Annotated[str, msgspec.Meta(description="The address")]
    format: Annotated[Literal["markdown", "text", "html"], msgspec.Meta(description="The form")] = "markdown"
    timeout: Annotated[int, msgspec.Meta(description="Seconds to wait", gt=0, le=MOST_SECONDS)] = SECONDS


async def webfetch(given: WebfetchArguments, invocation: Invocation) -> Output:
    # Imported here because most turns fetch no page.
    import httpx2

    try:
        async with asyncio.timeout(given.timeout):
            async with httpx2.AsyncClient(timeout=given.timeout) as client:
                media, content, charset = await _fetched(client, given.url, invocation)
            if b"\0" in content[:8_192]:
                raise ToolFailed(f"{given.url} is not text ({media or 'of an unknown kind'}).")
            form = given.format if "html" in media else "html"
            return Output(await _converted(content, charset, form, invocation))
    except TimeoutError:
        raise ToolFailed(
            f"{given.url} did not answer within {given.timeout} s, or takes too long to convert."
        ) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
        raise ToolFailed(f"{given.url} cannot be fetched: {error or type(error).__name__}") from error


async def _fetched(client: Any, url: str, invocation: Invocation) -> tuple[str, bytes, str]:
    for _ in range(MOST_REDIRECTS + 1):
        if invocation.permits is not None and not invocation.permits(_access(url)):
            raise ToolFailed(f"{url}, the target of a redirect, was not allowed: fetch it directly.")
        where, headers, extensions = await _pinned(url, invocation)
        async with client.stream("GET", where, headers=headers, extensions=extensions) as response:
            if response.is_redirect:
                url = urljoin(url, response.headers.get("location", ""))
                continue
            if response.status_code >= 400:
                raise ToolFailed(f"{url} answered {response.status_code}.")
            content = bytearray()
            async for block in response.aiter_bytes():
                content += block
                if len(content) > MAX_BYTES:
                    raise ToolFailed(f"{url} is larger than {MAX_BYTES} bytes.")
            return response.headers.get("content-type", ""), bytes(content), response.charset_encoding or ""
    raise ToolFailed(f"{url}: more than {MOST_REDIRECTS} redirects.")


async def _pinned(url: str, invocation: Invocation) -> tuple[str, dict[str, str], dict[str, str]]:
    """Return the URL with the checked IP address, so that a second DNS lookup cannot lead elsewhere."""
    address = _address(url)
    host, port = address.host, address.port
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    numbers = [str(entry[4][0]) for entry in found]
    allowed = invocation.permits is None or invocation.permits(Access(PRIVATE, host))
    if not numbers or (not allowed and not all(map(is_public, numbers))):
        raise ToolFailed(f"{host} is not on the public internet; a rule `{PRIVATE}` may allow it.")
    number = f"[{numbers[0]}]" if ":" in numbers[0] else numbers[0]
    where = f"{address.scheme}://{number}:{port}{address.path}"
    headers = {"Host": address.place, "User-Agent": "bridle", "Accept": "text/markdown, text/html, */*"}
    return where, headers, {"sni_hostname": host}


def _address(url: str) -> Address:
    try:
        return parsed(url)
    except ValueError as error:
        text = f"{url!r} is not the address of a web page ({error}); an address begins with http:// or https://."
        raise ToolFailed(text) from error


async def _converted(content: bytes, charset: str, form: str, invocation: Invocation) -> str:
    """Return the text of a page, converted in a subprocess that ends with this call."""
    with tempfile.TemporaryFile() as page:
        page.write(content)
        page.seek(0)
        command = [sys.executable, "-I", str(PAGE), form, charset[:LONGEST_CHARSET]]
        bounds = {"memory": PAGE_MEMORY}
        piped = OutputStream(command, folder=invocation.directory, given=page.fileno(), bounds=bounds, apart=True)
    kept: list[str] = []
    if await piped.run(kept.append) != 0:
        raise ToolFailed("The page cannot be converted to text; fetch it as html.")
    return "".join(kept)


def _needs(given: WebfetchArguments, directory: Path) -> tuple[Access, ...]:
    host = _address(given.url).host
    return (_access(given.url), Access(PRIVATE, host)) if is_private_name(host) else (_access(given.url),)


def _access(url: str) -> Access:
    """Return the permission for a page; an "always" covers its whole site."""
    address = _address(url)
    return Access(WEBFETCH, address.url, always=f"{address.scheme}://{address.place}/*")


TOOL = builtin(
    "webfetch", WebfetchArguments, webfetch, needs=_needs, leaves_files=True, timeout_seconds=MOST_SECONDS + 5
)
