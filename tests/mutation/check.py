"""Whether tests notice a mutant: each is imported in a process of its own, in place of the module as it is."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import resource
import signal
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

import hypothesis
import pytest

from mutation.change import Mutant, mutants, untouched

TESTS = Path(__file__).parent.parent
ROOT = TESTS.parent
TABLE = ROOT / "docs" / "evidence" / "mutants.md"
EQUIVALENT = Path(__file__).parent / "equivalent.toml"
MODULES = {
    "core/decide.py": (
        "core/test_decide.py",
        "turn/test_reasons.py",
        "turn/test_compaction.py",
        "turn/test_synthesis.py",
        "turn/test_outputs.py",
    ),
    "core/limits.py": (
        "core/test_limits.py",
        "core/test_decide.py",
        "turn/test_caps.py::test_a_value_over_the_ceiling_is_clamped_with_a_notice",
        "turn/test_reasons.py",
    ),
    "core/repetition.py": ("core/test_repetition.py", "turn/test_doom_loops.py"),
}
"""Which tests should notice a change, the quickest first."""
PATIENCE_SECONDS = 120
PATIENCE_CPU_SECONDS = 30
MOST_MEMORY = 2 * 1024**3


def all_mutants() -> list[Mutant]:
    return [mutant for module in MODULES for mutant in mutants(module, *_source(module))]


def originals() -> list[Mutant]:
    """Every module as it is."""
    return [untouched(module, *_source(module)) for module in MODULES]


def _source(module: str) -> tuple[str, str]:
    path = ROOT / "src" / "bridle" / module
    return path.read_text(), str(path)


def reasons() -> dict[str, dict[str, str]]:
    """Return why no test can notice these mutants, by module and name."""
    return tomllib.loads(EQUIVALENT.read_text())


class _InPlace(SourceFileLoader):
    """Loads one module from code that is given, and knows no other."""

    def __init__(self, mutant: Mutant) -> None:
        self.called = f"bridle.{mutant.module.removesuffix('.py').replace('/', '.')}"
        super().__init__(self.called, str(ROOT / "src" / "bridle" / mutant.module))
        self._code = mutant.code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self.called:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)


def checked(chosen: Sequence[Mutant], jobs: int) -> Iterator[tuple[Mutant, bool]]:
    """Each mutant, and whether a test noticed it, as they come in."""
    _warm_up()
    running: dict[int, Mutant] = {}
    waiting = list(reversed(chosen))
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            sys.stdout.flush()
            process = os.fork()
            if process == 0:
                _run(mutant)
            running[process] = mutant
        process, status = os.wait()
        yield running.pop(process), status != 0


def _warm_up() -> None:
    """Load what others wrote once for all processes; what is ours is loaded by each, with its mutant in it."""
    sys.path.insert(0, str(TESTS))
    importlib.import_module("support.stories")
    importlib.import_module("_hypothesis_pytestplugin")
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        ours = name.partition(".")[0] == "bridle" or Path(file).is_relative_to(TESTS)
        if ours and name.partition(".")[0] != "mutation" and name != "__main__":
            del sys.modules[name]


def _run(mutant: Mutant) -> None:
    """Never returns. A change may make a loop endless or hungry: then the kernel ends it, which is noticed too."""
    status = 1
    with contextlib.suppress(BaseException):
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE_CPU_SECONDS, PATIENCE_CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        signal.alarm(PATIENCE_SECONDS)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        sys.meta_path.insert(0, _InPlace(mutant))
        # The same examples each time, and none that an earlier mutant has left.
        hypothesis.settings.register_profile("mutants", database=None, derandomize=True)
        hypothesis.settings.load_profile("mutants")
        files = [str(TESTS / file) for file in MODULES[mutant.module]]
        plain = ["-x", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(ROOT), "--tb=no"]
        status = int(pytest.main([*plain, *files]))
    os._exit(status)


def table(survivors: Sequence[Mutant]) -> str:
    """What docs/evidence/mutants.md says."""
    known, every = reasons(), all_mutants()
    rows, lost = [], []
    for module in MODULES:
        count = sum(mutant.module == module for mutant in every)
        alive = [mutant.name for mutant in survivors if mutant.module == module]
        same = len(known.get(module, {}))
        rows.append(f"| `{module}` | {count} | {count - same - len(alive)} | {same} | {len(alive)} |")
        lost += [f"- `{module}`, `{name}`" for name in alive]
    lines = [
        "# Mutants",
        "",
        "`scripts/mutants` makes every small change to the policy, the limits and the doom loops (another comparison,",
        "a number one up or down, an operand less, arguments swapped, no statement). It runs the tests that should",
        "fail after each change, and writes this table.",
        "",
        "| module | mutants | noticed | cannot be noticed | survived |",
        "| --- | --- | --- | --- | --- |",
        *rows,
        "",
        "## Mutants that no test can notice",
        "",
        "| module | change | reason |",
        "| --- | --- | --- |",
    ]
    for module, changes in known.items():
        lines += [f"| `{module}` | `{_cell(name)}` | {reason} |" for name, reason in changes.items()]
    if lost:
        lines += ["", "## Surviving mutants", "", *lost]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
