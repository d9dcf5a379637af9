"""The additions that CONTRIBUTING.md shows, made in a copy of the code: they fit, work, and are counted in files."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
CALL = {"name": "write", "arguments": {"filePath": "a", "content": "x"}}
OUTLINE = """
import asyncio
from bridle import Agent, ScriptedModel
from bridle.surfaces.outline.text import outline

async def main():
    agent = Agent(model=ScriptedModel(["Hello."]))
    async with agent.runtime() as runtime:
        session = await runtime.create()
        await runtime.wait(session, await runtime.prompt(session, "Hi", options=agent.turn_options))
        print(await outline(runtime, session))

asyncio.run(main())
"""
SCRIPT = json.dumps({"replies": [{"calls": [CALL]}], "then": "Closed."})


def section(title):
    return PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def new_files(text):
    """Blocks below a line that begins with the path of a new file."""
    return re.findall(r"^`(src/\S+)`[^\n]*:\n\n```\w+\n(.*?)```", text, re.M | re.S)


def changes(text):
    """The changed lines of all diffs, by path: pairs of old and new lines, in the order of the file."""
    found = {}
    for block in re.findall(r"^( *```diff\n.*?)^ *```$", text, re.M | re.S):
        path, kept = "", []
        for line in textwrap.dedent(block).splitlines()[1:]:
            label = re.match(r" # (\w[\w/.]+/[\w.]+)", line)
            if label or line.strip() == "…":
                kept = []
                path = label[1] if label else path
                found.setdefault(path, []).append(kept)
            else:
                kept.append(line)
    return {path: [halves(kept) for kept in pieces] for path, pieces in found.items()}


def halves(lines):
    lines = "\n".join(lines).strip("\n").splitlines()
    old = [line[1:] for line in lines if line[:1] != "+"]
    return "\n".join(old), "\n".join(line[1:] for line in lines if line[:1] != "-")


def changed(text, pieces):
    """The text with every piece replaced, each below the one before it."""
    at = 0
    for old, new in pieces:
        at = text.index(f"{old}\n", at)
        text = text[:at] + new + text[at + len(old) :]
        at += len(new)
    return text


@pytest.fixture
def copy(tmp_path):
    """A copy of the code, in which an addition is made; a function that runs Python there."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__", "evidence"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)

    def add(title):
        text = section(title)
        made = new_files(text)
        for path, content in made:
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_text(content)
        edited = changes(text)
        for path, pieces in edited.items():
            place = tmp_path / path
            place.write_text(changed(place.read_text(), pieces))
        return [path for path, _ in made], list(edited)

    def python(*words):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "HOME": f"{tmp_path}-home"}
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    add.python = python
    return add


def test_a_tool_is_two_files_and_a_word_in_the_registry(copy, tmp_path):
    made, edited = copy("A tool")
    assert made == ["src/bridle/tools/count.py", "src/bridle/tools/count.md"]
    assert [path for path in edited if path.startswith("src")] == ["src/bridle/tools/registry.py"]
    assert len(edited) == 4
    (test,) = re.findall(r"^```py\n(def test_.*?)```", section("A tool"), re.M | re.S)
    with (tmp_path / "tests/tools/test_builtin.py").open("a") as file:
        file.write(f"\n\n{test}")
    done = copy.python("-m", "pytest", "-n", "0", "tests/tools/test_builtin.py", "-k", "count or spec or described")
    assert done.returncode == 0, done.stdout


def test_a_limit_is_four_files_with_its_tests_and_documentation(copy, tmp_path):
    made, edited = copy("A limit")
    assert (made, edited) == (
        [],
        ["src/bridle/core/limits.py", "src/bridle/core/session.py", "tests/support/limit_rows.py", "docs/limits.md"],
    )
    done = copy.python(
        "-m", "pytest", "-n", "0", "tests/core/test_limits.py", "tests/core/test_replay.py", "-m", "not slow"
    )
    assert done.returncode == 0, done.stdout
    (tmp_path / "script.json").write_text(SCRIPT)
    command = "import sys; from bridle.surfaces.cli.main import main; sys.exit(main())"
    given = f"run --model scripted:{tmp_path}/script.json --on-ask allow --max-files 1 go"
    done = copy.python("-c", command, *given.split())
    assert (done.returncode, "File limit reached" in done.stdout + done.stderr) == (3, True), done


def test_a_surface_is_one_folder_and_changes_no_other_file(copy):
    assert copy("A surface") == (["src/bridle/surfaces/outline/text.py"], [])
    done = copy.python("-c", OUTLINE)
    assert (done.returncode, done.stdout) == (0, "Hello.\n"), done.stderr


@pytest.mark.parametrize("title", ["A wire", "A journal"])
def test_the_changes_that_the_page_shows_fit_the_code(copy, title):
    assert copy(title)[1]


def test_the_table_says_how_many_files_the_examples_have():
    rows = dict(re.findall(r"^\| \[(\w+)\]\(#\S+\) \| ([^|]+) \|", PAGE.read_text(), re.M))
    counted = ("2, and 1 word in the registry", "4, tests and documentation included", "1 folder with 2 modules")
    assert (rows["tool"], rows["limit"], rows["surface"]) == counted
