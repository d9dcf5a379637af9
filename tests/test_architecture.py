"""The invariants of the design, as checks that cannot be waived one line at a time."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from stories import tell

from bridle import Limits, ScriptedModel, call

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "bridle"
MODULES = sorted(SOURCE.rglob("*.py"))

MAX_FILE = 400
MAX_FUNCTION = 50
BUDGETS = {
    "turn/loop.py": 60,
    "core/decide.py": 150,
}
"""Lines for single files. Raising one is a visible change: write the reason beside it."""

BANNED_NAMES = {"util", "utils", "helper", "helpers", "manager", "service", "handler", "base", "common", "misc"}
ONLY_IN_SEAMS = {"time", "random", "uuid", "threading", "secrets"}
NEVER_IN_CORE = {"asyncio", "os", "time", "random", "uuid", "threading", "socket", "subprocess", "pathlib", "io"}


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_files_and_functions_stay_small(path):
    lines = path.read_text().count("\n")
    assert lines <= BUDGETS.get(name(path), MAX_FILE)
    long = {node.name: node.end_lineno - node.lineno + 1 for node in functions(path)}
    assert {called: length for called, length in long.items() if length > MAX_FUNCTION} == {}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_each_module_says_what_is_true_of_it(path):
    assert ast.get_docstring(tree(path))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_only_seams_touch_time_randomness_and_threads(path):
    if name(path) != "seams.py":
        assert imports(path) & ONLY_IN_SEAMS == set()


@pytest.mark.parametrize("path", sorted((SOURCE / "core").rglob("*.py")), ids=name)
def test_the_core_is_pure(path):
    assert imports(path) & NEVER_IN_CORE == set()
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, ast.AsyncFunctionDef | ast.Await)]


def test_names_say_something():
    words = {word for path in MODULES for word in path.stem.split("_")}
    classes = {node.name.lower() for path in MODULES for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)}
    assert words & BANNED_NAMES == set()
    assert {found for found in classes if found.strip("_") in BANNED_NAMES} == set()


def test_a_turn_is_finished_by_decide_alone():
    built = [
        name(path)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finish"
    ]
    assert set(built) == {"core/decide.py"}


def test_the_journal_is_appended_to_by_record_alone():
    calls = [name(path) for path in MODULES if re.search(r"journal\.append\(", path.read_text())]
    assert calls == ["turn/record.py"]


def test_our_own_unions_have_no_wildcard_in_the_loop_and_the_fold():
    for place in ("core/decide.py", "core/fold.py", "turn/loop.py", "turn/processor.py", "turn/take.py"):
        assert "case _:" not in (SOURCE / place).read_text(), place


def test_there_are_no_waivers():
    waived = re.compile(r"#\s*(noqa|type:\s*ignore|pragma: no cover|pylint)")
    assert [name(path) for path in MODULES if waived.search(path.read_text())] == []


def test_the_layers_are_as_drawn():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_a_step_costs_the_same_late_in_a_session_as_early():
    """Counted in function calls, which no busy machine can change."""
    counts = []
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += 1

    def play(request):
        counts.append(calls)
        return call("poll", key=request.id)

    sys.setprofile(count)
    try:
        tell(ScriptedModel(play), limits=Limits(tool_calls=1_000), seed=None)
    finally:
        sys.setprofile(None)
    steps = [after - before for before, after in itertools.pairwise(counts)]
    early, late = sorted(steps[20:40])[10], sorted(steps[-40:-20])[10]
    assert late <= 1.02 * early
