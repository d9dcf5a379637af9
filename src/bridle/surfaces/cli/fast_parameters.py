"""Makes Typer parse string, path and boolean options fast, without the library that it loads to validate them.

That library takes longer to load than everything else that a command needs. Other types are left to Typer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin


def _switch(value: Any) -> bool:
    """Return a flag's value, which is always a boolean and never parsed from text."""
    assert isinstance(value, bool)
    return value


READERS: dict[Any, Callable[[Any], Any]] = {str: str, Path: Path, bool: _switch}


@dataclass(frozen=True)
class Plainly:
    """Converter for typed values and lists of them; Typer calls it instead of its own validation."""

    make: Callable[[Any], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return [self.make(each) for each in value] if isinstance(value, (list, tuple)) else self.make(value)


def quickened(command: Any) -> Any:
    """Replace the slow validation of plain parameters in a command and its subcommands; return the command."""
    own = command.get_params
    # Some parameters are created on request, like --help.
    command.get_params = lambda context: [_quick(parameter) for parameter in own(context)]
    for below in command.commands.values() if hasattr(command, "commands") else ():
        if below is not None:
            quickened(below)
    return command


def _quick(parameter: Any) -> Any:
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    if inner in READERS:
        # A private attribute: if Typer drops it, parsing still works, and a test reports that it is slow.
        parameter._runtime_param = Plainly(READERS[inner])
    return parameter
