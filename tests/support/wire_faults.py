"""A raw server on loopback that does to a client what networks and providers do."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from bridle.testing.scripted import Reply
from bridle.testing.wires import ChatWire, MessagesWire, ResponsesWire

WIRES: dict[str, type[ChatWire | MessagesWire | ResponsesWire]] = {
    "chat": ChatWire,
    "messages": MessagesWire,
    "responses": ResponsesWire,
}
Ending = Literal["clean", "fin", "rst", "hang"]


@dataclass
class Answer:
    """What is sent for one request: bytes, pauses in seconds, and how the connection ends."""

    pieces: Sequence[bytes | float] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    end: Ending = "clean"
    kind: str = "text/event-stream"
    framing: Literal["chunked", "length", "close"] = "chunked"
    raw: bool = False
    """Send the pieces and nothing else: no status, no headers."""


def events(wire: str, reply: Reply) -> list[bytes]:
    """What a sound server sends for a reply, event by event."""
    speaker = WIRES[wire]("scripted")
    return [data for event in reply.events() for data in speaker.data(event)]


def sound(wire: str, reply: Reply) -> Answer:
    return Answer(events(wire, reply))


class RawServer:
    """Plays its answers in order, the last one for ever, and keeps every body that it got."""

    def __init__(self, wire: str, answers: Sequence[Answer]) -> None:
        self._wire = WIRES[wire]
        self._answers = answers
        self.requests = 0
        self.problems: list[str] = []
        self.bodies: list[bytes] = []
        self.closed_early = 0
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> RawServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed_early += 1
        except asyncio.CancelledError:
            return
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0]) if "content-length:" in head else 0
        body = await reader.readexactly(length)
        self.bodies.append(body)
        self.problems += self._problems(body)
        answer = self._answers[min(self.requests, len(self._answers) - 1)]
        self.requests += 1
        await self._answer(writer, answer)
        if answer.end == "rst":
            # Linger of zero: the peer sees a reset instead of an end.
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif answer.end == "hang":
            await reader.read()
            self.closed_early += 1
        return answer.end == "clean" and answer.framing != "close"

    def _problems(self, body: bytes) -> list[str]:
        return self._wire.problems(msgspec.json.decode(body))

    async def _answer(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        if not answer.raw:
            writer.write(self._head(answer))
        for piece in answer.pieces:
            if isinstance(piece, float):
                await writer.drain()
                await asyncio.sleep(piece)
            elif answer.framing == "chunked" and not answer.raw:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            else:
                writer.write(piece)
        if answer.framing == "chunked" and answer.end == "clean" and not answer.raw:
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    @staticmethod
    def _head(answer: Answer) -> bytes:
        fields = {"content-type": answer.kind, **answer.headers}
        if answer.framing == "chunked":
            fields["transfer-encoding"] = "chunked"
        elif answer.framing == "length":
            size = sum(len(piece) for piece in answer.pieces if isinstance(piece, bytes))
            fields.setdefault("content-length", str(size))
        else:
            fields["connection"] = "close"
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode("latin-1")
