"""How late an entry reaches a follower in another process: from its commit where it was written to its arrival."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.contender import PATHS
from bench.postgres.server import Server
from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.agent import AgentDefinition
from bridle.core.events import Entry, PartPut
from bridle.core.messages import ResultMessage
from bridle.core.parts import TurnFinish
from bridle.core.stream import ModelRequest

SESSIONS = 20
STEPS = 10
WORDS = "some words of an answer " * 10
MOST_HALF_MS = 20.0
MOST_LATE_MS = 200.0

Times = dict[str, dict[str, float]]
"""When each entry was seen, by its session and its sequence number."""


@dataclass(frozen=True)
class Delays:
    """How late entries were, in milliseconds, in the order of their delay."""

    milliseconds: Sequence[float]

    def share(self, part: float) -> float:
        return self.milliseconds[min(len(self.milliseconds) - 1, int(part * len(self.milliseconds)))]

    def goals(self) -> list[tuple[str, bool]]:
        half, late = self.share(0.5), self.share(0.99)
        return [
            (
                f"delay to a follower in another process, half: {half:.1f} ms (goal {MOST_HALF_MS:g})",
                half <= MOST_HALF_MS,
            ),
            (f"the same, 99 %: {late:.1f} ms (goal {MOST_LATE_MS:g})", late <= MOST_LATE_MS),
        ]


@tool
async def look(key: str) -> str:
    """Look at something."""
    await asyncio.sleep(0.01)
    return f"saw {key}"


def model(steps: int) -> ScriptedModel:
    """Calls a tool in every step but the last; its words come in small pieces, as those of a real one."""

    def said(request: ModelRequest) -> Reply:
        done = sum(isinstance(message, ResultMessage) for message in request.messages)
        calls = (call("look", key=str(done)),) if done < steps - 1 else ()
        return Reply(text=WORDS, chunk=12, pace=0.002, calls=calls)

    return ScriptedModel(said)


def runtime_on(address: str, steps: int) -> Runtime:
    agents = [AgentDefinition("build", model="m")]
    return Runtime(
        RuntimeConfig(journal=address, models={"m": model(steps)}, agents=agents, tools=[look], directory=Path.cwd())
    )


async def write(address: str, sessions: int, steps: int) -> None:
    """Make sessions and print their ids; then, after a line of input, drive them, and print when entries were there."""
    seen: Times = {}

    def written(session: str, entry: Entry) -> None:
        seen.setdefault(session, {})[str(entry.sequence)] = time.time()

    async with runtime_on(address, steps) as runtime:
        runtime.bus.listen(written)
        made = [await runtime.create() for _ in range(sessions)]
        print(json.dumps(made), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        prompts = [await runtime.prompt(session, "go") for session in made]
        results = await asyncio.gather(*(runtime.wait(*each) for each in zip(made, prompts, strict=True)))
    if any(result.reason != "answered" for result in results):
        raise SystemExit("a session that was followed has failed")
    print(json.dumps(seen))


async def follow(address: str, sessions: Sequence[str]) -> None:
    """Follow sessions to the end of their turns, and print when each entry came."""
    seen: Times = {}
    ready = asyncio.Semaphore(0)

    async def one(session: str) -> None:
        async for event in runtime.follow(session):
            if isinstance(event, Entry):
                seen.setdefault(session, {})[str(event.sequence)] = time.time()
                ready.release()
                if any(isinstance(each, PartPut) and isinstance(each.part, TurnFinish) for each in event.events):
                    return

    async with runtime_on(address, STEPS) as runtime:
        following = asyncio.gather(*map(one, sessions))
        for _ in sessions:
            await ready.acquire()
        print("ready", flush=True)
        await following
    print(json.dumps(seen))


def delays(server: Server, sessions: int = SESSIONS, steps: int = STEPS) -> Delays:
    """Let one process drive sessions and another follow them."""
    command = [sys.executable, "-m", "bench.postgres.following"]
    environment = {**os.environ, **PATHS}
    with server.database() as address, TemporaryDirectory(prefix="bridle-bench-") as folder:

        def begin(*words: str) -> subprocess.Popen[str]:
            pipe = subprocess.PIPE
            return subprocess.Popen(
                [*command, address, *words], stdin=pipe, stdout=pipe, text=True, env=environment, cwd=folder
            )

        with begin("--sessions", str(sessions), "--steps", str(steps)) as writer:
            assert writer.stdout is not None
            ids = json.loads(writer.stdout.readline())
            with begin("--follow", *ids) as follower:
                assert follower.stdout is not None
                if follower.stdout.readline() != "ready\n":
                    writer.kill()
                    raise SystemExit("the follower has failed")
                written: Times = json.loads(writer.communicate("go\n")[0])
                came: Times = json.loads(follower.communicate()[0])
    # The first entry was there before the follower.
    found = [
        came[session][sequence] - at
        for session, times in written.items()
        for sequence, at in times.items()
        if sequence in came[session] and sequence != "1"
    ]
    if len(found) < sum(len(times) for times in came.values()) - len(came):
        raise SystemExit("a follower has seen entries that were not announced where they were written")
    return Delays(sorted(each * 1000 for each in found))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--follow", nargs="*", default=[])
    given = parser.parse_args()
    work = follow(given.address, given.follow) if given.follow else write(given.address, given.sessions, given.steps)
    asyncio.run(work)


if __name__ == "__main__":
    main()
