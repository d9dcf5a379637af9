"""The examples that `test_documents` cannot run as plain programs: web services, a notebook, and forked workers."""

import ast
import asyncio
import importlib
import inspect
import json
import os
import subprocess
import sys
import types

import pytest
from support.paths import ROOT

WEB = ROOT / "examples" / "web"


@pytest.fixture
def example(monkeypatch, tmp_path):
    """Imports a module of the web examples afresh, with its journal in a folder of its own."""

    def load(name):
        monkeypatch.setenv("JOURNAL", str(tmp_path / "journal.db"))
        monkeypatch.syspath_prepend(WEB)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return importlib.import_module(name)

    return load


def test_the_fastapi_service_streams_asks_and_takes_the_first_answer(example):
    from starlette.testclient import TestClient

    def sent(answer):
        return [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line]

    with TestClient(example("fastapi_service").app) as client:
        events = sent(client.post("/chat", json={"prompt": "Pay Ann 500."}))
        assert (events[-1]["type"], events[-1]["reason"]) == ("result", "paused")
        (ask,) = [event for event in events if event["type"] == "ask"]
        place = f"/sessions/{ask['session']}/asks/{ask['id']}"
        first = client.post(place, json={"answer": "once"})
        assert first.json() == {"reason": "answered", "text": "It is paid, thank you.", "asks": []}
        assert client.post(place, json={"answer": "once"}).status_code == 409
        (refused,) = sent(client.post("/chat", json={"prompt": "Pay.", "session": "nowhere"}))
        assert (refused["type"], refused["message"]) == ("error", "there is no session nowhere")


def test_the_django_view_continues_a_session(example):
    import django.conf
    from django.test import Client
    from django.utils.functional import empty

    django.conf.settings._wrapped = empty
    example("django_view")
    django.setup()
    client = Client(SERVER_NAME="localhost")
    first = client.post("/ask", {"prompt": "Hi"}).json()
    second = client.post("/ask", {"prompt": "Thanks", "session": first["session"]}).json()
    assert (first["answer"], second["answer"]) == ("Hello! How can I help?", "You are welcome.")
    django.conf.settings._wrapped = empty


def test_every_cell_of_the_notebook_runs_in_a_running_event_loop(capsys):
    cells = json.loads((ROOT / "examples" / "notebook.ipynb").read_text())["cells"]
    names = {}

    async def work():
        for cell in cells:
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                value = types.FunctionType(code, names)()
                if inspect.isawaitable(value):
                    await value

    asyncio.run(work())
    assert capsys.readouterr().out == "It rains in Bergen."
    assert names["again"].output == "As I said: it rains."


FORKS = """
import os, sys
from bridle import Agent, Reply, ScriptedModel

journal = sys.argv[1] if len(sys.argv) > 1 else None
agent = Agent(model=ScriptedModel([Reply(text="hi", delay=0.05)]), journal=journal)
assert agent.run_sync("before").output == "hi"
workers = []
for _ in range(3):
    worker = os.fork()
    if not worker:
        texts = [agent.run_sync(f"{number}").output for number in range(3)]
        os._exit(texts != ["hi"] * 3)
    workers.append(worker)
assert [os.waitpid(worker, 0)[1] for worker in workers] == [0, 0, 0]
assert agent.run_sync("after").output == "hi"
"""


@pytest.mark.parametrize("journal", [None, "journal.db"])
def test_an_agent_made_and_used_before_a_fork_works_in_every_worker(journal, tmp_path):
    arguments = [tmp_path / journal] if journal else []
    # From Python 3.12 on, a fork beside a thread is a warning, and the background loop has a thread.
    command = [sys.executable, "-W", "ignore", "-c", FORKS, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)
    assert (done.returncode, done.stderr) == (0, "")
