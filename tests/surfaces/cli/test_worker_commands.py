"""`bridle worker` and `bridle workers` as commands: real processes on one journal on PostgreSQL."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress

import pytest
from support.cli_home import BRIDLE, Home
from support.postgres import new_schema, server_url

from bridle import PartDelta, Runtime, RuntimeConfig, Settings, WorkerSettings
from bridle.core.events import PartGrown
from bridle.core.parts import Text
from bridle.errors import ConfigError
from bridle.journal.postgres import PostgresJournal

SHOP = """
from dataclasses import dataclass
from bridle import Agent, Context, ScriptedModel, call

@dataclass
class Price:
    euros: int

def prices(metadata):
    return {"tea": metadata["tea"]}

async def price_of(context: Context[dict], name: str) -> int:
    "Return a price."
    return context.deps[name]

def agent(**given):
    return Agent("shop", app="shop", model=ScriptedModel([call("price_of", name="tea"), '{"euros": 4}']),
                 tools=[price_of], output=Price, deps_type=dict, **given)

shop = agent(deps=prices)
unnamed = Agent(model=ScriptedModel([]))
"""


@pytest.fixture
def home(tmp_path):
    """A person whose turns are driven by workers."""
    project = tmp_path / "project"
    project.mkdir()
    made = Home(tmp_path, project)
    made.environment |= {
        "BRIDLE_JOURNAL__URL": server_url(),
        "BRIDLE_JOURNAL__SCHEMA": new_schema(),
        "BRIDLE_WORKERS__DRIVE": "true",
        "BRIDLE_WORKERS__PLACE": "here",
    }
    return made


@pytest.fixture
def worker(home):
    """Start workers, and end them with the test."""
    started = []

    def start(*words):
        process = home.start("worker", *words, process_group=0)
        started.append(process)
        while not (line := process.stderr.readline()).startswith("bridle worker: takes"):
            assert line, process.wait()
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def left(process, meanwhile=lambda: None):
    process.send_signal(signal.SIGTERM)
    meanwhile()
    _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    return told


def test_a_prompt_is_driven_by_a_worker_and_handed_over_when_that_is_told_to_stop(home, worker):
    nobody = home.run("workers")
    assert nobody.stdout.splitlines()[-1] == "no live worker"
    command = "echo one >>log; until [ -e go ]; do sleep 0.05; done; echo two >>log"
    slow = {"calls": [{"name": "bash", "arguments": {"command": command, "description": "d"}}]}
    model = home.script(slow, "done")
    run = home.start("run", "--on-ask", "allow", "--model", model, "go")
    begun = run.stderr.readline() + run.stderr.readline()
    assert "no live worker takes this session: start one on the machine here with: bridle worker" in begun
    first = worker()
    while "drives 1" not in home.run("workers").stdout:
        assert run.poll() is None, run.communicate()
        time.sleep(0.05)
    worker()
    told = left(first, meanwhile=(home.project / "go").touch)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out.strip()) == (0, "done"), err
    assert (home.project / "log").read_text() == "one\ntwo\n"
    assert told.splitlines() == ["bridle worker: handing its turns over", "bridle worker: stopped"]


def test_a_session_moves_to_another_machine_with_the_prompt_that_waits_for_a_worker(home, worker):
    run = home.start("run", "--model", home.script("done"), "go")
    told = [run.stderr.readline(), run.stderr.readline()]
    session = told[0].split()[1]
    assert "start one on the machine here with: bridle worker" in told[1], told
    moved = home.run("sessions", "move", session, "--place", "there")
    assert (moved.returncode, moved.stdout) == (0, f"moved: {session} to there\n")
    assert "start one on the machine there with: bridle worker" in moved.stderr
    assert f"{session}  @there  waits" in home.run("workers").stdout
    worker("--place", "there")
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out.strip()) == (0, "done"), err
    assert home.run("sessions", "move", session, "--place", "").returncode == 2


SLOW = {"text": f"one {'two three four five ' * 4}six", "chunk": 2, "pace": 0.08}


def test_a_run_at_a_terminal_streams_what_a_worker_does_as_if_it_did_so_itself(home, worker):
    worker()
    terminal, its_end = os.openpty()
    words = ["run", "--model", home.script(SLOW), "go"]
    run = subprocess.Popen([BRIDLE, *words], cwd=home.project, env=home.environment, stdin=its_end, stdout=its_end)
    os.close(its_end)
    pieces = []
    # Reading ends with an error when the other end is closed.
    with suppress(OSError):
        while piece := os.read(terminal, 10_000):
            pieces.append(piece.decode())
    os.close(terminal)
    assert run.wait(60) == 0
    text = "".join(pieces)
    assert text.count("one") == text.count("six") == 1
    # Text is recorded twice a second, and the rest of it is written at the end.
    assert sum(piece.strip(" \r\n") in SLOW["text"] for piece in pieces) > asyncio.run(recordings(home)) + 1


async def recordings(home):
    """Count how often text was recorded in the only session."""
    journal = PostgresJournal(server_url(), schema=home.environment["BRIDLE_JOURNAL__SCHEMA"])
    (row,) = await journal.sessions()
    events = [event for entry in await journal.load(row.info.id) for event in entry.events]
    await journal.close()
    return sum(isinstance(event, PartGrown) or isinstance(getattr(event, "part", None), Text) for event in events)


def test_a_process_that_looks_on_sees_the_deltas_of_the_one_that_drives(home):
    home.environment["BRIDLE_WORKERS__DRIVE"] = "false"
    long = SLOW | {"text": SLOW["text"] * 50}
    run = home.start("run", "--format", "json", "--model", home.script(long), "go")
    session = json.loads(run.stdout.readline())["session"]

    async def first_delta():
        journal = PostgresJournal(server_url(), schema=home.environment["BRIDLE_JOURNAL__SCHEMA"])
        async with Runtime(RuntimeConfig(journal=journal)) as here:
            async for event in here.follow(session):
                if isinstance(event, PartDelta):
                    break
        await journal.close()
        return event

    assert asyncio.run(asyncio.wait_for(first_delta(), 60)).text in long["text"]
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)


def test_health_and_metrics_are_served_on_loopback(home, worker):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = worker("--listen", str(port))
    assert home.run("run", "--model", home.script("done"), "go").returncode == 0
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
        assert answer.read() == b'{"status":"ok","sessions":0}'
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    assert {"bridle_worker_healthy 1", "bridle_steps_total 1", 'bridle_turns_ended_total{reason="answered"} 1'} <= {
        *lines
    }
    left(process)


def test_an_agent_in_python_is_driven_wherever_its_app_is_offered(home, worker, tmp_path):
    (home.project / "shop.py").write_text(SHOP)
    journal, schema = home.environment["BRIDLE_JOURNAL__URL"], home.environment["BRIDLE_JOURNAL__SCHEMA"]
    settings = Settings(workers=WorkerSettings(drive=True))
    sys.path.insert(0, str(home.project))
    try:
        import shop
    finally:
        sys.path.remove(str(home.project))

    async def story(process):
        kept = PostgresJournal(journal, schema=schema)
        made = shop.agent(deps=shop.prices, journal=kept, settings=settings)
        with pytest.raises(ConfigError, match=r"deps: workers drive its turns.*metadata"):
            await made.run("What is tea?", deps={"tea": 5})
        result = await made.run("What is tea?", metadata={"tea": 4})
        left(process)
        await kept.close()
        return result.output

    assert asyncio.run(story(worker("--app", "shop:shop"))) == shop.Price(4)


def test_an_app_may_import_from_its_folder_and_hides_nothing_that_the_worker_imports(home):
    """A model may work in that folder, and write modules of any name there."""
    (home.project / "shelf.py").write_text("GOODS = ['tea']\n")
    (home.project / "colorsys.py").write_text("raise ImportError('written by a model')\n")
    (home.project / "stall.py").write_text(
        "import atexit\n\n\ndef later():\n    import colorsys, shelf\n"
        "    print(colorsys.ONE_THIRD > 0, shelf.GOODS)\n\n\natexit.register(later)\n"
        "from bridle import Agent, ScriptedModel\nagent = Agent('stall', app='stall', model=ScriptedModel())\n"
    )
    done = home.run("worker", "--app", "stall:agent", BRIDLE_JOURNAL__URL="")
    assert "a worker needs a journal on PostgreSQL" in done.stderr
    assert done.stdout == "True ['tea']\n"


def test_what_cannot_begin_says_why(home):
    (home.project / "shop.py").write_text(SHOP)
    for words, told in {
        ("--app", "shop"): "write it as MODULE:NAME",
        ("--app", "nowhere:agent"): "the module cannot be imported",
        ("--app", "shop:nothing"): "the module shop has no nothing",
        ("--app", "shop:prices"): "is function: name an Agent or a RuntimeConfig",
        ("--app", "shop:unnamed"): "app='NAME'",
        ("--listen", "here"): "write it as PORT or HOST:PORT",
    }.items():
        done = home.run("worker", *words)
        assert done.returncode == 2 and told in done.stderr, done.stderr
    done = home.run("worker", BRIDLE_JOURNAL__URL="")
    assert (done.returncode, done.stdout) == (2, "") and "set journal.url" in done.stderr
    done = home.run("run", "--model", home.script("done"), "go", BRIDLE_JOURNAL__URL="")
    assert done.returncode == 2 and "workers.drive needs a journal on PostgreSQL" in done.stderr
