"""A worker that is frozen: its commands are gone before its lease ends, and thawed it records nothing late."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest
from support.frozen_app import runtime
from support.paths import TESTS
from support.postgres import new_schema, server_url

from bridle.process.sandbox import sandbox_program

AVAILABLE, _ = sandbox_program()


@pytest.fixture
def start(tmp_path):
    """Start workers, and end them with the test."""
    started, schema = [], new_schema()

    def begin(mode):
        words = [sys.executable, "-m", "support.frozen_app", str(tmp_path), server_url(), schema, mode]
        process = subprocess.Popen(words, cwd=TESTS, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    begin.schema = schema
    yield begin
    for process in started:
        process.kill()
        process.communicate()


def sleepers(sign):
    """The processes that sleep for this time."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [path.parent.name] if path.read_bytes().split(b"\0")[:2] == [b"sleep", sign.encode()] else []
        except OSError:
            # It has ended meanwhile.
            continue
    return found


async def until(seen):
    while not (found := await seen()):
        await asyncio.sleep(0.01)
    return found


async def identities(here, process):
    """The identities under which a process has held leases so far."""
    return await here.journal.rows("SELECT id FROM bridle.worker WHERE process = %s", (process.pid,))


@pytest.mark.parametrize(
    "mode", ["off", pytest.param("required", marks=pytest.mark.skipif(not AVAILABLE, reason="no sandbox here"))]
)
def test_commands_of_a_frozen_worker_are_gone_before_its_lease_ends(mode, start, tmp_path):
    async def story():
        sign = f"9{uuid.uuid4().int % 10**8:08d}"
        async with runtime(tmp_path, server_url(), start.schema, mode) as here:
            frozen = start(mode)
            session = await here.create()
            prompt = await here.prompt(session, f"(setsid sleep {sign} &); sleep {sign}")

            async def both():
                return len(sleepers(sign)) == 2

            await until(both)
            os.kill(frozen.pid, signal.SIGSTOP)
            while await here.journal.held(session):
                await asyncio.sleep(0.01)
            assert sleepers(sign) == []
            start(mode)
            result = await here.wait(session, prompt)
            assert (result.reason, result.text) == ("answered", "it was cut")
            record, before = await here.journal.load(session), await identities(here, frozen)
            os.kill(frozen.pid, signal.SIGCONT)

            async def anew():
                return set(await identities(here, frozen)) - set(before)

            await until(anew)
            assert await here.journal.load(session) == record
            await here.journal.close()

    asyncio.run(asyncio.wait_for(story(), 60))
