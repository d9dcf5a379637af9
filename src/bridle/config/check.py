"""Validates a table of settings: yields every problem with its key, and finds the line of a key in a TOML file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from bridle.config.merge import table_in
from bridle.config.settings import STEP_SPELLINGS, Settings
from bridle.config.untrusted_project import is_number, leaves
from bridle.core.limits import LIMIT_NAMES, TREE_BOUNDS, wrong_bound, wrong_limit
from bridle.values.keys import KeySettings, clashes, wrong_keys

MOST_WAIT = 600
HEADER = re.compile(r"\s*\[\[?\s*(.+?)\s*\]\]?\s*(?:#.*)?")
ASSIGNED = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


class Problem(NamedTuple):
    """One problem in the settings."""

    key: str
    words: str

    @property
    def text(self) -> str:
        return f"{self.key}: {self.words}" if self.words[:1].isupper() else f"{self.key} {self.words}"


def problems(table: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield all problems: unknown keys, invalid limits, values of the wrong type."""
    unknown = list(_unknown(table, Settings, ""))
    yield from unknown
    strange = {problem.key for problem in unknown}
    for key, value in leaves(table):
        if any(key == each or key.startswith(f"{each}.") for each in strange):
            continue
        problem = _wrong_value(key, value)
        yield from [Problem(key, problem)] if problem is not None else _wrong_type(key, value, table)
    if "keys" in table and not any(key.startswith("keys") for key in strange):
        yield from _clashing_keys(table_in(table["keys"]))


def _clashing_keys(given: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the keys of the terminal application that are set for two things, one of which may be a default."""
    if all(isinstance(value, str) for value in given.values()):
        found = clashes(msgspec.convert(given, KeySettings))
        for name, key in found:
            others = [f"keys.{other}" for other, same in found if same == key and other != name]
            if name in given:
                yield Problem(
                    f"keys.{name}", f"has the key {key}, as has {others[0]}: choose another, or empty that one"
                )


def _wrong_value(key: str, value: Any) -> str | None:
    """Return why a limit, a number of steps or an MCP setting is invalid; None if it is valid, or another setting."""
    section, _, name = key.rpartition(".")
    limited = section in ("limits", "limits.daily", "limits.monthly", "tree") or section.endswith(".limits")
    if limited and (limit := name.removeprefix("subagent_")) in LIMIT_NAMES:
        return wrong_limit(limit, value)
    if section == "tree" and name in TREE_BOUNDS:
        return wrong_bound(name, value)
    if section == "keys":
        return wrong_keys(value)
    if section == "mcp" and name != "start_wait":
        return f"must be a table with a command or a url, not {value!r}"
    if section == "mcp" and not (is_number(value) and 0 <= value <= MOST_WAIT):
        return f"must be a number of seconds up to {MOST_WAIT}, not {value!r}"
    if key in ("behavior.max_steps", "behavior.ceiling"):
        none = "must be more than 0: leave it out for the ceiling alone"
        return wrong_limit("steps", value) or (none if value == 0 else None)
    if key.startswith("agents.") and name in STEP_SPELLINGS:
        none = "must be more than 0; an agent that only talks has steps = 0"
        return wrong_limit("steps", value) or (none if value == 0 and name != "steps" else None)
    return None


def _wrong_type(key: str, value: Any, table: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the type of one value; commands and models are checked as a whole entry."""
    section, _, rest = key.partition(".")
    if section in ("commands", "models"):
        name = rest.partition(".")[0]
        entry = table_in(table[section]).get(name)
        alone: Mapping[str, Any] = {section: table[section] if entry is None else {name: entry}}
    else:
        alone = _alone(key.split("."), value, table)
    try:
        msgspec.convert(alone, Settings)
    except msgspec.ValidationError as error:
        yield Problem(key, re.sub(r" - at `\$[^`]*`$", "", str(error)))


def _alone(path: list[str], value: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table reduced to one value; keys may contain dots."""
    for length in range(len(path), 0, -1):
        key = ".".join(path[:length])
        if key in table:
            inner = table[key]
            nested = isinstance(inner, Mapping) and length < len(path)
            return {key: _alone(path[length:], value, inner) if nested else value}
    return {}


def _unknown(value: Any, schema: Any, prefix: str) -> Iterator[Problem]:
    """Yield the keys of a table, and of the tables in it, that the schema does not have."""
    if get_origin(schema) in (Union, UnionType):
        for option in get_args(schema):
            yield from _unknown(value, option, prefix)
    elif get_origin(schema) is dict:
        for key, inner in table_in(value).items():
            yield from _unknown(inner, get_args(schema)[1], f"{prefix}{key}.")
    elif isinstance(schema, type) and issubclass(schema, msgspec.Struct):
        known = {field.name: field.type for field in msgspec.structs.fields(schema)}
        for key, inner in table_in(value).items():
            if key in known:
                yield from _unknown(inner, known[key], f"{prefix}{key}.")
                continue
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {prefix}{near[0]}?" if near else f" (known: {', '.join(known)})"
            yield Problem(f"{prefix}{key}", f"is not known{hint}")


def line_of(text: str, key: str) -> int:
    """Return the line of a TOML file in which a key is set or its table begins; 0 if not found."""
    table = ""
    best = 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := HEADER.fullmatch(line):
            table = _bare(header[1])
            if table == key or key.startswith(f"{table}."):
                best = number
        elif assigned := ASSIGNED.match(line):
            whole = f"{table}.{_bare(assigned[1])}" if table else _bare(assigned[1])
            if whole == key:
                return number
            if key.startswith(f"{whole}."):
                best = number
    return best


def _bare(name: str) -> str:
    return ".".join(piece.strip().strip("\"'") for piece in re.findall(r"""[\w-]+|"[^"]*"|'[^']*'""", name))
