"""Settings of an untrusted project: only those that lower limits or deny permissions apply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bridle.config.agents import builtin_agents
from bridle.config.merge import as_rules
from bridle.config.settings import STEP_SPELLINGS, Settings

Table = dict[str, Any]

MAY_ONLY_LOWER = ("behavior.max_steps", "behavior.ceiling", "limits.", "tree.")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value with its dotted key."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def untrusted(project: Table, user: Table) -> tuple[Table, Table]:
    """Split a project's table into the settings that apply without trust, and the rest."""
    mine = dict(leaves(user))
    defaults = dict(leaves(msgspec.to_builtins(Settings())))
    given = project.get("agents")
    agents = _lowered_agents(given, user)
    kept: Table = {}
    rest: Table = {}
    for key, value in leaves({name: section for name, section in project.items() if name != "agents"}):
        bound = mine.get(key, defaults.get(key))
        lowers = key.startswith(MAY_ONLY_LOWER) and _lower(value, bound)
        (kept if lowers else rest)[key] = value
    more = given.items() if isinstance(given, Mapping) else ()
    others = {name: fields for name, fields in more if fields != agents.get(name, {})}
    return _with_agents(_unflattened(project, kept), agents), _with_agents(_unflattened(project, rest), others)


def _with_agents(table: Table, agents: Table) -> Table:
    return {**table, "agents": agents} if agents else table


def _lowered_agents(given: Any, user: Table) -> Table:
    """Return fewer steps, lower limits and denials for agents that already exist."""
    known = builtin_agents()
    mine = user.get("agents", {})
    found: Table = {}
    for name, fields in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(fields, Mapping) or (name not in known and name not in mine):
            continue
        bounds = _bounds(name, user)
        table: Table = {}
        for spelling in STEP_SPELLINGS:
            if spelling in fields and _lower(fields[spelling], bounds["steps"]):
                table["steps"] = fields[spelling]
        limits = fields.get("limits")
        if isinstance(limits, Mapping):
            lower = {limit: value for limit, value in limits.items() if _lower(value, bounds.get(limit))}
            table |= {"limits": lower} if lower else {}
        table |= {"permission": denied} if (denied := _denies(fields.get("permission"))) else {}
        found |= {name: table} if table else {}
    return found


def _bounds(name: str, user: Table) -> Table:
    """Return an agent's limits without the project: its own, or else the general ones."""
    mine = user.get("agents", {}).get(name, {})
    plain = msgspec.to_builtins(Settings())
    limits = {**plain["limits"], **user.get("limits", {})}
    behavior = {**plain["behavior"], **user.get("behavior", {})}
    own = builtin_agents().get(name)
    steps = _steps(mine) or (own.steps if own is not None else None) or behavior["max_steps"] or behavior["ceiling"]
    calls = [limits[key] for key in ("tool_calls", "subagent_tool_calls") if limits[key] is not None]
    return {**limits, "tool_calls": min(calls, default=None), **(mine.get("limits") or {}), "steps": steps}


def _denies(permission: Any) -> list[Table]:
    """Return the denying rules, in any notation."""
    return [rule for rule in as_rules(permission) if rule.get("verdict") == "deny"]


def _steps(bounds: Mapping[str, Any]) -> Any:
    return next((bounds[spelling] for spelling in reversed(STEP_SPELLINGS) if bounds.get(spelling) is not None), None)


def _lower(value: Any, bound: Any) -> bool:
    """Return whether a value does not exceed a bound; non-numbers pass, because they are reported elsewhere."""
    return not is_number(value) or bound is None or not isinstance(bound, (int, float)) or value <= bound


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


def contained(table: Table) -> tuple[Table, list[str]]:
    """Return a project's settings without those that disable the sandbox, and the keys of these."""
    found: list[str] = []
    changed = dict(table)
    for name in ("hooks", "formatters", "diagnostics", "mcp"):
        match table.get(name):
            case dict() as entries:
                found += [f"{name}.{key}.sandbox" for key, entry in entries.items() if _gets_out(entry)]
                changed[name] = {key: _held(entry) for key, entry in entries.items()}
            case list() as entries:
                found += [f"{name}.sandbox" for entry in entries if _gets_out(entry)]
                changed[name] = [_held(entry) for entry in entries]
    return changed, found


def _gets_out(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("sandbox") is False


def _held(entry: Any) -> Any:
    return {key: value for key, value in entry.items() if key != "sandbox"} if _gets_out(entry) else entry
