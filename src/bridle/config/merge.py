"""Merges layers of settings: tables key by key; lists of permission rules are joined so that none is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.config.settings import STEP_SPELLINGS
from bridle.values.options import layered

Table = dict[str, Any]


def table_in(value: Any) -> Mapping[str, Any]:
    """Return a table of a file; an empty one for anything else, because the content of files is not trusted."""
    return value if isinstance(value, Mapping) else {}


def merged(tables: Sequence[Table]) -> Table:
    """Merge validated tables: the later one wins, but all permission rules are kept in order."""
    whole = layered(*(_prepared(table) for table in tables))
    _join(whole, [table.get("permission") for table in tables])
    for name, agent in whole.get("agents", {}).items():
        given = [table["agents"][name].get("permission") for table in tables if name in table.get("agents", {})]
        _join(agent, given)
    return whole


def _join(table: Table, given: Sequence[Any]) -> None:
    there = [permission for permission in given if permission]
    if len(there) > 1:
        table["permission"] = [rule for permission in there for rule in as_rules(permission)]


def as_rules(permission: Any) -> list[Table]:
    """Return permissions in any notation as a list of rules, in their order; anything else has no rules."""
    if isinstance(permission, list):
        return [dict(rule) for rule in permission if isinstance(rule, Mapping)]
    found: list[Table] = []
    for name, value in table_in(permission).items():
        patterns = value if isinstance(value, Mapping) else {"*": value}
        found += [{"permission": str(name), "pattern": str(key), "verdict": word} for key, word in patterns.items()]
    return found


def _prepared(table: Table) -> Table:
    """Normalize the agents of a layer: one spelling of `steps`, and a list of tools moved to `offers`."""
    agents = {name: _agent(fields) for name, fields in table_in(table.get("agents")).items()}
    return {**table, "agents": agents} if agents else table


def _agent(fields: Mapping[str, Any]) -> Table:
    spelled = {fields[spelling] for spelling in STEP_SPELLINGS if fields.get(spelling) is not None}
    made = dict(fields)
    if len(spelled) == 1:
        made = {key: value for key, value in made.items() if key not in STEP_SPELLINGS} | {"steps": spelled.pop()}
    if isinstance(made.get("tools"), list):
        made["offers"] = made.pop("tools")
    return made
