"""The way to a provider: certificates, proxies, addresses that make no sense, and a socket that is closed in time."""

import asyncio
import ssl

import pytest
from support.certificates import certificate_in
from support.wire_faults import Answer, RawServer, events, sound
from support.wires import KEY, WIRES, lane_to, model_of

from bridle import Runtime, RuntimeConfig
from bridle.config.settings import DeadlineSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.messages import Messages, UserMessage
from bridle.core.stream import ModelError, ModelRequest, StreamEnd
from bridle.model.http import Lane, failure
from bridle.testing.scripted import Reply
from bridle.turn import send_request

DONE = Reply(text="Done.")
REQUEST = ModelRequest("1.1.1", "s", "step", "m", "", Messages([UserMessage("p", "go")]), (), "auto", 100, {})


async def asked(lane, wire="chat"):
    """The last event of one request."""
    found = [event async for event in model_of(wire, lane).stream(REQUEST)]
    await lane.close()
    return found[-1]


def ask(lane, wire="chat"):
    return asyncio.run(asyncio.wait_for(asked(lane, wire), 20))


@pytest.mark.parametrize(
    ("address", "words", "passes"),
    [
        ("http://127.0.0.1:1", "the connection to the provider failed", True),
        ("http://nobody.invalid/v1", "the connection to the provider failed", True),
        ("ftp://127.0.0.1/v1", "the request could not be sent", False),
        ("http://[::bad/v1", "the request could not be sent", False),
        ("http://127.0.0.1:99999/v1", "the request could not be sent", False),
        ("", "the request could not be sent", False),
    ],
)
def test_an_address_that_leads_nowhere(address, words, passes):
    error = ask(lane_to(address))
    assert isinstance(error, ModelError) and error.message.startswith(words)
    assert (error.retryable, error.status) == (passes, None)


@pytest.mark.parametrize("key", ["line\nbreak-in-the-key", "snow☃man-in-the-key"])
def test_a_key_that_no_header_can_hold_is_not_told(key):
    async def work():
        async with RawServer("chat", [sound("chat", DONE)]) as server:
            return await asked(lane_to(server.address, key))

    error = asyncio.run(work())
    assert isinstance(error, ModelError) and error.retryable is False
    assert "in-the-key" not in error.message


@pytest.mark.parametrize("wire", WIRES)
def test_an_abort_closes_the_socket(wire):
    async def work():
        answers = [Answer(events(wire, Reply(text="Once upon a time.", chunk=4))[:3], end="hang")]
        async with RawServer(wire, answers) as server:
            lane = lane_to(server.address)
            agents = [AgentDefinition("build", model="m")]
            async with Runtime(RuntimeConfig(models={"m": model_of(wire, lane)}, agents=agents)) as runtime:
                session = await runtime.create()
                prompt = await runtime.prompt(session, "go")
                async with asyncio.timeout(60):
                    while not server.requests:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.1)
                await runtime.abort(session)
                result = await asyncio.wait_for(runtime.wait(session, prompt), 60)
                async with asyncio.timeout(60):
                    while not server.closed_early:
                        await asyncio.sleep(0.01)
            await lane.close()
            return result.reason

    assert asyncio.run(work()) == "aborted"


class Proxy:
    """Answers every request itself, as a proxy that reaches the world would, and remembers what it was asked for."""

    def __init__(self, status=200):
        self.asked = []
        self._status = status

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_):
        self._server.close()

    async def _serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.split("\r\n")[0])
        data = b"".join(events("chat", DONE))
        writer.write(f"HTTP/1.1 {self._status} Said\r\ncontent-type: text/event-stream\r\n".encode())
        writer.write(f"content-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data)
        await writer.drain()
        writer.close()


@pytest.mark.parametrize("given", ["settings", "environment"])
def test_a_proxy_is_used(given, monkeypatch):
    async def work():
        async with Proxy() as proxy:
            if given == "environment":
                monkeypatch.setenv("HTTP_PROXY", proxy.address)
                monkeypatch.delenv("NO_PROXY", raising=False)
            lane = Lane("http://model.invalid/v1", dict, proxy=proxy.address if given == "settings" else "")
            return await asked(lane), proxy.asked

    last, seen = asyncio.run(work())
    assert (last, seen) == (StreamEnd(), ["POST http://model.invalid/v1/chat/completions HTTP/1.1"])


def test_a_proxy_that_refuses_is_named(monkeypatch):
    async def work():
        async with Proxy(407) as proxy:
            return await asked(Lane("http://model.invalid/v1", dict, proxy=proxy.address))

    error = asyncio.run(work())
    assert isinstance(error, ModelError) and error.status == 407


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)

    async def work():
        async with RawServer("chat", [sound("chat", DONE)]) as server:
            return await asked(lane_to(server.address))

    assert asyncio.run(work()) == StreamEnd()


@pytest.fixture
def certificate(tmp_path):
    return certificate_in(tmp_path)


