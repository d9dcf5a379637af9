"""A pool of connections before a PostgreSQL server that keeps its notifications back, as pgbouncer does."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from psycopg.conninfo import conninfo_to_dict

NOTIFICATION = b"A"


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


async def _forward_messages(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Forward what the server says, message by message, except notifications."""
    while True:
        head = await reader.readexactly(5)
        body = await reader.readexactly(int.from_bytes(head[1:]) - 4)
        if head[:1] != NOTIFICATION:
            writer.write(head + body)
            await writer.drain()


@contextmanager
def silent_pool(url: str) -> Iterator[str]:
    """Yield the address of the pool; it ends with the block."""
    given = conninfo_to_dict(url)
    host, port = str(given.get("host") or "127.0.0.1"), int(given.get("port") or 5432)

    async def joined(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connect = (
            asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
            if host.startswith("/")
            else asyncio.open_connection(host, port)
        )
        theirs, to_them = await connect
        ways = [asyncio.create_task(_forward(reader, to_them)), asyncio.create_task(_forward_messages(theirs, writer))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        for each in await asyncio.gather(*ways, return_exceptions=True):
            assert each is None or isinstance(each, (asyncio.CancelledError, OSError, EOFError)), each
        for end in (writer, to_them):
            end.close()
            with suppress(OSError):
                await end.wait_closed()

    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(joined, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        name, database = given.get("user") or "postgres", given.get("dbname") or "postgres"
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield f"postgresql://{name}@{address}/{database}?sslmode=disable&gssencmode=disable"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
