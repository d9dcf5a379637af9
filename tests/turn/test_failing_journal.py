"""Turns whose journal is locked or fails."""

import asyncio
import sqlite3

import pytest

from bridle import Agent, Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.parts import Call, Text
from bridle.errors import JournalFailed


def test_a_journal_that_is_locked_for_too_long_leaves_a_session_that_loads(tmp_path, monkeypatch):
    monkeypatch.setattr("bridle.journal.commits.BUSY_MILLISECONDS", 300)
    path = tmp_path / "j.db"
    model = ScriptedModel([Reply(text="x" * 60, chunk=1, pace=0.05)])
    made = Agent(model=model, journal=path)

    async def work():
        runtime = made.runtime()
        session = await runtime.create()
        prompt = await runtime.prompt(session, "go", options=made.turn_options)
        await asyncio.sleep(0.3)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalFailed, match="held the journal for too long"):
            await asyncio.wait_for(runtime.wait(session, prompt), 60)
        other.execute("COMMIT")
        other.close()
        await runtime.close()
        async with made.runtime() as again:
            await again.resume(session)
            result = await again.wait(session, prompt)
            texts = [part.text for part in (await again.load(session)).parts.values() if isinstance(part, Text)]
            return result, texts

    result, texts = asyncio.run(work())
    assert result.reason in ("answered", "error")
    assert texts


def test_parallel_calls_meet_a_journal_that_fails_with_its_own_error(tmp_path, monkeypatch):
    monkeypatch.setattr("bridle.journal.commits.BUSY_MILLISECONDS", 300)
    path = tmp_path / "j.db"
    locks = []

    @tool
    async def lock(n: int) -> str:
        """Hold the journal."""
        if not locks:
            locks.append(sqlite3.connect(path, isolation_level=None, check_same_thread=False))
            locks[0].execute("BEGIN IMMEDIATE")
        return f"locked {n}"

    made = Agent(model=ScriptedModel([[call("lock", n=1), call("lock", n=2)], "never"]), tools=[lock], journal=path)
    with pytest.raises(JournalFailed, match="held the journal for too long"):
        made.run_sync("go")
    locks[0].execute("ROLLBACK")
    locks[0].close()

    async def look():
        async with Runtime(RuntimeConfig(journal=path)) as runtime:
            (row,) = await runtime.sessions()
            return await runtime.load(row.info.id)

    session = asyncio.run(look())
    assert session.running is not None
    assert [type(part.state).__name__ for part in session.parts.values() if isinstance(part, Call)] == ["Running"] * 2