def over_tls(certificate, make_lane):
    async def work():
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        raw = RawServer("chat", [sound("chat", DONE)])
        raw._server = await asyncio.start_server(raw._serve, "127.0.0.1", 0, ssl=context)
        port = raw._server.sockets[0].getsockname()[1]
        try:
            return await asked(make_lane(f"https://localhost:{port}"))
        finally:
            await raw.__aexit__()

    return asyncio.run(asyncio.wait_for(work(), 20))


def test_a_certificate_that_nobody_knows_is_refused(certificate):
    error = over_tls(certificate, lambda address: Lane(address, dict))
    assert isinstance(error, ModelError) and "certificate" in error.message.lower() and error.retryable


def test_a_bundle_of_your_own_is_trusted(certificate):
    assert over_tls(certificate, lambda address: Lane(address, dict, ca_bundle=str(certificate))) == StreamEnd()


def test_a_bundle_that_is_not_there_is_named(certificate):
    error = over_tls(certificate, lambda address: Lane(address, dict, ca_bundle="/nowhere/bundle.pem"))
    assert isinstance(error, ModelError) and error.retryable is False


@pytest.mark.parametrize("wire", WIRES)
def test_the_key_goes_where_it_belongs_and_nowhere_else(wire):
    async def work():
        async with RawServer(wire, [sound(wire, DONE)]) as server:
            last = await asked(lane_to(server.address), wire)
            return last, b"".join(server.bodies)

    last, sent = asyncio.run(work())
    assert last == StreamEnd() and KEY.encode() not in sent


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 128000 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens",
        "Invalid request: Your request exceeded model token limit: 262144",
        "Prompt exceeds max length",
        "prompt token count of 130000 exceeds the limit of 128000",
        "the request exceeds the available context size",
        "Input is too long for requested model",
        "Please reduce the length of the messages or completion",
    ],
)
def test_every_way_to_say_that_the_context_is_full(words):
    error = failure({"error": {"message": words}}, 400)
    assert (error.overflow, error.retryable) == (True, False)


@pytest.mark.parametrize(
    ("body", "passes", "delay"),
    [
        ({"message": "You exceeded your current quota, please check your plan and billing details."}, False, None),
        (
            {"message": "You exceeded your current quota. Please retry in 33.1s.", "status": "RESOURCE_EXHAUSTED"},
            None,
            "33.1",
        ),
        ({"message": "Quota exceeded", "details": [{"@type": "RetryInfo", "retryDelay": "7s"}]}, None, "7.0"),
        ({"message": "Rate limit reached for gpt-5. Please try again in 250ms."}, None, "0.25"),
        ({"message": "Rate limit reached. Please try again in 1m30.5s."}, None, "90.5"),
        ({"message": "Rate limit reached. Please try again in a while."}, None, None),
    ],
)
def test_a_limit_that_passes_is_told_from_one_that_does_not(body, passes, delay):
    error = failure({"error": body}, 429)
    assert (error.retryable, error.headers.get("retry-after")) == (passes, delay)


def test_a_way_shows_nothing_secret():
    lane = Lane("https://x.invalid", lambda: {"authorization": f"Bearer {KEY}"}, proxy="http://me:secret@proxy.invalid")
    assert "secret" not in repr(lane) and KEY not in repr(lane)
    told = lane.clean(ModelError(f"bad {KEY}; anthropic-version 2023-06-01"))
    assert told.message == "bad [key]; anthropic-version 2023-06-01"


def test_a_kind_of_proxy_that_cannot_be_spoken_to_is_named(monkeypatch):
    error = ask(Lane("http://model.invalid/v1", dict, proxy="socks5://127.0.0.1:1"))
    assert isinstance(error, ModelError) and error.retryable is False and "socks" in error.message.lower()


@pytest.mark.parametrize("wire", WIRES)
def test_signs_of_life_are_believed_for_a_while(wire, monkeypatch):
    monkeypatch.setattr(send_request, "DEADLINE_GRAIN_SECONDS", 0.3)
    whole = events(wire, DONE)
    sign = b'event: ping\ndata: {"type": "ping"}\n\n' if wire == "messages" else b": still here\n\n"
    signs = [piece for _ in range(10) for piece in (sign, 0.1)]

    async def work():
        async with RawServer(wire, [Answer([*whole[:2], *signs, *whole[2:]])]) as server:
            lane = lane_to(server.address)
            settings = Settings(deadlines=DeadlineSettings(2.0, 0.6, 30.0))
            agents = [AgentDefinition("build", model="m")]
            async with Runtime(
                RuntimeConfig(models={"m": model_of(wire, lane)}, agents=agents, settings=settings)
            ) as runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
            await lane.close()
            return result.reason, server.requests

    # One second of pings: longer than the idle deadline and its grain, shorter than four times that.
    assert asyncio.run(asyncio.wait_for(work(), 20)) == ("answered", 1)
