"""`from_opencode`: converts a parsed OpenCode configuration to a table of settings, at every load; writes no file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from glob import escape
from pathlib import Path
from typing import Annotated, Any

import msgspec

from bridle.config.import_agents import Table, agent_from_opencode, not_taken, permissions, permissions_of
from bridle.config.import_servers import servers_from_opencode
from bridle.config.merge import table_in
from bridle.config.settings import CommandSettings
from bridle.config.untrusted_project import is_number
from bridle.errors import ConfigError
from bridle.values.options import layered
from bridle.values.provider import Provider
from bridle.workspace.remote_instructions import is_address

WIRES = {
    "@ai-sdk/openai-compatible": "chat",
    "@ai-sdk/openai": "responses",
    "@ai-sdk/anthropic": "messages",
    "@openrouter/ai-sdk-provider": "chat",
}
SILENT = frozenset({"$schema", "theme", "keybinds", "tui", "autoupdate", "username", "layout", "logLevel", "server"})
"""Keys that have no meaning in Bridle and are ignored without a notice."""
TAKEN = frozenset(
    {"model", "small_model", "default_agent", "agent", "agents", "mode", "permission", "permissions", "tools", "mcp"}
    | {"instructions", "command", "commands", "provider", "providers", "subagent_depth", "compaction"}
    | {"snapshot"}
)
MODEL_KEYS = frozenset({"id", "modalities", "limit", "cost", "options", "variants"})
MODEL_SILENT = frozenset({"name", "family", "release_date", "last_updated", "knowledge", "status", "experimental"})
PROVIDER_KEYS = frozenset({"npm", "package", "options", "models", "name", "api", "env", "id"})
TIMEOUTS = {"timeout": "request_seconds", "headerTimeout": "first_event_seconds", "chunkTimeout": "idle_seconds"}
COMMAND_KEYS = ("template", "description", "agent", "model", "subtask")
COMPACTION = {"auto": bool, "prune": bool, "reserved": Annotated[int, msgspec.Meta(ge=0)]}
PRICES = ("input", "output", "cache_read", "cache_write")
Size = Annotated[int, msgspec.Meta(gt=0)]


def from_opencode(content: Table, path: Path) -> tuple[Table, list[str]]:
    """Convert an OpenCode configuration; return the table and the problems. Raises `ConfigError` with the key."""
    problems: list[str] = []
    names = {"model": "model", "small_model": "small_model", "agent": "default_agent"}
    table: Table = {ours: content[theirs] for ours, theirs in names.items() if isinstance(content.get(theirs), str)}
    if isinstance(content.get("instructions"), list):
        table["instructions"] = [_place(path.parent, str(name)) for name in content["instructions"]]
    sections: Table = {
        "agents": _agents(content, path, problems),
        "permission": _permission(content),
        "commands": _commands(content, problems),
    }
    sections["mcp"], unknown = servers_from_opencode(content.get("mcp"))
    problems += unknown
    given = content.get("provider") or content.get("providers")
    sections["providers"], sections["models"] = _providers(given, problems)
    sections |= _rest(content, problems)
    table |= {name: section for name, section in sections.items() if section}
    return table, [*problems, *not_taken(sorted(set(content) - TAKEN - SILENT))]


def _place(folder: Path, pattern: str) -> str:
    """Return a pattern relative to the folder of its file, with the folder's own name escaped."""
    if pattern.startswith(("~", "/")) or is_address(pattern):
        return pattern
    return f"{escape(str(folder))}/{pattern.removeprefix('./')}"


def _agents(content: Table, path: Path, problems: list[str]) -> Table:
    agents: Table = {}
    for section in ("mode", "agent", "agents"):
        for name, given in _table(content, section).items():
            where = f"{section}.{name}"
            made, unknown = agent_from_opencode(given, path.parent, where)
            if section == "mode":
                made.setdefault("mode", "primary")
            agents[name] = layered(agents.get(name, {}), made)
            problems += not_taken(unknown, f"{where}: ")
    return agents


def _permission(content: Table) -> list[Table]:
    """Convert their rules; a tool switched off for all agents is denied regardless of other rules."""
    off = {name: "deny" for name, on in _table(content, "tools").items() if on is False}
    return permissions_of(content, "permission") + permissions(off, "tools")


def _commands(content: Table, problems: list[str]) -> Table:
    found: Table = {}
    for section in ("command", "commands"):
        for name, given in _table(content, section).items():
            fields = given if isinstance(given, Mapping) else {"template": given}
            table = {key: fields[key] for key in COMMAND_KEYS if fields.get(key)}
            problems += _left(f"{section}.{name}", fields, COMMAND_KEYS)
            try:
                msgspec.convert(table, CommandSettings)
            except msgspec.ValidationError as error:
                problems.append(f"{section}.{name} is left out: {error}")
                continue
            found[name] = table
    return found


