"""`bridle database`: a journal is created, checked, migrated, copied and pruned, in SQLite and on PostgreSQL."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from support.cli_home import ForkedHome
from support.journals import contents, executed, fill
from support.postgres import new_schema, server_url
from support.silent_pool import silent_pool

from bridle.journal import database as sqlite_file
from bridle.journal.postgres_server import migrations
from bridle.journal.queue_tables import queue_scripts

NEWEST = len(migrations())
COMMANDS = ("init", "check", "migrate", "prune --days 1")


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return ForkedHome(tmp_path, project)


@pytest.fixture
def schema(home):
    """The schema of a journal on PostgreSQL, which the person's settings name."""
    name = new_schema()
    home.environment |= {"BRIDLE_JOURNAL__URL": server_url(), "BRIDLE_JOURNAL__SCHEMA": name}
    return name


def file_of(home):
    return home.folder / ".local/share/bridle/journal.db"


def database(home, words, **environment):
    return home.run("database", *words.split(), **environment)


def told(home, words, status=0, **environment):
    done = database(home, words, **environment)
    assert done.returncode == status, (done.stdout, done.stderr)
    return done.stdout if status == 0 else done.stdout + done.stderr


def test_a_file_is_created_once_and_checked(home):
    path = file_of(home)
    assert "there is no journal yet: create it with `bridle database init`" in told(home, "check", 1)
    assert "there is no journal here" in told(home, "migrate", 2)
    assert not path.exists()
    assert told(home, "init") == f"{path}: created\n"
    assert told(home, "init") == f"{path}: is there already\n"
    assert told(home, "migrate") == f"{path}: schema 3 is up to date\n"
    lines = told(home, "check").splitlines()
    assert [line[0] for line in lines[:-1]] == ["✓"] * 4
    assert lines[-1] == "0 sessions, 0 entries with 0 bytes, 0 open inbox items, 0 live workers"
    path.chmod(0o644)
    assert f"! {path}: other users may read it: chmod 600 {path}" in told(home, "check")
    assert "--role needs a journal on PostgreSQL" in told(home, "init --role x", 2)


def test_a_file_of_an_older_release_is_checked_as_it_is_and_then_migrated(home):
    path = file_of(home)
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(sqlite_file.migrations()[0].read_text())
        connection.execute(f"PRAGMA application_id = {sqlite_file.APPLICATION_ID}")
        connection.execute("PRAGMA user_version = 1")
    assert "schema 1 of an older release: bring it up to date with `bridle database migrate`" in told(home, "check", 1)
    assert told(home, "migrate") == f"{path}: schema 1 → 3\n"
    told(home, "check --deep")


def test_a_damaged_file_is_not_sound(home):
    path = file_of(home)
    fill(str(path))
    raw = bytearray(path.read_bytes())
    raw[2048:6144] = os.urandom(4096)
    path.write_bytes(raw)
    assert re.search("✗ .*damaged.*restore it", told(home, "check", 1))
    path.write_bytes(b"no database at all" * 99)
    assert "✗" in told(home, "check", 1)


def test_a_journal_of_a_newer_release_is_refused_by_each_command(home, tmp_path):
    fill(str(file_of(home)))
    with closing(sqlite3.connect(file_of(home))) as connection:
        connection.execute("PRAGMA user_version = 99")
    other = tmp_path / "other.db"
    fill(str(other), 1)
    before = contents(str(file_of(home)))
    for words in (*COMMANDS, f"copy {file_of(home)} {other}", f"copy {other} {file_of(home)}"):
        assert "a newer Bridle (schema 99)" in told(home, words, 1), words
    assert contents(str(file_of(home))) == before


def test_tables_of_a_newer_release_are_refused_by_each_command(home, schema, tmp_path):
    fill(schema)
    told(home, "init")
    other = tmp_path / "other.db"
    fill(str(other), 1)
    commands = (*COMMANDS, f"copy {server_url()} {other}", f"copy {other} {server_url()}")
    executed(f"UPDATE {schema}.version SET number = 99, needs = 99")
    before = contents(schema)
    for words in commands:
        assert "a newer Bridle (schema 99): update Bridle" in told(home, words, 1), words
    executed(f"UPDATE {schema}.version SET needs = 1, queue = '99.0'")
    for words in COMMANDS:
        assert "the queue belongs to a newer Procrastinate (schema 99.0" in told(home, words, 1), words
    assert contents(schema) == before


