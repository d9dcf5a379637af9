"""Real processes, killed for real: nothing that was acknowledged is lost, nothing finished is done again."""

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.journal_place import is_on_server, journal_in, put_on_server
from support.kill_target import SESSION
from support.paths import TESTS

from bridle.core.fold import load
from bridle.core.parts import Call, StepStart, TurnFinish, TurnStart
from bridle.core.states import Done

TARGET = "support.kill_target"
KILLS = {"local": 25, "workers": 25, "postgres": 6}
"""On a server, each next process waits until the lease of the one before has run out."""


def entries(folder):
    async def read():
        journal = journal_in(folder)
        try:
            found = await journal.load(SESSION)
            accounts = [await journal.account(f"{SESSION}/{number}") for number in range(1, load(found).turns + 1)]
            return found, [account.held for account in accounts if account.held]
        finally:
            await journal.close()

    return asyncio.run(read())


def effects(folder, tool):
    """How often the tool has run for each call."""
    path = folder / tool
    return Counter(line.split()[0] for line in path.read_text().splitlines()) if path.exists() else Counter()


def command(folder, prompt, kind):
    return {"args": [sys.executable, "-m", TARGET, folder, prompt, kind], "cwd": TESTS}


def run_and_kill(folder, prompt, kind, seconds):
    """The lines of a process that lives for so long after it said that it is ready, on a server that it works."""
    with subprocess.Popen(**command(folder, prompt, kind), stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline()]
        while is_on_server(folder) and not lines[-1].startswith(("ack", "finished")):
            lines.append(process.stdout.readline())
        time.sleep(seconds)
        process.kill()
        return [*lines, *process.stdout.readlines()]


@pytest.mark.parametrize(("kind", "seed"), [("local", 0), ("local", 1), ("local", 2), ("workers", 3), ("postgres", 4)])
def test_a_hundred_kills_lose_no_acknowledged_record_and_repeat_no_finished_call(tmp_path, kind, seed):
    if kind == "postgres":
        put_on_server(tmp_path)
    chance = random.Random(seed)
    turn = 0
    ended = {}
    for _ in range(KILLS[kind]):
        lines = run_and_kill(tmp_path, f"prm_{turn}", kind, chance.uniform(0.0, 0.12))
        acknowledged = [int(line.split()[1]) for line in lines if line.startswith("ack ")]
        found, _ = entries(tmp_path)
        assert [entry.sequence for entry in found] == list(range(1, len(found) + 1))
        assert max(acknowledged, default=0) <= len(found)
        looked = effects(tmp_path, "look")
        assert {id: looked[id] for id in ended} == ended
        calls = [part for part in load(found).parts.values() if isinstance(part, Call) and part.name == "look"]
        ended = {part.id: looked[part.id] for part in calls if isinstance(part.state, Done)}
        turn += any(line.startswith("finished") for line in lines)
    assert ended
    last = command(tmp_path, f"prm_{turn}", kind)
    done = subprocess.run(**last, capture_output=True, text=True, timeout=60, check=True)
    assert "finished" in done.stdout
    check(*entries(tmp_path), tmp_path)


def check(found, reservations, folder):
    parts = list(load(found).parts.values())
    starts = [part.number for part in parts if isinstance(part, TurnStart)]
    finishes = [part for part in parts if isinstance(part, TurnFinish)]
    assert [part.number for part in finishes] == starts
    assert {part.reason for part in finishes} <= {"step_cap", "error"}
    for number in starts:
        steps = [part.number for part in parts if isinstance(part, StepStart) and part.id.startswith(f"{number}.")]
        assert steps == list(range(1, len(steps) + 1))
        assert len(steps) <= 30
    assert set(effects(folder, "act").values()) == {1}
    assert reservations == []
    if not is_on_server(folder):
        with sqlite3.connect(folder / "journal.db") as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        raw.close()
