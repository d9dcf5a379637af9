"""Surfaces: the protocols they see, the writers they write through, and the widgets they take."""

import ast
import re

import pytest
from support.source import SOURCE, name, tree


def test_surfaces_see_the_runtime_the_core_and_the_wire_only():
    """`bridle worker` and `bridle workers` are about one journal, which no runtime stands for."""
    workers = {"worker.py", "worker_status.py"}
    # The command line opens what the other surfaces are given: the runtime, or a client.
    openers = {"remote.py", "attach.py"}
    seen = set()
    for path in (SOURCE / "surfaces").rglob("*.py"):
        if path.name in workers | openers:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bridle."):
                seen.add(node.module.split(".")[1])
    assert seen <= {"core", "errors", "runtime", "surfaces", "testing", "values", "wire"}
    reached = re.compile(r"runtime\.(journal|engine|bus|turns)\b")
    assert [name(path) for path in (SOURCE / "surfaces").rglob("*.py") if reached.search(path.read_text())] == []


WRITERS = {"surfaces/cli/output.py", "surfaces/cli/writer.py", "surfaces/cli/screen.py"}
"""The only modules that write to the terminal: there every text is made plain."""
PRINTERS = re.compile(
    r"(?<![\w.])(?<!def )print\(|\b(typer|click)\.(echo|secho|confirm|prompt|launch)\b|\bos\.write\(|\.__std(out|err)__"
)


def reaches_a_stream(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr") and ast.unparse(node.value) == "sys"


@pytest.mark.parametrize("path", sorted((SOURCE / "surfaces").rglob("*.py")), ids=name)
def test_only_the_writers_write_to_a_terminal(path):
    if name(path) in WRITERS:
        return
    assert PRINTERS.search(path.read_text()) is None
    # Whether it is a terminal, and of what kind, may be asked anywhere.
    nodes = list(ast.walk(tree(path)))
    asked = [node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("isatty", "encoding")]
    assert [node.lineno for node in nodes if reaches_a_stream(node) and node not in asked] == []


MARKED_UP = re.compile(r"from_markup|from_text\(|markup=True|_driver|border_(sub)?title|\.tooltip\b")


@pytest.mark.parametrize("path", sorted((SOURCE / "surfaces" / "tui").rglob("*.py")), ids=name)
def test_the_application_takes_only_widgets_that_show_text(path):
    """Textual's own read markup in whatever they are given."""
    if path.name == "widgets.py":
        return
    assert MARKED_UP.search(path.read_text()) is None
    taken = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module in ("textual.app", "textual.widgets", "textual.widget")
        for alias in node.names
    }
    allowed = {"textual.app.ComposeResult", "textual.app.SystemCommand", "textual.widget.Widget"}
    assert taken <= allowed | {"textual.widgets.Footer"}
    assert "import textual.widgets" not in path.read_text()


def test_a_page_is_escaped_in_one_place():
    escaping = [name(path) for path in (SOURCE / "surfaces").rglob("*.py") if "html import escape" in path.read_text()]
    assert escaping == ["surfaces/report/escape.py"]


PROTOCOLS = {"bridle.runtime.sessions", "bridle.runtime.project", "bridle.runtime.project_views"}
"""The protocols, and the types of what they return."""


FOLDERS = {path.parent.name for path in (SOURCE / "surfaces").glob("*/__init__.py")}


@pytest.mark.parametrize("surface", sorted(FOLDERS - {"cli"}))
def test_every_surface_but_the_command_line_sees_sessions_and_project_alone(surface):
    """The command line opens the runtime and starts the others."""
    seen = {
        node.module
        for path in (SOURCE / "surfaces" / surface).rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("bridle.runtime")
    }
    assert seen <= PROTOCOLS
