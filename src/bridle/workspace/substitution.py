"""Fills in `{env:NAME}`, `{env:NAME:-otherwise}` and `{file:PATH}` in settings, when a value is needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_text

SHORTEST_SECRET = 3
PLACE = re.compile(r"\{(env|file):([^{}]+)\}")


def filled(text: str, environment: Mapping[str, str], folder: Path) -> str:
    """Return the text with its placeholders filled in; raises `ConfigError` if a variable or a file is missing."""

    def found(place: re.Match[str]) -> str:
        sort, name = place[1], place[2]
        if sort == "file":
            try:
                path = folder / Path(name).expanduser()
                return read_text(path).strip()
            except (OSError, ValueError, RuntimeError) as error:
                raise ConfigError(f"{place[0]} cannot be read: {error}") from error
        variable, given, otherwise = name.partition(":-")
        value = environment.get(variable, otherwise if given else None)
        if value is None:
            raise ConfigError(f"{place[0]}: the environment variable {variable} is not set")
        return value

    return PLACE.sub(found, text)


def filled_in(text: str, environment: Mapping[str, str], folder: Path) -> list[str]:
    """Return only the filled-in values that are long enough to be secret."""
    values = [filled(place[0], environment, folder) for place in PLACE.finditer(text)]
    return [value for value in values if len(value) > SHORTEST_SECRET]
