"""What counts of a project that nobody trusts: what makes limits smaller and rights fewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.config.agents import builtin_agents
from bridle.config.settings import Settings
from bridle.core.limits import LIMIT_NAMES

Table = dict[str, Any]

MAY_ONLY_LOWER = ("behavior.max_steps", "behavior.ceiling", "limits.", "tree.")
STEP_SPELLINGS = ("steps", "max_steps", "maxSteps", "maxTurns")
NAMED_SECTIONS = ("mcp", "providers", "agents", "models", "commands")


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def untrusted(project: Table, user: Table) -> tuple[Table, list[str]]:
    """What of a table counts all the same, and the names of the rest."""
    mine = dict(leaves(user))
    defaults = dict(leaves(msgspec.to_builtins(Settings())))
    agents = _lowered_agents(project.get("agents"), user.get("agents"))
    kept: Table = {}
    ignored: list[str] = []
    for key, value in leaves({name: section for name, section in project.items() if name != "agents"}):
        bound = mine.get(key, defaults.get(key))
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if key.startswith(MAY_ONLY_LOWER) and (not number or bound is None or value <= bound):
            kept[key] = value
        else:
            ignored.append(_named(key))
    for name, given in project.get("agents", {}).items():
        if given != agents.get(name, {}):
            ignored.append(f"agents.{name}")
    result = _unflattened(project, kept)
    return {**result, "agents": agents} if agents else result, list(dict.fromkeys(ignored))


def _lowered_agents(given: Any, mine: Any) -> Table:
    """Of agents that there are anyway: fewer steps, smaller limits, what is denied."""
    known = {name: agent.steps for name, agent in builtin_agents().items()}
    found: Table = {}
    for name, fields in given.items() if isinstance(given, Mapping) else ():
        own = mine.get(name) if isinstance(mine, Mapping) else None
        if not isinstance(fields, Mapping) or (name not in known and own is None):
            continue
        table: Table = {}
        bounds = {"steps": known.get(name), **(own if isinstance(own, Mapping) else {})}
        for spelling in STEP_SPELLINGS:
            if spelling in fields and _lower(fields[spelling], _steps(bounds)):
                table["steps"] = fields[spelling]
        limits = fields.get("limits")
        mine_limits = bounds.get("limits")
        lower = {
            limit: limits[limit]
            for limit in LIMIT_NAMES
            if isinstance(limits, Mapping)
            and limit in limits
            and _lower(limits[limit], mine_limits.get(limit) if isinstance(mine_limits, Mapping) else None)
        }
        table |= {"limits": lower} if lower else {}
        rules = fields.get("permission")
        denied = {key: word for key, word in rules.items() if word == "deny"} if isinstance(rules, Mapping) else {}
        table |= {"permission": denied} if denied else {}
        found |= {name: table} if table else {}
    return found


def _steps(bounds: Mapping[str, Any]) -> Any:
    return next((bounds[spelling] for spelling in reversed(STEP_SPELLINGS) if bounds.get(spelling) is not None), None)


def _lower(value: Any, bound: Any) -> bool:
    """Whether a value lowers a bound; what is no number at all is said to be wrong elsewhere."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return not number or bound is None or not isinstance(bound, (int, float)) or value <= bound


def _named(key: str) -> str:
    """What a person is told of a key: of a server or a provider its name is enough."""
    section, _, rest = key.partition(".")
    return f"{section}.{rest.partition('.')[0]}" if section in NAMED_SECTIONS else key


def _unflattened(table: Mapping[str, Any], kept: Mapping[str, Any], prefix: str = "") -> Table:
    result: Table = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            inner = _unflattened(value, kept, f"{prefix}{key}.")
            if inner:
                result[key] = inner
        elif f"{prefix}{key}" in kept:
            result[key] = value
    return result