def _providers(given: Any, problems: list[str]) -> tuple[Table, Table]:
    providers: Table = {}
    models: Table = {}
    for name, fields in table_in(given).items():
        try:
            table = _provider(fields)
        except (ConfigError, msgspec.ValidationError) as error:
            problems.append(f"provider.{name} is left out: {error}")
            continue
        if table.get("key"):
            problems.append(f"provider.{name} has its key in this file: a variable or `bridle auth login` is safer")
        providers |= {name: table} if table else {}
        problems += _left(f"provider.{name}", fields, PROVIDER_KEYS)
        problems += _left(
            f"provider.{name}.options", fields.get("options"), ("baseURL", "apiKey", "headers", *TIMEOUTS)
        )
        for model, given_model in table_in(fields.get("models")).items():
            if isinstance(given_model, Mapping):
                problems += _left(f"provider.{name}.models.{model}", given_model, MODEL_KEYS | MODEL_SILENT)
                table = _model(model, given_model)
                models |= {f"{name}/{model}": table} if table else {}
    return providers, models


def _left(where: str, given: Any, known: Collection[str]) -> list[str]:
    """Return a notice with the unsupported keys, if there are any."""
    return not_taken(sorted(str(key) for key in table_in(given) if key not in known), f"{where}: ")


def _provider(fields: Any) -> Table:
    """Convert a provider; raises `ConfigError` or `ValidationError`."""
    if not isinstance(fields, Mapping):
        raise ConfigError("it must be an object")
    npm = fields.get("npm") or fields.get("package")
    if npm is not None and (not isinstance(npm, str) or npm not in WIRES):
        raise ConfigError(f"Bridle does not know the package {npm} (known: {', '.join(WIRES)})")
    table: Table = {"wire": WIRES[npm]} if npm is not None else {}
    given, variables = table_in(fields.get("options")), fields.get("env")
    if address := given.get("baseURL") or fields.get("api"):
        table["base_url"] = str(address).rstrip("/")
    if isinstance(variables, list) and variables:
        table["key_env"] = str(variables[0])
    key = given.get("apiKey")
    if isinstance(key, str) and key:
        variable = key.removeprefix("{env:").removesuffix("}")
        table |= {"key_env": variable} if key == f"{{env:{variable}}}" and variable.isidentifier() else {"key": key}
    if isinstance(given.get("headers"), Mapping):
        table["headers"] = {str(name): str(value) for name, value in given["headers"].items()}
    for theirs, ours in TIMEOUTS.items():
        if is_number(given.get(theirs)) and given[theirs] > 0:
            table[ours] = given[theirs] / 1000
    msgspec.convert(table, Provider)
    return table


def _model(name: str, fields: Mapping[str, Any]) -> Table:
    limit, cost = table_in(fields.get("limit")), table_in(fields.get("cost"))
    inputs = table_in(fields.get("modalities")).get("input")
    prices = {kind: cost[kind] for kind in PRICES if isinstance(cost.get(kind), (int, float))}
    variants = _fitting(fields.get("variants"), dict)
    table = {
        "id": _fitting(fields.get("id"), str) if fields.get("id") != name else None,
        "takes": [sort for sort in ("image", "pdf") if sort in inputs] if isinstance(inputs, list) else None,
        "context_window": _fitting(limit.get("context"), Size),
        "max_output_tokens": _fitting(limit.get("output"), Size),
        "price": prices if {"input", "output"} <= set(cost) else None,
        "options": _fitting(fields.get("options"), dict),
        "variants": None
        if variants is None
        else {key: each for key, each in variants.items() if isinstance(each, dict)},
    }
    return {key: value for key, value in table.items() if value is not None}


def _fitting(value: Any, kind: Any) -> Any:
    """Return a value of this type; None if it has another one."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _rest(content: Table, problems: list[str]) -> Table:
    depth = _fitting(content.get("subagent_depth"), int)
    given = table_in(content.get("compaction"))
    compaction = {
        key: value for key, kind in COMPACTION.items() if (value := _fitting(given.get(key), kind)) is not None
    }
    problems += _left("compaction", given, compaction)
    return {
        "tree": {"depth": max(0, min(depth, 3))} if depth is not None else {},
        "snapshots": {"enabled": False} if content.get("snapshot") is False else {},
        "compaction": compaction,
    }


def _table(content: Table, key: str) -> Table:
    section = content.get(key)
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{key} must be a table, not {section!r}")
    return section or {}
