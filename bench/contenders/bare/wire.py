"""The floor: httpx2 alone sends the bodies that Bridle sent, and decodes every event of every reply."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2

from bench.contenders.wire_work import add_up, flag, hand, handed, measure

HEADERS = {"content-type": "application/json", "accept": "text/event-stream"}
PROMPT = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "stream": True}


async def by_lines(response: httpx2.Response) -> AsyncIterator[dict]:
    async for line in response.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


async def by_events(response: httpx2.Response) -> AsyncIterator[dict]:
    async for each in httpx2.EventSource(response):
        if each.data != "[DONE]":
            yield json.loads(each.data)


async def ask(client: httpx2.AsyncClient, address: str, body: bytes) -> str:
    """Send one body; returns the words of the reply."""
    read = by_events if flag("--reader") == "events" else by_lines
    begin = len(handed)
    async with client.stream("POST", f"{address}/chat/completions", content=body, headers=HEADERS) as response:
        async for event in read(response):
            for choice in event["choices"]:
                hand(choice["delta"].get("content") or "")
    return "".join(handed[begin:])


async def converse(address: str, data: Path) -> str:
    recorded = flag("--bodies")
    bodies = Path(recorded).read_bytes().splitlines() if recorded else [json.dumps(PROMPT).encode()]
    # Nothing to verify on loopback, and reading the system's certificates would cost more than a step.
    async with httpx2.AsyncClient(verify=False, trust_env=False, timeout=None) as client:
        for number, body in enumerate(bodies[:-1]):
            await ask(client, address, body)
            add_up(number, 1)
        return await ask(client, address, bodies[-1])


if __name__ == "__main__":
    if flag("--ask"):
        asyncio.run(converse(flag("--ask"), Path()))
    else:
        measure("httpx2", converse)
