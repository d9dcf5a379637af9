"""Sessions that stream to many followers of the native API: each event must come once; what a delivery costs."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.server.served import Served
from bridle.core.events import Entry
from bridle.wire.projection import EventStream

LIVE = ("delta", "removed")
END = "turn_finish"


class Heard(NamedTuple):
    """What a follower got: the recorded events in their order, the ids, the texts, and the number of all events."""

    recorded: list[Any]
    ids: list[int]
    texts: dict[str, str]
    events: int


class Outcome(NamedTuple):
    """The sums over all followers."""

    sessions: int
    followers: int
    deliveries: int
    entries: int
    wrong: int
    """Followers with a lost, repeated or reordered event, or another text than the record."""
    cpu_microseconds_per_delivery: float
    megabytes: float
    seconds: float


def is_live(event: Any) -> bool:
    """Return whether an event depends on what was shown live."""
    return event["type"] in LIVE or event.get("state") == "pending"


async def follow(served: Served, session: str, begun: asyncio.Event) -> Heard:
    """Follow a session from its beginning to the end of its turn."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port, limit=2**22)
    path = f"/bridle/sessions/{session}/events"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise SystemExit(head.decode())
    begun.set()
    recorded: list[Any] = []
    ids: list[int] = []
    texts: dict[str, str] = {}
    count, rest = 0, b""
    while True:
        size = int(await reader.readuntil(b"\r\n"), 16)
        *blocks, rest = (rest + (await reader.readexactly(size + 2))[:-2]).split(b"\n\n")
        for block in blocks:
            fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
            if b"event" not in fields:
                continue
            count += 1
            event = msgspec.json.decode(fields[b"data"])
            if b"id" in fields:
                ids.append(int(fields[b"id"]))
            if event["type"] == "delta" and event["kind"] == "text":
                known = texts.get(event["part"], "")
                if event["offset"] <= len(known):
                    texts[event["part"]] = known[: event["offset"]] + event["text"]
            if not is_live(event):
                recorded.append(event)
            if event["type"] == END:
                writer.close()
                return Heard(recorded, ids, texts, count)


def truth(served: Served, session: str) -> tuple[list[Any], list[int], dict[str, str]]:
    """Return what the record alone says: its events, its ids and its texts."""
    entries = msgspec.convert(served.ask("GET", f"/bridle/sessions/{session}/entries")["entries"], list[Entry])
    stream = EventStream(session)
    events, ids = [], []
    for entry in entries:
        told = [msgspec.json.decode(msgspec.json.encode(event)) for event in stream.of_entry(entry)]
        events += [event for event in told if not is_live(event)]
        ids += [entry.sequence] if any("sequence" in event for event in told) else []
    parts = served.ask("GET", f"/bridle/sessions/{session}")["parts"]
    return events, ids, {part["id"]: part["text"] for part in parts if part["kind"] == "text"}


def until_end(events: list[Any]) -> list[Any]:
    """Return the events up to the end of the first turn: a title may follow."""
    end = next(number for number, event in enumerate(events) if event["type"] == END)
    return events[: end + 1]


def fits(heard: Heard, recorded: tuple[list[Any], list[int], dict[str, str]]) -> bool:
    """Return whether a follower got each event of the record once and in order, and the texts."""
    events, ids, texts = recorded
    shown = {part: heard.texts.get(part) for part in texts}
    # An entry whose events were all shown live before has no event of its own, and so no id.
    in_order = heard.ids == sorted(set(heard.ids)) and set(heard.ids) <= set(ids)
    return heard.recorded == until_end(events) and in_order and shown == texts


async def stream(served: Served, sessions: int, followers: int, words: int) -> Outcome:
    """Let all sessions stream at once."""
    text = {"text": "word " * words, "chunk": 5, "pace": 0.05}
    model = served.script({**text, "calls": [{"name": "list", "arguments": {}}]}, then=text)
    names = [f"load-{number}" for number in range(sessions)]
    for name in names:
        served.ask("POST", "/bridle/sessions", {"id": name})
    begun = [asyncio.Event() for _ in range(sessions * followers)]
    tasks = [asyncio.create_task(follow(served, names[number % sessions], each)) for number, each in enumerate(begun)]
    await asyncio.gather(*(each.wait() for each in begun))
    cpu, began = served.cpu_seconds, time.monotonic()
    for name in names:
        body = {"text": "Go", "options": {"model": model}}
        await asyncio.to_thread(served.ask, "POST", f"/bridle/sessions/{name}/prompts", body)
    heard = await asyncio.gather(*tasks)
    cpu, took = served.cpu_seconds - cpu, time.monotonic() - began
    megabytes = served.megabytes
    recorded = [truth(served, name) for name in names]
    wrong = sum(not fits(each, recorded[number % sessions]) for number, each in enumerate(heard))
    deliveries = sum(each.events for each in heard)
    return Outcome(
        sessions=sessions,
        followers=len(heard),
        deliveries=deliveries,
        entries=sum(len(ids) for _, ids, _ in recorded),
        wrong=wrong,
        cpu_microseconds_per_delivery=round(cpu / deliveries * 1e6, 1),
        megabytes=round(megabytes, 1),
        seconds=round(took, 1),
    )


def streamed(sessions: int, followers: int, words: int) -> Outcome:
    """Return the outcome of a server of its own; `followers` are those of each session."""
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as folder:
        served = Served(Path(folder) / "home")
        try:
            return asyncio.run(stream(served, sessions, followers, words))
        finally:
            served.close()


def main(words: list[str]) -> int:
    """Print the outcome as JSON; exit with 1 if a follower got something else than the record."""
    parser = argparse.ArgumentParser(prog="bench/run server streams", description=__doc__)
    parser.add_argument("--sessions", type=int, default=100)
    parser.add_argument("--followers", type=int, default=10, help="of each session")
    parser.add_argument("--words", type=int, default=100, help="of each of the two replies")
    given = parser.parse_args(words)
    outcome = streamed(given.sessions, given.followers, given.words)
    print(json.dumps(outcome._asdict()))
    return 1 if outcome.wrong else 0