def test_tables_are_created_once_and_checked(home, schema):
    assert "has no journal: create it with `bridle database init`" in told(home, "check", 1)
    assert "has no journal: create it with `bridle database init`" in told(home, "migrate", 1)
    assert executed("SELECT count(*) FROM pg_namespace WHERE nspname = %s", schema) == [(0,)]
    newest = queue_scripts()[1][-1].stem
    assert told(home, "init") == f"journal: created (schema {NEWEST})\nqueue: created (schema {newest})\n"
    assert told(home, "init") == f"journal: schema {NEWEST} is up to date\nqueue: schema {newest} is up to date\n"
    fill(schema)
    lines = told(home, "check --deep").splitlines()
    assert [line[0] for line in lines[:-1]] == ["✓"] * 8, lines
    assert "notifications arrive through journal.url" in "".join(lines)
    assert re.fullmatch(r"3 sessions, 9 entries with \d+ bytes, 3 open inbox items, 0 live workers", lines[-1])
    health = json.loads(told(home, "check --format json"))
    assert health["sound"] and health["numbers"]["entries"] == 9
    assert {finding["level"] for finding in health["findings"]} == {"good"}
    assert "--format" in told(home, "check --format xml", 2)


def test_tables_of_the_queue_of_an_older_release_are_migrated(home, schema):
    told(home, "init")
    older, newest = queue_scripts()[1][-2:]
    executed(f"UPDATE {schema}.version SET queue = %s", older.stem)
    executed(f"DROP FUNCTION {schema}_queue.procrastinate_trigger_function_status_events_update_v1 CASCADE")
    assert f"✗ queue: schema {older.stem} of an older release: run `bridle database migrate`" in told(home, "check", 1)
    lines = told(home, "migrate").splitlines()
    assert lines[:2] == [f"journal: schema {NEWEST} is up to date", f"queue: schema {older.stem} → {newest.stem}"]
    made = "SELECT count(*) FROM pg_proc WHERE pronamespace = %s::regnamespace AND proname = %s"
    name = "procrastinate_trigger_function_status_events_update_v1"
    assert executed(made, f"{schema}_queue", name) == [(1,)]
    told(home, "check")
    assert told(home, "migrate").splitlines()[1] == f"queue: schema {newest.stem} is up to date"


@pytest.fixture
def role():
    """A role that owns nothing."""
    name = f"only_data_{os.getpid()}"
    executed(f"CREATE ROLE {name} LOGIN")
    yield name
    executed(f"DROP OWNED BY {name}")
    executed(f"DROP ROLE {name}")


def address_of(role):
    return psycopg.conninfo.make_conninfo("", **{**conninfo_to_dict(server_url()), "user": role})


def url_of(role):
    return re.sub("//[^@]*@", f"//{role}:@", server_url())


