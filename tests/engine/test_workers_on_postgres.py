"""Workers on PostgreSQL beyond the contract of an engine: sessions that kill them, and backups during their work."""

import asyncio
import subprocess

import psycopg
import pytest
from support.cli_home import Home
from support.engine_app import runtime, workers
from support.postgres import new_schema, server_program, server_url

from bridle.core.replay import verified
from bridle.errors import TurnLeft
from bridle.journal.worker_overview import overview

KIND = "procrastinate"
CUT = "task:act:a_act:b_act:c_say:found act:d say:done"


def played(story):
    asyncio.run(asyncio.wait_for(story(), 120))


def test_a_session_that_kills_three_workers_is_set_aside_until_it_is_resumed(tmp_path):
    async def story():
        with workers(tmp_path, KIND) as there:
            async with runtime(tmp_path, KIND) as here:
                session, other = await here.create(), await here.create()
                prompt = await here.prompt(session, "act:deadly act:deadly act:deadly say:done")
                dead = 0
                while dead < 3:
                    dead += there.replace_dead()
                    await asyncio.sleep(0.02)
                while not (seen := await overview(here.journal)).waiting or not seen.waiting[0].aside:
                    await asyncio.sleep(0.02)
                url, schema = (tmp_path / "journal.url").read_text().split()
                home = Home(tmp_path, tmp_path)
                home.environment |= {"BRIDLE_JOURNAL__URL": url, "BRIDLE_JOURNAL__SCHEMA": schema}
                told = await asyncio.to_thread(home.run, "workers")
                assert f"{session}  @  set aside: three workers in a row died while they drove it" in told.stdout
                with pytest.raises(TurnLeft, match=f"bridle resume {session}"):
                    await here.parked(session)
                # The others work on, and its wakes are of no use.
                assert (await here.wait(other, await here.prompt(other, "act:a say:done"))).text == "done"
                await here.engine.wake(session)
                assert (await overview(here.journal)).waiting[0].aside
                assert all(process.poll() is None for process in there.processes)
                await here.resume(session)
                result = await here.wait(session, prompt)
                assert (result.reason, result.text, result.steps) == ("answered", "done", 4)
                assert not (await overview(here.journal)).waiting
                await here.journal.close()

    played(story)


@pytest.mark.parametrize(
    "failure",
    [
        "UPDATE {schema}.session SET holder = NULL",
        "UPDATE {schema}.session SET epoch = epoch + 1",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bridle'",
    ],
    ids=["its lease", "its epoch", "its connections"],
)
def test_a_session_whose_drive_loses_something_is_driven_on(tmp_path, failure):
    async def story():
        with workers(tmp_path, KIND):
            async with runtime(tmp_path, KIND) as here:
                session = await here.create()
                await here.prompt(session, "act:slow act:b say:done")
                while not (tmp_path / "acts").exists():
                    await asyncio.sleep(0.01)
                url, schema = (tmp_path / "journal.url").read_text().split()
                async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                    await connection.execute(failure.format(schema=schema))
                # Nobody waits for it: a waiting program would wake it.
                while not await ended(url, schema):
                    await asyncio.sleep(0.05)
                assert (await here.load(session)).turn.finish.reason == "answered"
                await here.journal.close()

    played(story)


async def ended(url, schema):
    """Whether all turns have ended; read without the journal, whose connections may be cut."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        rows = await connection.execute(f"SELECT 1 FROM {schema}.session WHERE ends = 0")
        return await rows.fetchone() is None


async def restored(folder, backup):
    """Restore a backup into a new database, and name it in a folder as the journal of its workers."""
    url, schema = (folder.parent / "journal.url").read_text().split()
    name = new_schema()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}")
    there = psycopg.conninfo.make_conninfo(server_url(), dbname=name)
    command = [server_program("pg_restore"), "--no-owner", "--exit-on-error", "-d", there, str(backup)]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=60)
    parts = psycopg.conninfo.conninfo_to_dict(there)
    address = f"postgresql://{parts['user']}@/{name}?host={parts['host']}"
    (folder / "journal.url").write_text(f"{address}\n{schema}")


def test_a_backup_taken_while_workers_work_is_a_sound_journal_that_goes_on(tmp_path):
    after, backup = tmp_path / "after", tmp_path / "backup"
    after.mkdir()

    async def story():
        with workers(tmp_path, KIND) as there:
            async with runtime(tmp_path, KIND) as here:
                long = await here.create()
                prompts = {long: await here.prompt(long, "act:long act:b say:done")}
                while not (tmp_path / "acts").exists():
                    await asyncio.sleep(0.01)
                for _ in range(6):
                    session = await here.create()
                    prompts[session] = await here.prompt(session, CUT)
                url, schema = (tmp_path / "journal.url").read_text().split()
                dump = [server_program("pg_dump"), "-Fc", "-n", schema, "-n", f"{schema}_queue", "-f", str(backup), url]
                await asyncio.to_thread(subprocess.run, dump, check=True, timeout=60)
                await here.journal.close()
            there.kill()
        await restored(after, backup)
        with workers(after, KIND):
            async with runtime(after, KIND) as here:
                assert {row.info.id for row in await here.sessions()} >= set(prompts)
                for session, prompt in prompts.items():
                    result = await here.wait(session, prompt)
                    assert (result.reason, result.text) == ("answered", "done")
                for row in await here.sessions():
                    assert verified(await here.journal.load(row.info.id)) is None
                refused = str((await here.load(long)).parts)
                assert "unknown_outcome" in refused
                assert await here.journal.holding("") == []
                await here.journal.close()

    played(story)
