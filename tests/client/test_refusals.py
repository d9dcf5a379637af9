"""Answers of a server that is busy, stops, or stands behind a proxy: repeated only where that does nothing twice."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest

from bridle.client.address import ServerAddress
from bridle.client.connection import ServerConnection
from bridle.client.failures import failure_of
from bridle.errors import (
    AccessRefused,
    ConfigError,
    JournalError,
    JournalFailed,
    LeaseLost,
    NoSuchSession,
    ServerAway,
    TokenRefused,
)
from bridle.wire.native_answers import Created, ErrorBody

CREATED = (200, msgspec.json.encode(Created("ses_one")))


@asynccontextmanager
async def answering(*answers):
    """A server that gives these answers, one for each request, and a connection to it."""
    left, asked = list(answers), []

    async def serve(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1].decode())
        status, content = left.pop(0)
        if status:
            head = f"HTTP/1.1 {status} x\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + content)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = ServerConnection(ServerAddress(f"http://127.0.0.1:{port}"), "token", patience=20.0)
    changes = []
    connection.on_change = changes.append
    async with server:
        yield connection, asked, changes
        await connection.close()


def error(text, kind=""):
    return msgspec.json.encode(ErrorBody(text, kind=kind))


LOST = (0, b"")


@pytest.mark.parametrize(
    ("first", "repeated", "told"),
    [
        ((429, error("too many")), True, []),
        ((503, error("the server is stopping")), True, [False, True]),
        ((503, error("leaving", "LeaseGivenUp")), True, [False, True]),
        ((502, b"<html>Bad Gateway</html>"), False, []),
        (LOST, False, []),
    ],
    ids=["busy", "stops", "gives up", "proxy", "lost"],
)
def test_an_action_is_repeated_only_if_it_was_not_carried_out(first, repeated, told):
    async def story():
        async with answering(first, CREATED) as (connection, asked, changes):
            fork = connection.ask("POST", "/sessions/a/fork", Created, repeats="unsent")
            if repeated:
                assert (await fork).id == "ses_one"
            else:
                with pytest.raises(JournalError):
                    await fork
            assert (len(asked), changes) == (2 if repeated else 1, told)

    asyncio.run(story())


@pytest.mark.parametrize("first", [(502, b""), (504, b"gateway"), LOST], ids=["proxy", "slow proxy", "lost"])
def test_what_may_be_done_twice_is_repeated(first):
    async def story():
        async with answering(first, first, CREATED) as (connection, asked, changes):
            assert (await connection.ask("GET", "/sessions/a/root", Created)).id == "ses_one"
            assert (asked, changes) == (["/bridle/sessions/a/root"] * 3, [False, True])

    asyncio.run(story())


def test_a_journal_that_fails_is_told_at_once():
    async def story():
        async with answering((503, error("the disk is full", "JournalFailed"))) as (connection, asked, _):
            with pytest.raises(JournalFailed, match="the disk is full"):
                await connection.ask("GET", "/sessions", Created)
            assert len(asked) == 1
        async with answering((200, b"[1, 2]")) as (connection, _, _):
            with pytest.raises(ServerAway, match="does not fit this version"):
                await connection.ask("GET", "/sessions", Created)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("status", "content", "expected"),
    [
        (404, error("there is no session x", "NoSuchSession"), NoSuchSession("there is no session x")),
        (404, error("there is nothing at /x"), NoSuchSession("there is nothing at /x")),
        (409, error("busy", "LeaseLost"), LeaseLost("busy")),
        (409, error("used", "ConfigError"), ConfigError("used")),
        (401, error("a token"), TokenRefused("a token")),
        (403, error("not open"), AccessRefused("not open")),
        (500, error("the server failed"), JournalError("the server failed")),
        (500, error("new", "ErrorOfALaterVersion"), JournalError("new")),
        (500, b"\xff\xfe", JournalError("the server answers 500: \ufffd\ufffd")),
    ],
    ids=str,
)
def test_errors_are_those_of_a_runtime(status, content, expected):
    found = failure_of(status, content)
    assert (type(found), str(found)) == (type(expected), str(expected))
