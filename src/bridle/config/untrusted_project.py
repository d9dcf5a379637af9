"""Splits a project's settings: lower limits and agents' denials apply without trust; `sandbox = false` never does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from bridle.config.agents import builtin_agents
from bridle.config.merge import as_rules, table_in
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
    bounds = {**dict(leaves(msgspec.to_builtins(Settings()))), **dict(leaves(user))}

    def lowers(key: str, value: Any) -> bool:
        return key.startswith(MAY_ONLY_LOWER) and _lower(value, bounds.get(key))

    plain = {name: section for name, section in project.items() if name != "agents"}
    agents = table_in(project.get("agents"))
    lowered = _lowered_agents(agents, user)
    others = {name: fields for name, fields in agents.items() if fields != lowered.get(name, {})}
    kept = _filtered(plain, lowers) | ({"agents": lowered} if lowered else {})
    rest = _filtered(plain, lambda key, value: not lowers(key, value)) | ({"agents": others} if others else {})
    return kept, rest


def _lowered_agents(agents: Mapping[str, Any], user: Table) -> Table:
    """Return fewer steps, lower limits and denials for agents that already exist."""
    found: Table = {}
    for name, fields in agents.items():
        if not isinstance(fields, Mapping) or name not in {*builtin_agents(), *user.get("agents", {})}:
            continue
        bounds = _bounds(name, user)
        steps = [fields[key] for key in STEP_SPELLINGS if key in fields and _lower(fields[key], bounds["steps"])]
        limits = table_in(fields.get("limits")).items()
        table = {
            "steps": steps[-1] if steps else None,
            "limits": {limit: value for limit, value in limits if _lower(value, bounds.get(limit))},
            "permission": [rule for rule in as_rules(fields.get("permission")) if rule.get("verdict") == "deny"],
        }
        lowered = {key: value for key, value in table.items() if value not in (None, {}, [])}
        found |= {name: lowered} if lowered else {}
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


def _steps(bounds: Mapping[str, Any]) -> Any:
    return next((bounds[spelling] for spelling in reversed(STEP_SPELLINGS) if bounds.get(spelling) is not None), None)


def _lower(value: Any, bound: Any) -> bool:
    """Return whether a value does not exceed a bound; non-numbers pass, because they are reported elsewhere."""
    return not is_number(value) or bound is None or not isinstance(bound, (int, float)) or value <= bound


def _filtered(table: Mapping[str, Any], wanted: Callable[[str, Any], bool], prefix: str = "") -> Table:
    """Return the values of a table for whose dotted key and value `wanted` is true."""
    result: Table = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            inner = _filtered(value, wanted, f"{prefix}{key}.")
            result |= {key: inner} if inner else {}
        elif wanted(f"{prefix}{key}", value):
            result[key] = value
    return result


def contained(table: Table) -> tuple[Table, list[str]]:
    """Return a project's settings without those that disable the sandbox, and the keys of these."""
    found: list[str] = []
    changed = dict(table)
    for name in ("hooks", "formatters", "diagnostics", "mcp"):
        match table.get(name):
            case dict() as entries:
                changed[name] = {key: _held(entry, f"{name}.{key}", found) for key, entry in entries.items()}
            case list() as entries:
                changed[name] = [_held(entry, name, found) for entry in entries]
    return changed, found


def _held(entry: Any, where: str, found: list[str]) -> Any:
    """Return an entry without a `sandbox = false`, whose key is added to `found`."""
    if not isinstance(entry, dict) or entry.get("sandbox") is not False:
        return entry
    found.append(f"{where}.sandbox")
    return {key: value for key, value in entry.items() if key != "sandbox"}
