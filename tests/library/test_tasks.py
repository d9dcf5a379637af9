"""Common tasks as programs of Bridle and of pydantic-ai: they run, and Bridle's are no longer."""

import json
import os
import subprocess
import sys

import pytest
from support import library_tasks
from support.library_tasks import PAGE, SAME, count, tasks
from support.paths import ROOT
from support.run_programs import run_program

PEERS = [task.peer for task in tasks() if task.peer]


@pytest.mark.parametrize("program", [task.bridle for task in tasks()], ids=lambda path: path.stem)
def test_every_program_of_bridle_does_its_task(program, tmp_path):
    run_program(program, tmp_path)
    assert "assert " in program.read_text()


def test_every_program_of_pydantic_ai_does_its_task():
    command = [sys.executable, "-m", "support.run_programs", *PEERS]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {}
    assert [path.name for path in PEERS if "assert " not in path.read_text()] == []


@pytest.mark.parametrize("task", [task for task in tasks() if task.peer], ids=lambda task: task.name)
def test_a_program_of_bridle_is_no_longer_than_its_counterpart(task):
    assert count(task.bridle) <= count(task.peer)


def test_the_page_is_current_and_every_row_says_what_differs():
    assert PAGE.read_text() == library_tasks.page()
    assert {task.name for task in tasks()} == library_tasks.NOTES.keys()
    assert [task.name for task in tasks() if not task.peer and library_tasks.NOTES[task.name] == SAME] == []


def test_a_count_leaves_out_blanks_comments_the_first_docstring_and_the_scripted_model(tmp_path):
    program = tmp_path / "p.py"
    head = '"""Doc\nstring."""\n\nimport os\nfrom scripted import (\n    call,\n)\n'
    program.write_text(head + '\n\n# why\ndef f():\n    """Doc."""\n')
    assert count(program) == 3
