"""Callers that go away at any moment: each turn has its ending soon after, and nothing is left behind."""

import asyncio
import contextlib
import gc
import os
import random
import re
import time

import anyio
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from bridle import Agent, Context, Reply, ScriptedModel, tool
from bridle.core.fold import load
from bridle.testing.scripted import ScriptedCall

CLIENTS = 200
PATIENCE_SECONDS = float(os.environ.get("PATIENCE_SECONDS", "60"))
"""How long an ending may take after its caller has left. On an idle machine 2 suffices."""
LONGEST_SECONDS = 0.4
"""The longest time after which a run is cancelled; a whole turn takes a little less."""
MOST_EVENTS = 26
"""The most events that a client waits for before it leaves; a whole turn has 24."""


@tool
async def look(ctx: Context[str], key: str) -> str:
    """Look at something."""
    ctx.progress(f"looking at {key}")
    await asyncio.sleep(0.05)
    return f"{ctx.deps} saw {key}"


@tool
def wait(ctx: Context[str]) -> str:
    """Block a thread for a moment."""
    return ctx.deps


def agent_for(journal):
    first = Reply(
        text="one two three four",
        chunk=4,
        pace=0.01,
        calls=(ScriptedCall("look", {"key": "a"}), ScriptedCall("wait", {}, "w")),
    )
    model = ScriptedModel([first, Reply(text="five six seven eight", chunk=4, pace=0.02)])
    return Agent[str, str](model=model, tools=[look, wait], journal=journal)


def app_for(agent):
    """A web application that streams its agent, with the stream closed by hand or just dropped."""

    async def lines(stream):
        async for event in stream:
            yield f"data: {event.session}\n\n"

    async def closed(stream):
        async with stream:
            async for line in lines(stream):
                yield line

    async def ask(request):
        stream = agent.stream("go", deps="somebody")
        body = closed(stream) if request.query_params.get("closed") else lines(stream)
        return StreamingResponse(body, media_type="text/event-stream")

    return Starlette(routes=[Route("/ask", ask)])


@contextlib.asynccontextmanager
async def served(app):
    """The application on a free port of this machine."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical", lifespan="off", ws="none"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


async def visit(port, chance):
    """Ask, read some events, and go away, politely or not; return the session, if it was told, and the time."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    path = chance.choice(["/ask", "/ask?closed=1"])
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
    await writer.drain()
    heard, wanted = b"", chance.randint(0, MOST_EVENTS)
    while heard.count(b"data:") < wanted and (piece := await reader.read(100)):
        heard += piece
    if chance.random() < 0.5:
        writer.transport.abort()
    else:
        writer.close()
    session = re.search(rb"data: (\w+)\n", heard)
    return session and session[1].decode(), time.time()


async def endings(agent):
    """The reason with which the turn of each session has ended and when, or None; and the sessions still held."""
    found, held = {}, []
    async with agent.runtime() as runtime:
        for row in await runtime.journal.sessions():
            entries = await runtime.journal.load(row.info.id)
            turn = load(entries).turn
            found[row.info.id] = turn and turn.finish and (turn.finish.reason, entries[-1].at)
            held += [row.info.id] if await runtime.journal.held(row.info.id) else []
    return found, held


async def settled(agent, tasks):
    """Wait until all that the runs began has ended, and return what has not."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while left_by(agent, tasks):
                # A stream that was dropped while an exception held its frame is closed once Python collects it.
                gc.collect()
                await asyncio.sleep(0.02)
    return left_by(agent, tasks)


def left_by(agent, tasks):
    """What runs of an agent have left in this process."""
    program = agent._program
    return [
        *(asyncio.all_tasks() - tasks),
        *agent._runtimes._open.values(),
        *agent._runtimes._endings,
        *program.given,
        *program.outputs,
        *program._opened,
    ]


@pytest.fixture(params=["memory", "sqlite"])
def journal(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "j.db"


def test_two_hundred_clients_of_a_starlette_application_disconnect_at_random_moments(journal):
    agent = agent_for(journal)
    chance = random.Random(7)

    async def come(port, number):
        await asyncio.sleep(number * 0.01)
        return await visit(port, chance)

    async def work():
        before = asyncio.all_tasks()
        async with served(app_for(agent)) as port:
            here = asyncio.all_tasks()
            visits = await asyncio.gather(*(come(port, number) for number in range(CLIENTS)))
            left = await settled(agent, here)
        return visits, left, asyncio.all_tasks() - before, *await endings(agent)

    visits, left, tasks, ended, held = asyncio.run(work())
    assert (left, tasks, held) == ([], set(), [])
    assert [session for session, ending in ended.items() if ending is None] == []
    assert {reason for reason, _ in ended.values()} <= {"answered", "aborted"}
    late = [ended[session][1] - gone for session, gone in visits if session is not None]
    assert (len(late) > 20, max(late) <= PATIENCE_SECONDS) == (True, True)


async def run_it(agent):
    await agent.run("go", deps="somebody")


async def stream_it(agent):
    async for _ in agent.stream("go", deps="somebody"):
        pass


async def drop_it(agent):
    stream = agent.stream("go", deps="somebody")
    async for event in stream:
        if event.session.endswith(("1", "2", "3")):
            break
    await anyio.sleep(1)


async def never_read_it(agent):
    await agent.stream("go", deps="somebody").aclose()


async def move_on(work, seconds):
    with anyio.move_on_after(seconds):
        await work


async def fail(work, seconds):
    with contextlib.suppress(TimeoutError), anyio.fail_after(seconds):
        await work


async def cancel_scope(work, seconds):
    async with anyio.create_task_group() as group:

        async def inner():
            await work

        group.start_soon(inner)
        await anyio.sleep(seconds)
        group.cancel_scope.cancel()


async def time_out(work, seconds):
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await work


async def cancel_twice(work, seconds):
    task = asyncio.ensure_future(work)
    await asyncio.sleep(seconds)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


ENDS = [move_on, fail, cancel_scope, time_out, cancel_twice]
USES = [run_it, stream_it, drop_it, never_read_it]


def test_runs_end_under_every_kind_of_cancellation(journal):
    agent = agent_for(journal)
    chance = random.Random(8)

    async def work():
        here = asyncio.all_tasks()
        async with anyio.create_task_group() as group:
            for end in ENDS:
                for use in USES:
                    for _ in range(10):
                        group.start_soon(end, use(agent), chance.uniform(0.0, LONGEST_SECONDS))
        left = await settled(agent, here)
        return left, *await endings(agent)

    left, ended, held = anyio.run(work)
    assert (left, held) == ([], [])
    assert [session for session, ending in ended.items() if ending is None] == []
    assert {reason for reason, _ in ended.values()} <= {"answered", "aborted"}
    assert ended