def test_a_role_with_the_grants_alone_runs_turns_and_drops_nothing(home, schema, role):
    mine = {"BRIDLE_JOURNAL__URL": url_of(role)}
    refused = told(home, "init", 1, **mine)
    assert "the role of this connection lacks a right" in refused and "bridle database init --role" in refused
    assert "there is no role 'nobody_here': create it" in told(home, "init --role nobody_here", 2)
    assert f'TO "{role}";' in told(home, f"init --print --role {role}")
    assert "lacks a right" in told(home, "check", 1, **mine)
    shown = told(home, f"init --role {role}")
    assert f'GRANT SELECT, INSERT, DELETE ON "{schema}"."entry" TO "{role}";' in shown.splitlines()
    assert told(home, f"init --role {role}") == shown
    assert f"✓ the role {role} may read and write" in told(home, "check --deep", **mine)

    run = home.run("run", "--model", home.script("done"), "go", **mine)
    assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    (session,) = [line.split()[0] for line in home.run("sessions", **mine).stdout.splitlines()]
    assert home.run("sessions", "delete", session, "--yes", **mine).returncode == 0
    told(home, "prune", **mine)
    fill(str(file_of(home)))
    assert told(home, f"copy {file_of(home)} {url_of(role)}").startswith("copied: 3 sessions\n")
    assert contents(schema) == contents(str(file_of(home)))

    for query in (
        "DROP TABLE {}.entry",
        "TRUNCATE {}.entry",
        "UPDATE {}.version SET needs = 9",
        "DROP SCHEMA {} CASCADE",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            executed(query.format(schema), url=address_of(role))
    executed(f"REVOKE INSERT ON {schema}.inbox FROM {role}")
    faults = told(home, "check", 1, **mine)
    assert (
        f"✗ the role {role} lacks rights ({schema}.inbox: INSERT): run `bridle database init --role {role}`" in faults
    )


def test_a_worker_runs_under_a_role_with_the_grants_alone(home, schema, role):
    told(home, f"init --role {role}")
    home.environment |= {"BRIDLE_JOURNAL__URL": url_of(role), "BRIDLE_WORKERS__DRIVE": "true"}
    home.environment["BRIDLE_WORKERS__PLACE"] = "here"
    worker = home.start("worker")
    try:
        assert worker.stderr.readline().startswith("bridle worker: takes"), worker.communicate()
        run = home.run("run", "--model", home.script("done"), "go")
        assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
        worker.send_signal(signal.SIGTERM)
        _, words = worker.communicate(timeout=60)
        assert worker.returncode == 0 and words.endswith("bridle worker: stopped\n"), words
    finally:
        worker.kill()
        worker.communicate()


def test_a_read_only_server_an_unreachable_one_and_a_wrong_listen_url_are_told(home, schema):
    told(home, "init")
    joint = "&" if "?" in server_url() else "?"
    read_only = f"{server_url()}{joint}options=-cdefault_transaction_read_only%3Don"
    assert "✗ the server is read-only" in told(home, "check", 1, BRIDLE_JOURNAL__URL=read_only)
    nowhere = "postgresql://ann:secret@127.0.0.1:1/none"
    for words, environment in (
        ("journal.listen_url cannot be reached", {"BRIDLE_JOURNAL__LISTEN_URL": nowhere}),
        ("✗ postgresql://127.0.0.1/none: ", {"BRIDLE_JOURNAL__URL": nowhere}),
        ("journal.url is not a PostgreSQL address", {"BRIDLE_JOURNAL__URL": "postgresql://ann:sec ret@h/d"}),
    ):
        done = database(home, "check", **environment)
        assert done.returncode in (1, 2) and words in done.stdout + done.stderr, done
        assert "sec" not in (done.stdout + done.stderr).replace("seconds", ""), done


def test_a_pool_that_keeps_notifications_back_is_told(home, schema):
    told(home, "init")
    with silent_pool(server_url()) as pooled:
        assert told(home, "check").count("✓ notifications arrive through journal.url") == 1
        shown = told(home, "check", BRIDLE_JOURNAL__URL=pooled)
        assert "! no notification arrives through journal.url" in shown and "set journal.listen_url" in shown
        direct = {"BRIDLE_JOURNAL__URL": pooled, "BRIDLE_JOURNAL__LISTEN_URL": server_url()}
        assert "✓ notifications arrive through journal.listen_url" in told(home, "check", **direct)


def test_a_turn_whose_process_died_is_copied_and_continued_on_the_server(home, tmp_path):
    slow = {"calls": [{"name": "bash", "arguments": {"command": "touch begun; sleep 600", "description": "d"}}]}
    process = home.start("run", "--on-ask", "allow", "--model", home.script(slow, "done"), "go", process_group=0)
    while not (home.project / "begun").exists():
        assert process.poll() is None, process.communicate()
    schema, path = new_schema(), file_of(home)
    refused = told(home, f"copy {path} {server_url()} --target-schema {schema}", 1)
    assert "is being driven now: wait until the turn ends" in refused
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = told(home, f"copy {path} {server_url()} --target-schema {schema}")
    assert re.match(r"copied: 1 session\ncompared: \d+ entries with \d+ bytes, 1 inbox item, 1 account, 0 ", done), done
    assert done.endswith("all are the same\n")
    assert contents(schema) == contents(str(path))
    again = told(home, f"copy {path} {server_url()} --target-schema {schema}")
    assert again.startswith("copied: 0 sessions, 1 were there already\n")
    there = {"BRIDLE_JOURNAL__URL": server_url(), "BRIDLE_JOURNAL__SCHEMA": schema}
    told(home, "check --deep", **there)
    session = home.run("sessions", **there).stdout.split()[0]
    resumed = home.run("resume", session, **there)
    assert (resumed.returncode, resumed.stdout) == (0, "done\n"), resumed.stderr
    told(home, "check --deep", **there)
    back = tmp_path / "back.db"
    told(home, f"copy {server_url()} {back} --source-schema {schema}")
    assert contents(str(back)) == contents(schema)
    assert "is different there; nothing was copied" in told(home, f"copy {path} {back}", 1)


def test_sessions_are_pruned_by_age_and_so_are_dead_workers_and_finished_jobs(home, schema):
    told(home, "init")
    assert told(home, "prune") == "deleted: 0 sessions, 0 dead workers, 0 finished jobs\n"
    ran = home.run("run", "--model", home.script("done"), "go")
    assert ran.returncode == 0, ran.stderr
    (session,) = [line.split()[0] for line in home.run("sessions").stdout.splitlines()]
    executed(f"UPDATE {schema}.session SET updated = updated - 40 * 86400")
    executed(f"INSERT INTO {schema}.worker (until) VALUES (now() - interval '2 hours'), (now() + interval '1 hour')")
    executed(f"INSERT INTO {schema}_queue.procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 hour')")
    jobs = f"""
        SET search_path TO {schema}_queue;
        INSERT INTO procrastinate_jobs (queue_name, task_name, status)
        VALUES ('q', 't', 'succeeded'), ('q', 't', 'failed'), ('q', 't', 'todo')
    """
    executed(jobs)
    assert "! 1 row of dead workers: remove" in told(home, "check")
    wanted = "1 session, 2 dead workers, 2 finished jobs\n"
    assert told(home, "prune --days 30 --dry-run") == f"would be deleted: {session}\nwould be deleted: {wanted}"
    assert told(home, "prune --days 30") == f"deleted: {wanted}"
    assert contents(schema)["session"] == []
    assert executed(f"SELECT count(*) FROM {schema}.worker") == [(1,)]
    assert executed(f"SELECT status::text FROM {schema}_queue.procrastinate_jobs") == [("todo",)]


def test_sessions_in_a_file_are_pruned_by_age_and_size(home):
    told(home, "init")
    assert "no age or size is set: give --days or --mb" in told(home, "prune", 2)
    for text in ("one", "two"):
        assert home.run("run", "--model", home.script("done"), text).returncode == 0
    newest, oldest = (line.split()[0] for line in home.run("sessions").stdout.splitlines())
    shown = told(home, "prune --mb 0.000001 --dry-run").splitlines()
    assert shown[0] == f"would be deleted: {oldest}"
    assert told(home, "prune --mb 0.000001") == "deleted: 1 session, 0 dead workers, 0 finished jobs\n"
    assert [line.split()[0] for line in home.run("sessions").stdout.splitlines()] == [newest]


def test_a_file_needs_no_driver_of_postgres(home):
    program = (
        "import sys\n"
        "for name in ('psycopg', 'psycopg_pool', 'procrastinate'): sys.modules[name] = None\n"
        "from bridle.surfaces.cli.main import main\nmain()"
    )
    other = home.folder / "other.db"
    for words in ("init", "check --deep", "migrate", f"copy {file_of(home)} {other}", "prune --days 1"):
        done = home.started(sys.executable, "-c", program, "database", *words.split())
        assert done.returncode == 0, done.stderr


def test_a_copy_shows_how_far_it_is_on_a_terminal(home, tmp_path):
    """On standard error, so that the result can be piped."""
    fill(str(file_of(home)))
    words = ["database", "copy", str(file_of(home)), str(tmp_path / "other.db")]
    leader, follower = os.openpty()
    try:
        environment = {**home.environment, "TERM": "xterm-256color", "COLUMNS": "100"}
        bridle = [sys.executable, "-c", "from bridle.surfaces.cli.main import main; main()", *words]
        done = subprocess.run(bridle, env=environment, stderr=follower, stdout=subprocess.PIPE, cwd=home.project)
        shown = os.read(leader, 1 << 16).decode()
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 0 and b"copied: 3 sessions" in done.stdout
    assert "sessions copied and compared" in shown
