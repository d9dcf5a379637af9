"""Command-line flags for every limit of the limit table."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, TypeVar

import typer

from bridle.core.limits import ROWS, Limit

Command = TypeVar("Command", bound=Callable[..., None])


def limit_flags(after: str, prefix: str, help: Callable[[Limit], str]) -> Callable[[Command], Command]:
    """Decorate a command, whose last parameter is `**limits`, with a flag per limit after the parameter `after`."""

    def flagged(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        *own, _ = (each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in signature.parameters.values())
        place = 1 + [each.name for each in own].index(after)
        for row in reversed(ROWS):
            annotation = Annotated[str | None, typer.Option(help=help(row))]
            own.insert(place, inspect.Parameter(_name(row, prefix), own[0].kind, default=None, annotation=annotation))
        vars(command)["__signature__"] = signature.replace(parameters=own)
        return command

    return flagged


def _name(row: Limit, prefix: str) -> str:
    return row.name if row.last_closes else prefix + row.name


def given_flags(given: Mapping[str, str | None], prefix: str) -> Iterator[tuple[Limit, str, str]]:
    """Yield each given limit with its flag and the typed value."""
    for row in ROWS:
        name = _name(row, prefix)
        if (typed := given[name]) is not None:
            yield row, f"--{name.replace('_', '-')}", typed
