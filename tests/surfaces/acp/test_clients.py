"""Clients that others wrote use `bridle acp`: acpx 0.19.1 and the Python SDK. Every line fits the protocol's schema."""

import json

import pytest
from support.acp_clients import Acpx, Agent, installed, sdk
from support.cli_home import Home, calls

EDIT = ("edit", {"filePath": "notes.txt", "oldString": "two", "newString": "TWO"})
READ = ("read", {"filePath": "notes.txt"})
TODOS = ("todowrite", {"todos": [{"content": "Test it", "status": "in_progress", "priority": "high"}]})


def bash(command):
    return ("bash", {"command": command, "description": "Run"})


@pytest.fixture(scope="session")
def clients():
    return installed()


@pytest.fixture
def agent(tmp_path):
    """Bridle as an agent in a project whose edits and commands ask; its model plays a script."""
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "notes.txt").write_text("one\ntwo\n")
    home = Home(tmp_path / "home", tmp_path / "project")

    def play(*replies, then=None):
        config = home.folder / ".config" / "bridle" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        model = json.dumps(home.script(*replies, then=then))
        config.write_text(f'model = {model}\n[permission]\nedit = "ask"\nbash = "ask"\n')
        return Agent(home)

    return play


def notes(agent):
    return (agent.home.project / "notes.txt").read_text()


def test_acpx_reads_plans_edits_and_runs_a_command(clients, agent):
    theirs = agent(calls(READ, TODOS), calls(EDIT), calls(bash("touch made.txt")), "All done.")
    told = Acpx(clients, theirs).run("--approve-all --format text", "exec", "plan read edit run")
    assert "All done." in told and "[done] end_turn" in told
    assert notes(theirs) == "one\nTWO\n" and (theirs.home.project / "made.txt").exists()
    assert theirs.check() > 15


def test_acpx_rejects_an_edit(clients, agent):
    theirs = agent(calls(READ), calls(EDIT), "Never.")
    told = Acpx(clients, theirs).run("--deny-all --format json --json-strict", "exec", "edit", status=5)
    lines = [json.loads(line) for line in told.splitlines()]
    assert "session/request_permission" in [line.get("method") for line in lines]
    assert notes(theirs) == "one\ntwo\n"
    assert theirs.check() > 5


def test_a_session_of_acpx_goes_on_with_its_mode_and_is_cancelled_and_resumed_by_another_process(clients, agent):
    theirs = agent("Hello.", calls(bash("sleep 100")), then="Here again.")
    acpx = Acpx(clients, theirs)
    acpx.run("--approve-all --ttl 5", "sessions", "new")
    assert "Hello." in acpx.run("--approve-all", "prompt", "hello")
    acpx.run("", "set-mode", "plan")
    acpx.run("", "set-mode", "build")
    assert theirs.home.run("sessions").stdout.count("ses_") == 1
    assert acpx.run("", "sessions", "list").strip()
    long = acpx.start("--approve-all", "--agent", str(theirs.command), "prompt", "long")
    theirs.until("sleep 100")
    acpx.run("", "cancel")
    out, _ = long.communicate(timeout=120)
    assert "cancelled" in out
    theirs.kill()
    before = theirs.started
    assert "Hello." in acpx.run("--approve-all", "prompt", "again")
    assert theirs.started == before + 1
    assert theirs.check() > 20


def test_acpx_chooses_a_model(clients, agent):
    theirs = agent("Never asked.")
    theirs.home.environment["ANTHROPIC_API_KEY"] = "a key"
    acpx = Acpx(clients, theirs)
    acpx.run("--ttl 1", "sessions", "new")
    model = "anthropic/claude-sonnet-4-5"
    acpx.run("--ttl 1", "set", "model", model)
    assert model in theirs.current("model")
    assert theirs.check() > 3


def test_the_sdk_accepts_every_message_of_a_session(clients, agent):
    theirs = agent(calls(READ, TODOS), calls(EDIT), "All done.")
    told = {first: rest for first, *rest in sdk(clients, theirs, "whole")}
    assert told["initialized"] == ["bridle", 1]
    assert told["asked"] == ["Edit notes.txt", ["allow_once", "allow_always", "reject_once"]]
    assert told["ended"] == ["end_turn", "All done."]
    assert {"agent_message_chunk", "plan", "tool_call", "tool_call_update", "usage_update"} <= set(told["kinds"][0])
    assert {"build", "plan"} <= set(told["modes"][0]) and told["mode"] == ["build"] and told["listed"] == [[True]]
    assert notes(theirs) == "one\nTWO\n"
    assert theirs.check() > 15


def test_the_sdk_is_asked_again_after_the_agent_was_killed_with_an_open_ask(clients, agent):
    theirs = agent(calls(bash("touch made.txt")), "All done.")
    told = sdk(clients, theirs, "killed")
    assert [words[0] for words in told] == ["initialized", "asked", "initialized", "asked", "ended"]
    assert told[-1][1].endswith("All done.") and (theirs.home.project / "made.txt").exists()
    assert theirs.check() > 10


def test_the_sdk_cancels_a_turn_that_waits_for_a_permission(clients, agent):
    theirs = agent(calls(bash("touch made.txt")), "Never.")
    assert sdk(clients, theirs, "cancelled")[-1] == ["ended", "cancelled"]
    assert not (theirs.home.project / "made.txt").exists()
    assert theirs.check() > 5
