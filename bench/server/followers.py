"""One directory with many followers of `/event`: CPU per delivery, memory and delay, Bridle and OpenCode in one run."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
from support.opencode_packages import installed, own_server_process

from bench.server.served import Served

TICKS = os.sysconf("SC_CLK_TCK")
MARK = b'"title":"at '


class Serving(NamedTuple):
    """A running server."""

    url: str
    process: int
    headers: dict[str, str]


class Share(NamedTuple):
    """What a server used, and how late its events came."""

    deliveries: int
    cpu_microseconds_per_delivery: float
    megabytes: float
    p50_milliseconds: float
    p99_milliseconds: float


def cpu_seconds(process: int) -> float:
    """Return the CPU that all threads of a process have used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(process: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@contextmanager
def bridle(folder: Path) -> Iterator[Serving]:
    """Run `bridle serve`."""
    served = Served(folder / "bridle")
    try:
        yield Serving(served.url, served.process.pid, {"Authorization": f"Bearer {served.token}"})
    finally:
        served.close()


@contextmanager
def opencode(folder: Path) -> Iterator[Serving]:
    """Run `opencode serve`."""
    project = folder / "opencode" / "project"
    project.mkdir(parents=True)
    with own_server_process(installed(), folder / "opencode" / "home", project) as (url, process):
        yield Serving(url, process, {})


class Followers:
    """Many readers of one stream; they keep the delay of each marked event."""

    def __init__(self) -> None:
        self.delays: list[float] = []
        self.open = 0

    async def follow(self, serving: Serving) -> None:
        """Read a stream until it is cancelled."""
        host, _, port = serving.url.rpartition("/")[2].partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=2**20)
        given = "".join(f"{name}: {value}\r\n" for name, value in serving.headers.items())
        writer.write(f"GET /event HTTP/1.1\r\nHost: {host}:{port}\r\n{given}\r\n".encode())
        try:
            await reader.readuntil(b"server.connected")
            self.open += 1
            while block := await reader.read(2**16):
                for piece in block.split(MARK)[1:]:
                    self.delays.append(time.time() - int(piece.partition(b" ")[0]) / 1e9)
        finally:
            writer.close()


async def measure(serving: Serving, followers: int, seconds: float, rate: float) -> Share:
    """Change a title at this rate, and count what comes."""
    crowd = Followers()
    async with httpx2.AsyncClient(base_url=serving.url, headers=serving.headers, timeout=None) as client:
        session = (await client.post("/session", json={})).json()["id"]
        tasks = [asyncio.create_task(crowd.follow(serving)) for _ in range(followers)]
        while crowd.open < followers:
            await asyncio.sleep(0.05)
        await client.patch(f"/session/{session}", json={"title": "first"})
        cpu, began, sent = cpu_seconds(serving.process), time.monotonic(), 0
        while time.monotonic() - began < seconds:
            await client.patch(f"/session/{session}", json={"title": f"at {time.time_ns()} now"})
            sent += 1
            await asyncio.sleep(max(0.0, began + sent / rate - time.monotonic()))
        while len(crowd.delays) < sent * followers:
            await asyncio.sleep(0.05)
        used = cpu_seconds(serving.process) - cpu
        memory = megabytes(serving.process)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    delays = statistics.quantiles(crowd.delays, n=100)
    return Share(
        deliveries=len(crowd.delays),
        cpu_microseconds_per_delivery=round(used / len(crowd.delays) * 1e6, 1),
        megabytes=round(memory, 1),
        p50_milliseconds=round(delays[49] * 1000, 1),
        p99_milliseconds=round(delays[98] * 1000, 1),
    )


def compared(followers: int, seconds: float, rate: float) -> dict[str, Share]:
    """Return what each server used, by its name."""
    found: dict[str, Share] = {}
    for name, serve in {"bridle": bridle, "opencode": opencode}.items():
        with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder, serve(Path(folder)) as serving:
            found[name] = asyncio.run(measure(serving, followers, seconds, rate))
    return found


def ratios(ours: Share, theirs: Share) -> tuple[float, float]:
    """Return the CPU of a delivery and the memory of one server over those of another."""
    cpu = ours.cpu_microseconds_per_delivery / theirs.cpu_microseconds_per_delivery
    return cpu, ours.megabytes / theirs.megabytes


def main(words: list[str]) -> int:
    """Print what both used as JSON, and the ratios."""
    parser = argparse.ArgumentParser(prog="bench/run server followers", description=__doc__)
    parser.add_argument("--followers", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=10.0, help="events per second")
    given = parser.parse_args(words)
    found = compared(given.followers, given.seconds, given.rate)
    for name, share in found.items():
        print(json.dumps({"server": name, **share._asdict()}))
    ours, theirs = found["bridle"], found["opencode"]
    cpu, memory = ratios(ours, theirs)
    print(json.dumps({"cpu_ratio": round(cpu, 3), "memory_ratio": round(memory, 3)}))
    return 0
