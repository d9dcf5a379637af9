"""The library under type checkers: mistakes are found where they are, and correct programs pass."""

import inspect
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from support.paths import ROOT

from bridle import Agent
from bridle.library.agent_arguments import AgentArguments

FOLDERS = ("tests/data/typing", "examples", "examples/web", "examples/tasks/with_bridle")
PROGRAMS = sorted(path for each in FOLDERS for path in (ROOT / each).glob("*.py"))
MARK = "  # wrong: "
MYPY = [sys.executable, "-m", "mypy", "--strict", "--output", "json", *PROGRAMS]
PYRIGHT = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *PROGRAMS]


def expected(column):
    """The marked lines of all programs, with the rules that one of the checkers names."""
    found = {}
    for path in PROGRAMS:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if MARK in line:
                rules = line.partition(MARK)[2].split(" | ")[column]
                found[path.name, number] = set(rules.split(", "))
    return found


@pytest.fixture(scope="module")
def reports():
    """What both checkers report, run side by side."""
    started = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) for words in (MYPY, PYRIGHT)]
    mypy, pyright = (process.communicate(timeout=300)[0] for process in started)
    lines = [json.loads(line) for line in mypy.splitlines()]
    wrong = [(each["file"], each["line"], each["code"]) for each in lines if each["severity"] == "error"]
    others = json.loads(pyright)["generalDiagnostics"]
    return wrong, [(each["file"], each["range"]["start"]["line"] + 1, each.get("rule")) for each in others]


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 1], ids=["mypy", "pyright"])
def test_every_mistake_is_reported_at_its_line_and_nothing_else_is(reports, column):
    found = defaultdict(set)
    for path, line, rule in reports[column]:
        found[Path(path).name, line].add(rule)
    assert found == expected(column)


def test_there_are_many_mistakes_and_examples():
    names = [path.name for path in PROGRAMS]
    assert len(expected(0)) >= 40
    assert {"mistakes.py", "right_uses.py", "subagents.py"} <= set(names) and len(names) == len(set(names))


def test_type_checkers_see_every_argument_of_an_agent():
    parameters = inspect.signature(Agent.__init__).parameters
    apart = {"self", "name", "output", "check", "prompt"}
    assert parameters.keys() - apart == AgentArguments.__annotations__.keys()
