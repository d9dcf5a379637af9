"""What the documents show is run, and what they say of files is there."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.cli_home import ForkedHome
from support.paths import ROOT

from bridle.config.agents import all_agents, rules
from bridle.config.load import load
from bridle.config.settings import STEP_SPELLINGS, Settings
from bridle.core.permission import Access, judge
from bridle.testing.scripted import Scenario, read_scenario
from bridle.wire.events import LineEvent, json_schema

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "evidence").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


EXAMPLES = [(page, code) for page in PAGES for code in blocks(page, "python")]


@pytest.mark.parametrize(("page", "code"), EXAMPLES, ids=[f"{page.stem} {n}" for n, (page, _) in enumerate(EXAMPLES)])
def test_every_python_example_runs(page, code, tmp_path):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    if done.stdout:
        assert done.stdout in blocks(page, "text")


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_every_example_program_runs_and_prints_what_the_documents_show(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(("answered", "synthesized"))
    shown = [block for page in PAGES for block in blocks(page, "text")]
    assert path.stem != "synthesis" or done.stdout in shown


def test_the_settings_of_the_first_run_are_valid(tmp_path):
    (code,) = blocks(ROOT / "docs" / "first-run.md", "toml")
    (tmp_path / "bridle.toml").write_text(code)
    loaded = load(tmp_path, environment={"XDG_CONFIG_HOME": str(tmp_path / "none")}, trusted=True)
    assert (loaded.settings.limits.cost, loaded.notices) == (1.0, ())


def test_every_settings_example_is_valid(tmp_path):
    (code,) = blocks(ROOT / "docs" / "settings.md", "toml")
    assert tomllib.loads(code)
    (tmp_path / "bridle.toml").write_text(code)
    loaded = load(tmp_path, environment={"XDG_CONFIG_HOME": str(tmp_path / "none")}, trusted=True)
    assert (loaded.settings.agents["reviewer"].steps, loaded.notices) == (8, ())


LIMITS = ROOT / "docs" / "limits.md"


def test_every_spelling_of_the_step_limit_is_documented():
    said = LIMITS.read_text(encoding="utf-8")
    assert [spelling for spelling in STEP_SPELLINGS if f"`{spelling}`" not in said] == []


@pytest.mark.parametrize("number", range(len(blocks(LIMITS, "toml"))))
def test_every_limit_that_the_page_shows_can_be_set(number, tmp_path):
    (tmp_path / "home" / ".config" / "bridle").mkdir(parents=True)
    (tmp_path / "home" / ".config" / "bridle" / "config.toml").write_text(blocks(LIMITS, "toml")[number])
    loaded = load(tmp_path, environment={"HOME": str(tmp_path / "home")})
    assert (loaded.settings != Settings(), loaded.notices) == (True, ())


@pytest.mark.parametrize("page", [LIMITS, ROOT / "docs" / "agents.md"], ids=["limits", "agents"])
def test_every_definition_that_a_page_shows_is_one(page, tmp_path):
    head, *_ = blocks(page, "md")
    (tmp_path / ".bridle" / "agents").mkdir(parents=True)
    (tmp_path / ".bridle" / "agents" / "reviewer.md").write_text(head)
    loaded = load(tmp_path, environment={"HOME": str(tmp_path)}, trusted=True)
    reviewer = all_agents(loaded.settings, loaded.origins)["reviewer"]
    assert (reviewer.steps, loaded.notices) == (8, ())
    assert judge(rules({}, reviewer, sandboxed=True), Access("edit", "a.py")) == "deny"


def commands_of(page):
    lines = "\n".join(blocks(page, "sh")).splitlines()
    return [line.partition("  #")[0].strip() for line in lines if re.match(r"(git diff \| )?bridle ", line)]


@pytest.fixture
def user(tmp_path):
    """A person with a project, whose model answers at once; and a session of theirs."""
    project = tmp_path / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", project], check=True)
    (tmp_path / "script.json").write_text('{"replies": [], "then": "Done.", "price": {"input": 1, "output": 1}}')
    environment = {
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "BRIDLE_MODEL": f"scripted:{tmp_path}/script.json",
        "BRIDLE_SANDBOX__MODE": "off",
    }

    def run(line):
        return subprocess.run(
            ["bash", "-c", line],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            input="key\n",
        )

    home = ForkedHome(tmp_path, project)
    begun = home.run("run", "--format", "json", "hi", BRIDLE_MODEL=environment["BRIDLE_MODEL"])
    run.session = re.search(r'"session":"(ses_\w+)"', begun.stdout)[1]
    return run


@pytest.mark.parametrize("line", commands_of(LIMITS))
def test_every_command_on_the_page_of_limits_runs(line, user):
    done = user(line)
    assert (done.returncode, "Done." in done.stdout or "bridle run" not in line) == (
        3 if "--steps 1" in line else 0,
        True,
    )


BEGINNINGS = (
    "README.md",
    "docs/index.md",
    "docs/first-run.md",
    "docs/moving-from-opencode.md",
    "docs/moving-from-claude-code.md",
)
LINES = dict.fromkeys(line for page in BEGINNINGS for line in commands_of(ROOT / page))


@pytest.mark.parametrize("line", LINES)
def test_every_command_of_the_pages_that_people_begin_with_runs(line, user):
    done = user(line.replace("SESSION", user.session).replace("ASK", "1.1.1.0.bash"))
    assert "Traceback" not in done.stderr and "should not have happened" not in done.stderr
    # Nothing is left to resume, to extend, to answer or to take in here, and a key cannot be tried.
    expected = {"resume": (2,), "import": (2,), "extend": (0, 1, 2), "answer": (0, 1, 2), "auth": (0, 1, 2)}
    # Alone it wants a terminal; see test_tui_terminal.py.
    expected |= {"": (2,)}
    command = line.rpartition("bridle")[2].split()[:1] or [""]
    assert done.returncode in expected.get(command[0], (0,)), done.stderr


def test_every_scenario_is_valid(tmp_path):
    (code,) = blocks(ROOT / "docs" / "testing.md", "yaml")
    (tmp_path / "scenario.yaml").write_text(code)
    assert isinstance(read_scenario(tmp_path / "scenario.yaml"), Scenario)
    for path in (ROOT / "examples").glob("*.yaml"):
        assert yaml.safe_load(path.read_text())
        assert read_scenario(path).replies


def test_links_and_tests_that_the_documents_name_are_there():
    others = ("ARCHITECTURE", "AGENTS", "CHANGELOG", "CONTRIBUTING", "GLOSSARY", "SECURITY")
    for page in [*PAGES, *(ROOT / f"{name}.md" for name in others)]:
        prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    named = re.findall(r"`tests/((?:\w+/)*\w+\.py)`", (ROOT / "ARCHITECTURE.md").read_text())
    assert named
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


def test_every_promise_names_tests_that_are_there():
    page = (ROOT / "docs" / "evidence" / "guarantees.md").read_text()
    promises = [each for each in page.split("\n\n") if each.startswith("**")]
    assert len(promises) >= 25
    for promise in promises:
        named = re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", promise)
        assert named, promise
        assert [name for path, name in named if f"def {name}(" not in (ROOT / "tests" / path).read_text()] == []


@pytest.mark.parametrize(("page", "fewest"), [("security-fixes", 25), ("server", 55)])
def test_every_security_fix_and_every_promise_of_the_server_names_tests_that_are_there(page, fewest):
    text = (ROOT / "docs" / "evidence" / f"{page}.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and ".py::" in line]
    assert len(rows) >= fewest
    for row in rows:
        named = re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", row)
        assert len(named) == row.count(".py::"), row
        assert [name for path, name in named if f"def {name}(" not in (ROOT / "tests" / path).read_text()] == []


def test_the_demo_runs_a_turn_in_this_repository(tmp_path):
    bridle = Path(sys.executable).parent / "bridle"
    command = [bridle, "run", "--model", "scripted:examples/tour.yaml", "What is in this repository?"]
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, input="")
    assert done.returncode == 0, done.stderr
    assert "This is Bridle, an agent runtime in Python" in done.stdout
    assert "answered: 3 steps, 4 calls" in done.stderr


def test_the_schema_of_json_lines_is_the_one_that_is_printed():
    kept = json.loads((ROOT / "docs" / "json-lines.schema.json").read_text(encoding="utf-8"))
    assert kept == json_schema(LineEvent)
