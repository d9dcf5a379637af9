"""Adds a flag for every limit of the limit table to a command, and reads the limits that were given."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar, cast

import typer

from bridle.core.limits import ROWS, Limit, LimitName, wrong_limit
from bridle.errors import ConfigError

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


def given_limits(given: Mapping[str, str | None], prefix: str) -> dict[LimitName, int | float]:
    """Return the limits that were given as flags; raises `ConfigError` with the flag of an invalid one."""
    limits: dict[LimitName, int | float] = {}
    for row in ROWS:
        name = _name(row, prefix)
        if (typed := given[name]) is not None:
            value = _number(typed)
            if problem := wrong_limit(row.name, value):
                raise ConfigError(f"--{name.replace('_', '-')} {problem}")
            limits[row.name] = cast(int | float, value)
    return limits


def _number(text: str) -> int | float | str:
    for read in (int, float):
        try:
            value = read(text)
        except ValueError:
            continue
        return text if math.isnan(value) else value
    return text
