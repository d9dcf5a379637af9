"""Clients that send or read too slowly: their connections end, and nothing of the others does."""

import asyncio

import pytest

from bridle.surfaces.server.http_protocol import protocol
from bridle.surfaces.server.limits import KNOWN, Rates, ServerLimits
from bridle.surfaces.server.listen import BoundAddress, HttpListeners, bind_tcp
from bridle.surfaces.server.problems import Json, RequestRefused
from bridle.surfaces.server.streams import Outlet, SlowReaderError


async def app(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message.get("more_body", False)
    await Json({"got": len(body)})(scope, receive, send)


def told_slowly(*pieces):
    """Send pieces one after the other, without an end; return what came back before the connection was closed."""
    limits = ServerLimits(header_seconds=0.2, body_seconds=0.2, connections=3)

    async def story():
        bound = bind_tcp("127.0.0.1", 0, str)
        listening = HttpListeners([BoundAddress(bound, app, protocol(limits))], limits, behind_proxy=False)
        await listening.start()
        reader, writer = await asyncio.open_connection(*bound.getsockname()[:2])
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        try:
            found = await asyncio.wait_for(reader.read(), 60)
        except ConnectionResetError:
            found = b""
        writer.close()
        await listening.stop()
        return found

    return asyncio.run(story())


HEADERS = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n"


@pytest.mark.parametrize("pieces", [(), (b"POST",), (HEADERS,), (HEADERS + b"\r\n", b"12345")])
def test_a_request_that_never_ends_is_cut_off(pieces):
    assert told_slowly(*pieces) == b""


def test_a_connection_too_many_replaces_the_oldest_one_without_a_client_and_never_one_with():
    limits = ServerLimits(connections=2)
    over = asyncio.Event()

    async def held(scope, receive, send):
        if scope["path"] == "/held":
            scope[KNOWN]()
            await over.wait()
        await app(scope, receive, send)

    async def story():
        bound = bind_tcp("127.0.0.1", 0, str)
        listening = HttpListeners([BoundAddress(bound, held, protocol(limits))], limits, behind_proxy=False)
        await listening.start()
        address = bound.getsockname()[:2]

        async def asked(path):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return reader, writer

        async def first_line(reader):
            try:
                return await reader.readline()
            except ConnectionResetError:
                return b""

        idle = [await asyncio.open_connection(*address) for _ in range(5)]
        assert [await first_line(reader) for reader, _ in idle[:3]] == [b""] * 3
        # Those that wait for an answer stay, and the idle ones go.
        known = [await asked(b"/held") for _ in range(2)]
        assert [await first_line(reader) for reader, _ in idle[3:]] == [b""] * 2
        refused = await asked(b"/")
        assert await first_line(refused[0]) == b""
        over.set()
        assert [b" 200 " in await first_line(reader) for reader, _ in known] == [True] * 2
        later = await asked(b"/")
        assert b" 200 " in await first_line(later[0])
        for _, writer in (*idle, *known, refused, later):
            writer.close()
        await listening.stop()

    asyncio.run(story())


def test_a_reader_of_a_large_answer_that_takes_nothing_is_cut_off():
    limits = ServerLimits(send_seconds=0.2)

    async def large(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 2**26, "more_body": True})
        await send({"type": "http.response.body", "body": b"x"})

    async def story():
        bound = bind_tcp("127.0.0.1", 0, str)
        listening = HttpListeners([BoundAddress(bound, large, protocol(limits))], limits, behind_proxy=False)
        await listening.start()
        reader, writer = await asyncio.open_connection(*bound.getsockname()[:2], limit=1024)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in await reader.readline()
        # Nothing is read until the server has closed the connection.
        while listening.open_connections:
            await asyncio.sleep(0.01)
        writer.transport.abort()
        await listening.stop()

    asyncio.run(story())


def test_a_reader_that_takes_nothing_is_dropped_and_the_past_waits_for_it():
    async def story():
        outlet = Outlet(2)
        outlet.put_nowait(b"1")
        outlet.put_nowait(b"2")
        with pytest.raises(SlowReaderError):
            outlet.put_nowait(b"3")
        waiting = asyncio.create_task(outlet.put(b"past"))
        assert [await outlet.take(60) for _ in range(2)] == [b"1", b"2"]
        await waiting
        outlet.end()
        assert [await outlet.take(60) for _ in range(2)] == [b"past", None]
        assert (await outlet.take(0.01)).startswith(b":")

    asyncio.run(story())


def test_requests_of_one_client_are_counted():
    async def story():
        rates = Rates(ServerLimits(burst=3, requests_per_second=0.001))
        for _ in range(3):
            rates.take("one")
        with pytest.raises(RequestRefused) as refused:
            rates.take("one")
        assert refused.value.status == 429
        rates.take("other")

    asyncio.run(story())
