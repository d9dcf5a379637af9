"""The embedded model behind a server on loopback: it passes as many tasks without quirks as with quirks set by hand."""

import asyncio
import os

from support.embedded_tasks import BY_HAND, TASKS, carry_out, served_engine, served_settings

SOME = int(os.environ.get("TASKS", "1"))
"""`scripts/tasks` runs all ten."""


def passed(address, quirks, folder):
    folder.mkdir()
    ref, settings = served_settings(address, quirks)
    outcomes = [
        (task, asyncio.run(carry_out(task, ref, folder / str(number), settings=settings)))
        for number, task in enumerate(TASKS[:SOME])
    ]
    assert all(outcome.ended_well for _, outcome in outcomes)
    found = [task.prompt for task, outcome in outcomes if task.passed(outcome)]
    print(f"{len(found)} of {SOME} tasks passed with {quirks or 'no quirks set'}: {found}")
    return len(found)


def test_a_local_server_needs_no_quirks_set(tmp_path):
    with served_engine() as address:
        found = passed(address, {}, tmp_path / "none")
        # The first task is passed with the quirks set by hand; all ten are compared by `scripts/tasks`.
        assert found >= (passed(address, BY_HAND, tmp_path / "by-hand") if SOME > 1 else 1)
