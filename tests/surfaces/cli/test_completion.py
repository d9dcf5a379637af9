"""Completion in a shell, as Typer's script asks for it: commands, options and values."""

import json
import sys

import pytest
from support.cli_home import BRIDLE, ForkedHome, settings


@pytest.fixture
def home(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return ForkedHome(tmp_path, project)


def asked(line, **more):
    """The variables with which bash asks what follows a line."""
    words = line.split(" ")
    return {"_BRIDLE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), **more}


def completed(home, line):
    done = home.run(**asked(line))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_commands_and_options_are_completed(home):
    assert completed(home, "bridle se") == ["sessions", "serve"]
    assert completed(home, "bridle sessions re") == ["rename"]
    assert completed(home, "bridle run --max-s") == ["--max-seconds"]
    assert completed(home, "bridle run --format ") == ["text", "json"]
    assert completed(home, "bridle answer ses_1 al") == ["always"]


def test_sessions_are_completed_of_this_directory_or_else_of_all(home):
    model, there = home.script({"text": "Done."}), home.project.parent / "there"
    there.mkdir()
    first, second = (home.json("--model", model, "go")[1][0]["session"] for _ in range(2))
    third = home.json("--model", model, "--dir", there, "go")[1][0]["session"]
    for line in ("show ", "-s ", "run --session ", "resume ses_", "sessions delete ", f"answer {first[:6]}"):
        assert completed(home, f"bridle {line}") == [second, first], line
    assert completed(home, f"bridle show {third}") == [third]
    assert completed(home, "bridle show ses_none") == []


def test_agents_models_providers_and_servers_are_completed(home):
    settings(home, '[providers.ours]\nwire = "chat"\nbase_url = "http://127.0.0.1:9/v1"\n[models."ours/good"]\n')
    (home.project / "opencode.json").write_text(json.dumps({"agent": {"scout": {"description": "Looks."}}}))
    assert home.run("trust").returncode == 0
    assert completed(home, "bridle run --agent sc") == ["scout"]
    assert completed(home, "bridle --agent pl") == ["plan"]
    assert completed(home, "bridle -m ours") == ["ours/good"]
    assert completed(home, "bridle auth login anth") == ["anthropic"]
    home.run("mcp", "add", "docs", "--", "true")
    assert completed(home, "bridle mcp approve d") == ["docs"]


def test_a_broken_configuration_completes_nothing_and_says_nothing(home):
    settings(home, "modle = 1\n")
    for line in ("show ", "run --agent ", "-m ", "mcp approve "):
        assert completed(home, f"bridle {line}") == []


def test_the_names_of_commands_need_no_runtime(home):
    done = home.started(sys.executable, "-X", "importtime", BRIDLE, **asked("bridle se"))
    assert done.stdout.split() == ["sessions", "serve"]
    assert "bridle.surfaces.cli.index" in done.stderr and "bridle.runtime" not in done.stderr
