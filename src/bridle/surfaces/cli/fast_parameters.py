"""Parameters that are words, paths or switches, read without the library that Typer would load to check them.

It takes longer to load than everything else that a command needs. What is not as simple as this is left to Typer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin


def _switch(value: Any) -> bool:
    """A switch is on or off by being there; nothing is read from words."""
    assert isinstance(value, bool)
    return value


READERS: dict[Any, Callable[[Any], Any]] = {str: str, Path: Path, bool: _switch}


@dataclass(frozen=True)
class Plainly:
    """A value as it was typed, or a list of such; called by Typer in place of its own checks."""

    make: Callable[[Any], Any]

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        return [self.make(each) for each in value] if isinstance(value, (list, tuple)) else self.make(value)


def quickened(command: Any) -> Any:
    """The same command, whose plain parameters cost nothing."""
    own = command.get_params
    # Some are made only when they are asked for, as the one for help.
    command.get_params = lambda context: [_quick(parameter) for parameter in own(context)]
    for below in command.commands.values() if hasattr(command, "commands") else ():
        if below is not None:
            quickened(below)
    return command


def _quick(parameter: Any) -> Any:
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    inner = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    if inner in READERS:
        # Not public: if Typer has another way one day, it goes its own way, and a test says that it is slow.
        parameter._runtime_param = Plainly(READERS[inner])
    return parameter
