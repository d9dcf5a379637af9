"""Runs programs one after the other in one interpreter, each in a folder of its own; prints their errors as JSON."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import django.conf
from django.utils.functional import empty


def run_program(program: Path, folder: str | Path) -> None:
    """Run a program as a module of its own; raises what it raises."""
    name = f"{program.parent.name}_{program.stem}"
    spec = importlib.util.spec_from_file_location(name, program)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Django's settings hold for a process, and each program has its own.
    django.conf.settings._wrapped = empty
    with contextlib.chdir(folder):
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        finally:
            del sys.modules[name]


def main(programs: list[str]) -> None:
    errors = {}
    for program in programs:
        sys.path[0] = str(Path(program).parent)
        with tempfile.TemporaryDirectory() as folder:
            try:
                run_program(Path(program), folder)
            except Exception:
                errors[program] = traceback.format_exc()
    print(json.dumps(errors), flush=True)
    # Without waiting for threads and event loops that a library has left behind.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
