"""`RemoteInstructions`: fetches texts from web addresses once, before the first turn, with limits on size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SECONDS = 5.0
"""Timeout for all addresses together."""
MOST_BYTES = 200_000
MOST_ADDRESSES = 20
SCHEMES = ("http://", "https://")


def is_address(name: str) -> bool:
    return name.startswith(SCHEMES)


@dataclass(slots=True)
class RemoteInstructions:
    """The texts at these addresses. A failed address is reported in `news`; the turn continues without it."""

    addresses: Sequence[str]
    texts: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    async def prepare(self) -> None:
        """Fetch the addresses that were not tried yet. May be called twice; never raises."""
        wanted = [each for each in self.addresses[:MOST_ADDRESSES] if each not in {**self.texts, **self.problems}]
        if not wanted:
            return
        # Imported only if there are addresses.
        import httpx2

        try:
            async with asyncio.timeout(SECONDS), httpx2.AsyncClient(timeout=SECONDS) as client:
                await asyncio.gather(*(self._fetch(client, address) for address in wanted))
        except TimeoutError:
            slow = (each for each in wanted if each not in {**self.texts, **self.problems})
            self.problems.update(dict.fromkeys(slow, f"no answer within {SECONDS:g} s"))

    async def _fetch(self, client: Any, address: str) -> None:
        import httpx2

        try:
            async with client.stream("GET", address, headers={"User-Agent": "bridle"}) as response:
                self.texts[address] = await _text(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            self.problems[address] = str(error) or type(error).__name__

    def news(self) -> list[str]:
        """Return a message for each missing text, with the reason."""
        lost = [each for each in self.addresses if each not in self.texts]
        return [
            f"instructions from {each} are missing: {self.problems.get(each, 'they were not fetched for this turn')}"
            for each in lost
        ]


async def _text(response: Any) -> str:
    """Return the text of a response; raises `ValueError` if it has none, or too much."""
    if response.is_redirect:
        raise ValueError(f"it redirects to {response.headers.get('location', '')}: use that address")
    if response.status_code != 200:
        raise ValueError(f"HTTP {response.status_code}")
    content = bytearray()
    async for block in response.aiter_bytes():
        content += block
        if len(content) > MOST_BYTES:
            raise ValueError(f"larger than {MOST_BYTES} bytes")
    if b"\0" in content:
        raise ValueError("it is not text")
    return content.decode("utf-8", "replace")
