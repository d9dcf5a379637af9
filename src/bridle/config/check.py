"""Validation of a settings table: every problem with its key and a fix."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_args, get_origin

import msgspec

from bridle.config.settings import STEP_SPELLINGS, Settings
from bridle.config.untrusted_project import is_number, leaves
from bridle.core.limits import LIMIT_NAMES, TREE_BOUNDS, LimitName, wrong_bound, wrong_limit

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
        found = [Problem(key, words) for words in (*_wrong_limits(key, value), *_wrong_step(key, value))]
        yield from found or _wrong_type(key, value, table)


def _wrong_limits(key: str, value: Any) -> Iterator[str]:
    section, _, name = key.rpartition(".")
    limited = section in ("limits", "limits.daily", "limits.monthly", "tree") or section.endswith(".limits")
    for limit in LIMIT_NAMES:
        if limited and name in (limit, f"subagent_{limit}"):
            yield from _wrong(limit, value)
    if section == "tree" and name in TREE_BOUNDS and (problem := wrong_bound(name, value)) is not None:
        yield problem
    if section == "mcp" and name != "start_wait":
        yield f"must be a table with a command or a url, not {value!r}"
    elif section == "mcp" and not (is_number(value) and 0 <= value <= MOST_WAIT):
        yield f"must be a number of seconds up to {MOST_WAIT}, not {value!r}"


def _wrong_step(key: str, value: Any) -> Iterator[str]:
    name = key.rpartition(".")[2]
    if key in ("behavior.max_steps", "behavior.ceiling"):
        yield from _wrong("steps", value)
        if value == 0 and not isinstance(value, bool):
            yield "must be more than 0: leave it out for the ceiling alone"
    elif key.startswith("agents.") and name in STEP_SPELLINGS:
        yield from _wrong("steps", value)
        if value == 0 and not isinstance(value, bool) and name != "steps":
            yield "must be more than 0; an agent that only talks has steps = 0"


def _wrong(limit: LimitName, value: Any) -> Iterator[str]:
    problem = wrong_limit(limit, value)
    if problem is not None:
        yield problem


def _wrong_type(key: str, value: Any, table: Mapping[str, Any]) -> Iterator[Problem]:
    """Check the type of one value; commands and models are checked as a whole entry."""
    section, _, rest = key.partition(".")
    if section in ("commands", "models"):
        name = rest.partition(".")[0]
        entry = table[section].get(name) if isinstance(table[section], Mapping) else None
        alone: Mapping[str, Any] = {section: {name: entry}} if entry is not None else {section: table[section]}
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


def _unknown(table: Mapping[str, Any], schema: Any, prefix: str) -> Iterator[Problem]:
    if not (isinstance(schema, type) and issubclass(schema, msgspec.Struct)):
        return
    known = {field.name: field.type for field in msgspec.structs.fields(schema)}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"; did you mean {prefix}{near[0]}?" if near else f" (known: {', '.join(known)})"
            yield Problem(f"{prefix}{key}", f"is not known{hint}")
        elif isinstance(value, Mapping):
            yield from _below(value, known[key], f"{prefix}{key}.")


def _below(table: Mapping[str, Any], schema: Any, prefix: str) -> Iterator[Problem]:
    if get_origin(schema) is dict:
        inner = get_args(schema)[1]
        for key, value in table.items():
            if isinstance(value, Mapping):
                for option in (inner, *get_args(inner)):
                    yield from _unknown(value, option, f"{prefix}{key}.")
        return
    for option in (schema, *get_args(schema)):
        yield from _unknown(table, option, prefix)


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
