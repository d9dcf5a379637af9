"""Loads tools from Python files into this process: the user's own, and within `tool_host` those of a project."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path

from bridle.errors import BridleError
from bridle.tools.function_tools import function_tool
from bridle.tools.tool import StructTool, Tool, as_tool
from bridle.workspace.bounded_read import read_bounded

MOST_BYTES = 16 << 20


def brought_tools(folder: Path) -> tuple[list[Tool], list[str]]:
    """Return the tools of all Python files in a folder, and the problems of files that cannot be used.

    A file's tools are its `@tool` functions, or all its public functions if it has none.
    """
    tools: list[Tool] = []
    problems: list[str] = []
    for path in sorted(folder.glob("*.py")):
        try:
            tools += load_tools(path)
        except BridleError as error:
            problems.append(f"{path}: {error}")
        except (Exception, SystemExit) as error:
            # Third-party code may raise anything at import; Bridle continues without its tools.
            problems.append(f"{path} cannot be loaded: {type(error).__name__}: {error}")
    return tools, problems


def load_tools(path: Path) -> list[Tool]:
    """Run a file and return its tools. Raises any exception that the file raises."""
    name = f"bridle_tools_{path.parent.parent.name}_{path.stem}".replace(".", "_").replace("-", "_")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    # `get_type_hints` looks the module up there.
    sys.modules[name] = module
    # Compile the trusted source itself: a cached .pyc file may come from other, unreviewed source.
    exec(compile(read_bounded(path, MOST_BYTES), str(path), "exec", dont_inherit=True), vars(module))
    public = [value for called, value in vars(module).items() if not called.startswith("_")]
    made: list[Tool] = [tool for tool in map(as_tool, public) if isinstance(tool, StructTool)]
    own = [value for value in public if inspect.isfunction(value) and value.__module__ == name]
    return made or [function_tool(function) for function in own]


def without_doubles(tools: list[Tool], taken: set[str]) -> tuple[list[Tool], list[str]]:
    """Return the tools whose names are not taken, and a message for each of the others. Adds to `taken`."""
    kept: list[Tool] = []
    problems: list[str] = []
    for made in tools:
        if made.spec.name in taken:
            problems.append(f"the tool {made.spec.name} is left out: its name is taken")
        else:
            taken.add(made.spec.name)
            kept.append(made)
    return kept, problems
