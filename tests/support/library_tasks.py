"""Writes docs/evidence/library-tasks.md: common tasks as programs of Bridle and of pydantic-ai, with their lines."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from support.paths import ROOT

TASKS = ROOT / "examples" / "tasks"
PAGE = ROOT / "docs" / "evidence" / "library-tasks.md"
SAME = "the same"

NOTES = {
    "t01_dependencies": SAME,
    "t02_failing_tools": "pydantic-ai ends the run with the exception of a tool, unless a hook catches it.",
    "t02_image": SAME,
    "t02_progress": "pydantic-ai wants a class for the event. In Bridle the model reads it if the call is cut off.",
    "t02_pydantic_arguments": SAME,
    "t03_check": SAME,
    "t03_outputs": SAME,
    "t03_streamed_output": "Partial answers have the type in pydantic-ai, and are JSON data in Bridle.",
    "t04_foreign_history": "pydantic-ai reads no JSON of other libraries; calls and files would take more lines.",
    "t04_sessions": "Bridle stores by itself, while the run goes on. With pydantic-ai the program stores and loads.",
    "t05_sse": "pydantic-ai speaks the protocol of the Vercel AI SDK here; it ships no server-sent events of its own.",
    "t06_approval": "Bridle stores the paused run by itself. With pydantic-ai the program stores and loads it.",
    "t06_later_result": "Bridle stores the paused run by itself. With pydantic-ai the program stores and loads it.",
    "t07_handoff": "pydantic-ai starts a second run in an output function. The result is without its messages.",
    "t07_nested_run": "pydantic-ai counts only what the tool passes on.",
    "t07_subagents": "pydantic-ai checks the budget before each request, so two at once may exceed it.",
    "t08_accounts": "pydantic-ai limits single runs only.",
    "t08_per_run": SAME,
    "t09_hooks": "In Bridle the model reads that its arguments were changed, and the record has both.",
    "t10_mcp": "Bridle runs the server in a sandbox, and a rule allows its tools. In pydantic-ai it has all rights.",
    "t11_fallback": SAME,
    "t11_files": SAME,
    "t11_own_model": SAME,
    "t12_many_at_once": SAME,
    "t12_shutdown": "pydantic-ai has no record of runs.",
    "t13_override": SAME,
    "t14_django": SAME,
    "t14_running_loop": "pydantic-ai raises `RuntimeError` in a running event loop.",
    "t14_threads": SAME,
    "t15_events": SAME,
    "t15_usage_per_model": "pydantic-ai has no usage per model.",
    "t16_abort": "Bridle also aborts from another process.",
    "t16_extend": "pydantic-ai has no way to raise a limit of a run that goes on.",
    "t16_limits": "Bridle's last request has no tools, so the run ends with an answer. pydantic-ai raises.",
    "t17_coding_tools": "pydantic-ai-slim ships no tools for files and commands with permissions.",
}
"""What differs between the two programs of a task."""

HEAD = """\
# Common tasks as programs

Made by `PYTHONPATH=tests:src python -m support.library_tasks`, with pydantic-ai {version}. Each task is a program that
runs: in [with_bridle](../../examples/tasks/with_bridle) and, where pydantic-ai has the feature, in
[with_pydantic_ai](../../examples/tasks/with_pydantic_ai). `tests/library/test_tasks.py` runs them all, and fails if a
program of Bridle is longer or if this page is not current.

Both are formatted by ruff with the same settings. Blank lines, comments and the docstring of the module do not count.
The scripted model of pydantic-ai stands in one file for all programs, and neither it nor its import is counted.
Docstrings of tools, imports and assertions count on both sides.

| task | Bridle | pydantic-ai | differences |
| --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Task:
    """A task with its program in Bridle and, if there is one, in pydantic-ai."""

    name: str
    bridle: Path
    peer: Path | None

    @property
    def number(self) -> int:
        return int(self.name[1:3])

    @property
    def title(self) -> str:
        """The first line of the program, without its period."""
        documented = ast.get_docstring(ast.parse(self.bridle.read_text(encoding="utf-8"))) or ""
        return documented.partition("\n")[0].removesuffix(".")


def tasks() -> list[Task]:
    """Return all tasks in the order of their names."""
    found = []
    for path in sorted((TASKS / "with_bridle").glob("t*.py")):
        peer = TASKS / "with_pydantic_ai" / path.name
        found.append(Task(path.stem, path, peer if peer.exists() else None))
    return found


def count(program: Path) -> int:
    """Return the number of lines of a program as the page counts them."""
    text = program.read_text(encoding="utf-8")
    tree = ast.parse(text)
    apart = [tree.body[0]] if ast.get_docstring(tree) is not None else []
    apart += [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "scripted"]
    left_out = {number for node in apart for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if number not in left_out and line.strip() and line.strip()[0] != "#")


def page() -> str:
    """Return the page as it should be."""
    rows = []
    for task in tasks():
        link = f"{task.number}. [{task.title}](../../examples/tasks/with_bridle/{task.name}.py)"
        other = f"[{count(task.peer)}](../../examples/tasks/with_pydantic_ai/{task.name}.py)" if task.peer else "none"
        rows.append(f"| {link} | {count(task.bridle)} | {other} | {NOTES[task.name]} |\n")
    return HEAD.format(version=version("pydantic-ai-slim")) + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
