"""Fetches a page: only from public addresses, within limits of size and time."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urljoin, urlsplit

import msgspec

from bridle.core.permission import Access
from bridle.errors import ToolFailed
from bridle.tools.builtin import builtin
from bridle.tools.tool import Invocation, Output

MAX_BYTES = 5_000_000
SECONDS, MOST_SECONDS = 30, 120
MOST_REDIRECTS = 5
PRIVATE = "private_network"


class WebfetchArguments(msgspec.Struct, forbid_unknown_fields=True):
    url: Annotated[str, msgspec.Meta(description="The address")]
    format: Annotated[Literal["markdown", "text", "html"], msgspec.Meta(description="The form")] = "markdown"
    timeout: Annotated[int, msgspec.Meta(description="Seconds to wait", gt=0, le=MOST_SECONDS)] = SECONDS


async def webfetch(given: WebfetchArguments, invocation: Invocation) -> Output:
    # Loaded when a page is fetched: most turns need no page.
    import httpx2

    try:
        async with asyncio.timeout(given.timeout), httpx2.AsyncClient(timeout=given.timeout) as client:
            media, content = await _fetched(client, given.url, invocation)
    except TimeoutError:
        raise ToolFailed(f"{given.url} did not answer within {given.timeout} s.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, UnicodeError) as error:
        raise ToolFailed(f"{given.url} cannot be fetched: {error or type(error).__name__}") from error
    if b"\0" in content[:8_192]:
        raise ToolFailed(f"{given.url} is no text ({media or 'of an unknown kind'}).")
    text = content.decode("utf-8", errors="replace")
    if "html" not in media or given.format == "html":
        return Output(text)
    return Output(_converted(text, given.format))


async def _fetched(client: Any, url: str, invocation: Invocation) -> tuple[str, bytes]:
    for _ in range(MOST_REDIRECTS + 1):
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
            return response.headers.get("content-type", ""), bytes(content)
    raise ToolFailed(f"{url}: more than {MOST_REDIRECTS} redirections.")


async def _pinned(url: str, invocation: Invocation) -> tuple[str, dict[str, str], dict[str, str]]:
    """The address by its number, which was looked at, so that its name cannot lead elsewhere a moment later."""
    parts = _parts(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    numbers = [str(entry[4][0]) for entry in found]
    allowed = invocation.permits is None or invocation.permits(Access(PRIVATE, host))
    if not numbers or (not allowed and not all(map(_is_public, numbers))):
        raise ToolFailed(f"{host} is not on the public internet; a rule `{PRIVATE}` may allow it.")
    number = f"[{numbers[0]}]" if ":" in numbers[0] else numbers[0]
    where = parts._replace(netloc=f"{number}:{port}").geturl()
    headers = {
        "Host": parts.netloc.rpartition("@")[2],
        "User-Agent": "bridle",
        "Accept": "text/markdown, text/html, */*",
    }
    return where, headers, {"sni_hostname": host}


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        sound = False
    if not sound:
        raise ToolFailed(f"{url!r} is no address of a web page; it begins with http:// or https://.")
    return parts


def _is_public(number: str) -> bool:
    address = ipaddress.ip_address(number.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_global and not (mapped or address).is_multicast


def _converted(text: str, form: str) -> str:
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(text, "html.parser")
    for node in page(["script", "style", "noscript", "template", "svg", "iframe"]):
        node.decompose()
    if form == "text":
        return re.sub(r"\n\s*\n+", "\n\n", page.get_text("\n")).strip()
    converted: str = MarkdownConverter(heading_style="ATX").convert_soup(page)
    return re.sub(r"\n{3,}", "\n\n", converted).strip()


def _needs(given: WebfetchArguments, directory: Path) -> tuple[Access, ...]:
    parts = _parts(given.url)
    host = parts.hostname or ""
    needed: tuple[Access, ...] = (Access("webfetch", given.url, always=f"{parts.scheme}://{parts.netloc}/*"),)
    if _named_private(host):
        needed += (Access(PRIVATE, host),)
    return needed


def _named_private(host: str) -> bool:
    """Whether the name itself says that it is no public one."""
    try:
        return not _is_public(host)
    except ValueError:
        return "." not in host or host.endswith((".local", ".internal", ".localhost", ".lan", ".home", ".corp"))


TOOL = builtin("webfetch", WebfetchArguments, webfetch, needs=_needs, repeatable=True, timeout_seconds=MOST_SECONDS + 5)
