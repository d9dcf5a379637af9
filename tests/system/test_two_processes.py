"""One journal, the parent in one process and its subagents in another; either is killed, the tree ends right."""

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from support.journal_place import journal_in, put_on_server
from support.paths import TESTS
from support.tree_target import CHILDREN, ROOT, STEPS

from bridle.core.fold import load
from bridle.core.limits import NOTHING
from bridle.core.parts import Call, TurnFinish
from bridle.core.states import Done, Refused

TARGET = "support.tree_target"
KILLS = 2
"""A third could cut the same request for the third time, on a busy machine, and end its turn with `error`."""


def start(role, folder, kind, *prompt):
    words = [sys.executable, "-m", TARGET, role, folder, kind, *prompt]
    return subprocess.Popen(words, cwd=TESTS, stdout=subprocess.PIPE, text=True)


def acts(folder):
    path = folder / "acts"
    return path.read_text().splitlines() if path.exists() else []


def wait_for_acts(folder, number):
    deadline = time.monotonic() + 60
    while len(acts(folder)) < number and time.monotonic() < deadline:
        time.sleep(0.005)


def read(folder):
    async def work():
        journal = journal_in(folder)
        try:
            rows = await journal.sessions()
            sessions = {row.info.id: load(await journal.load(row.info.id)) for row in rows}
            accounts = [await journal.account(session.turn.start.account) for session in sessions.values()]
            return sessions, accounts
        finally:
            await journal.close()

    return asyncio.run(work())


def check(folder):
    sessions, accounts = read(folder)
    assert len(sessions) == CHILDREN + 1
    for session in sessions.values():
        assert sum(isinstance(part, TurnFinish) for part in session.parts.values()) == 1
        assert session.turn.finish.reason == "answered"
    assert all((account.reserved, account.held, account.live) == (NOTHING, {}, 0) for account in accounts)
    # No call ran twice; one whose process died in it is told as of unknown outcome.
    ran = Counter(acts(folder))
    assert max(ran.values()) == 1
    made = {
        f"{id}/{part.id}": part.state
        for id, session in sessions.items()
        for part in session.parts.values()
        if isinstance(part, Call) and part.name == "act"
    }
    assert set(ran) <= set(made)
    for state in made.values():
        assert isinstance(state, Done) or (isinstance(state, Refused) and state.refusal.name == "unknown_outcome")
    root = sessions[ROOT]
    children = [part.state for part in root.parts.values() if isinstance(part, Call)]
    assert [state.report.reason for state in children] == ["answered"] * CHILDREN
    total = sum(session.turn.used.steps for session in sessions.values())
    assert total == root.turn.used.steps + CHILDREN * STEPS
    assert next(account for account in accounts if account.id == f"{ROOT}/1").spent.steps == total


@pytest.mark.parametrize(
    ("seed", "kind"), [(0, "local"), (1, "local"), (2, "workers"), (3, "workers"), (4, "postgres")]
)
def test_the_process_of_the_subagents_is_killed(tmp_path, seed, kind):
    chance = random.Random(seed)
    if kind == "postgres":
        put_on_server(tmp_path)
    parent, worker = start("parent", tmp_path, kind), start("worker", tmp_path, kind)
    for _ in range(KILLS):
        worker.stdout.readline()
        wait_for_acts(tmp_path, len(acts(tmp_path)) + chance.randint(1, 4))
        worker.kill()
        worker.communicate()
        worker = start("worker", tmp_path, kind)
    out, _ = parent.communicate(timeout=300)
    worker.kill()
    worker.communicate()
    assert out.strip() == "answered all done"
    check(tmp_path)


@pytest.mark.parametrize(
    ("seed", "kind", "prompt"),
    [
        (0, "local", "go"),
        (1, "local", "go"),
        (2, "workers", "go"),
        (3, "local", "in the background"),
        (4, "workers", "in the background"),
        (5, "postgres", "go"),
    ],
)
def test_the_process_of_the_parent_is_killed(tmp_path, seed, kind, prompt):
    chance = random.Random(seed)
    if kind == "postgres":
        put_on_server(tmp_path)
    parent, worker = start("parent", tmp_path, kind, prompt), start("worker", tmp_path, kind)
    for _ in range(KILLS):
        wait_for_acts(tmp_path, len(acts(tmp_path)) + chance.randint(1, 4))
        parent.kill()
        parent.communicate()
        parent = start("parent", tmp_path, kind, prompt)
    out, _ = parent.communicate(timeout=300)
    worker.kill()
    worker.communicate()
    assert out.strip() == "answered all done"
    check(tmp_path)
