"""`RpcConnection`: JSON-RPC 2.0 over two streams, one message a line, with requests in both directions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from bridle.errors import BridleError

LOG = logging.getLogger(__name__)

MOST_BYTES = 64 * 2**20
"""The longest line that is read: a prompt with several images fits."""
PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
CANCELLED, LOGIN_NEEDED, NOT_FOUND = -32800, -32000, -32002

Id = int | str | None
Answer = TypeVar("Answer")


class RpcFailed(BridleError):
    """A request cannot be answered; the code is one of JSON-RPC or of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RpcReply(NamedTuple):
    """The result of a request, and what is sent right after it."""

    result: Any
    then: Callable[[], Awaitable[None]] | None = None


class RpcMethods(Protocol):
    """Answers the messages of a client."""

    async def request(self, method: str, params: msgspec.Raw) -> RpcReply:
        """Return the result of a request; raises `RpcFailed`. Cancelled if the client cancels the request."""

    async def notification(self, method: str, params: msgspec.Raw) -> None:
        """Take a notification; unknown ones are ignored."""


class RpcError(msgspec.Struct, frozen=True):
    """Why a request failed."""

    code: int
    message: str


class Incoming(msgspec.Struct, frozen=True):
    """Any message of a client: a request, a notification, or an answer to a request of ours."""

    id: Id | msgspec.UnsetType = msgspec.UNSET
    method: str = ""
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: RpcError | None = None


class CancelRequest(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of `$/cancel_request`."""

    request_id: Id


class RpcConnection:
    """One client. Requests are handled at the same time, and begun in the order in which they came."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._writing = asyncio.Lock()
        self._next = 0
        self._asked: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._handled: dict[Id, asyncio.Task[None]] = {}
        self._told: set[asyncio.Task[None]] = set()

    async def serve(self, methods: RpcMethods) -> None:
        """Handle messages until the client closes its side; requests that are being handled are cancelled then."""
        try:
            while True:
                try:
                    line = await self._reader.readuntil(b"\n")
                except asyncio.IncompleteReadError:
                    return
                except asyncio.LimitOverrunError:
                    await self._fail(None, INVALID_REQUEST, f"a message is longer than {MOST_BYTES // 2**20} MB")
                    return
                await self._take(methods, line)
        finally:
            for future in self._asked.values():
                future.set_exception(RpcFailed(CANCELLED, "the client is gone"))
            under_way = [*self._handled.values(), *self._told]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _take(self, methods: RpcMethods, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = msgspec.json.decode(line, type=Incoming)
        except msgspec.ValidationError as error:
            await self._fail(None, INVALID_REQUEST, str(error))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            await self._fail(None, PARSE_ERROR, f"not a line of JSON: {error}")
        else:
            await self._dispatch(methods, message)

    async def _dispatch(self, methods: RpcMethods, message: Incoming) -> None:
        id = message.id
        if message.method == "$/cancel_request":
            wanted = decoded(message.params, CancelRequest).request_id
            if wanted in self._handled:
                self._handled[wanted].cancel()
        elif isinstance(id, msgspec.UnsetType):
            if message.method:
                told = asyncio.create_task(self._notify(methods, message))
                self._told.add(told)
                told.add_done_callback(self._told.discard)
        elif message.method:
            self._handled[id] = task = asyncio.create_task(self._handle(methods, message, id))
            task.add_done_callback(lambda done: self._handled.pop(id, None))
        elif isinstance(id, int) and id in self._asked:
            self._resolve(self._asked.pop(id), message)
        # Not an answer to a request of ours: some clients report unknown updates with an empty id.

    def _resolve(self, future: asyncio.Future[msgspec.Raw], message: Incoming) -> None:
        if future.done():
            return
        if message.error is not None:
            future.set_exception(RpcFailed(message.error.code, message.error.message))
        else:
            future.set_result(message.result)

    async def _notify(self, methods: RpcMethods, message: Incoming) -> None:
        try:
            await methods.notification(message.method, message.params)
        except BridleError as error:
            LOG.warning("%s: %s", message.method, error)

    async def _handle(self, methods: RpcMethods, message: Incoming, id: Id) -> None:
        try:
            reply = await methods.request(message.method, message.params)
        except asyncio.CancelledError:
            await self._fail(id, CANCELLED, "cancelled")
        except RpcFailed as error:
            await self._fail(id, error.code, str(error))
        except BridleError as error:
            await self._fail(id, INVALID_PARAMS, str(error))
        except Exception as error:
            # Foreign code runs below, for example the user's models: the client gets a sentence, the log the traceback.
            LOG.exception("%s failed", message.method)
            await self._fail(id, INTERNAL_ERROR, f"this should not have happened: {type(error).__name__}: {error}")
        else:
            await self._send({"jsonrpc": "2.0", "id": id, "result": reply.result})
            if reply.then is not None:
                await reply.then()

    async def notify(self, method: str, params: msgspec.Struct) -> None:
        """Send a notification."""
        await self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: msgspec.Struct, answer: type[Answer]) -> Answer:
        """Send a request and return its answer; raises `RpcFailed`. Cancelling tells the client to drop it."""
        id, self._next = self._next, self._next + 1
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._asked[id] = future
        try:
            await self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
            return decoded(await future, answer)
        except asyncio.CancelledError:
            if self._asked.pop(id, None) is not None and not self._reader.at_eof():
                await self._send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})
            raise

    async def _fail(self, id: Id, code: int, message: str) -> None:
        await self._send({"jsonrpc": "2.0", "id": id, "error": RpcError(code, message)})

    async def _send(self, message: dict[str, Any]) -> None:
        async with self._writing:
            try:
                self._writer.write(msgspec.json.encode(message) + b"\n")
                await self._writer.drain()
            except (ConnectionError, RuntimeError):
                # The client is gone; the end of its stream is handled by the reader.
                LOG.debug("the client reads no more")


def decoded(params: msgspec.Raw, wanted: type[Answer]) -> Answer:
    """Return parameters as a struct; raises `RpcFailed` with the field that is wrong."""
    try:
        return msgspec.json.decode(params, type=wanted)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise RpcFailed(INVALID_PARAMS, str(error)) from error
