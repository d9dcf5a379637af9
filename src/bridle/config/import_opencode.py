"""Conversion of OpenCode's configuration into Bridle's settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from glob import escape
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.import_agents import Table, agent_from_opencode, not_taken, permissions
from bridle.config.import_servers import servers_from_opencode
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


def from_opencode(content: Table, path: Path) -> tuple[Table, list[str]]:
    """Convert an OpenCode configuration; return the table and the problems. Raises `ConfigError` with the key."""
    problems: list[str] = []
    names = {"model": "model", "small_model": "small_model", "agent": "default_agent"}
    table: Table = {ours: content[theirs] for ours, theirs in names.items() if isinstance(content.get(theirs), str)}
    if isinstance(content.get("instructions"), list):
        table["instructions"] = [_place(path.parent, str(name)) for name in content["instructions"]]
    sections = {
        "agents": _agents(content, path, problems),
        "permission": _permission(content),
        "commands": _commands(content, problems),
    }
    sections["mcp"], unknown = servers_from_opencode(content.get("mcp"))
    problems += unknown
    given = content.get("provider") or content.get("providers")
    sections["providers"], sections["models"] = _providers(given, problems)
    table |= {name: section for name, section in sections.items() if section}
    table |= _rest(content, problems)
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
    both = [content[key] for key in ("permission", "permissions") if content.get(key) is not None]
    rules = [rule for each in both for rule in permissions(each, "permission")]
    off = {name: "deny" for name, on in _table(content, "tools").items() if on is False}
    return rules + permissions(off, "tools")


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
    for name, fields in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(fields, Mapping):
            problems.append(f"provider.{name} is left out: it must be an object")
            continue
        npm = fields.get("npm") or fields.get("package")
        if npm is not None and (not isinstance(npm, str) or npm not in WIRES):
            problems.append(
                f"provider.{name} is left out: Bridle does not know the package {npm} (known: {', '.join(WIRES)})"
            )
            continue
        table = _provider(npm, fields)
        try:
            msgspec.convert(table, Provider)
        except msgspec.ValidationError as error:
            problems.append(f"provider.{name} is left out: {error}")
            continue
        if table.get("key"):
            problems.append(f"provider.{name} has its key in this file: a variable or `bridle auth login` is safer")
        providers |= {name: table} if table else {}
        problems += _left(f"provider.{name}", fields, PROVIDER_KEYS)
        problems += _left(
            f"provider.{name}.options", fields.get("options"), ("baseURL", "apiKey", "headers", *TIMEOUTS)
        )
        found, more = _models(f"provider.{name}.models", fields.get("models"))
        models |= {f"{name}/{model}": table for model, table in found}
        problems += more
    return providers, models


def _left(where: str, given: Any, known: Collection[str]) -> list[str]:
    """Return a notice with the unsupported keys, if there are any."""
    keys = given if isinstance(given, Mapping) else ()
    return not_taken(sorted(str(key) for key in keys if key not in known), f"{where}: ")


def _provider(npm: Any, fields: Mapping[str, Any]) -> Table:
    table: Table = {"wire": WIRES[npm]} if npm is not None else {}
    options, variables = fields.get("options"), fields.get("env")
    given = dict(options) if isinstance(options, Mapping) else {}
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
    return table


def _models(where: str, given: Any) -> tuple[list[tuple[str, Table]], list[str]]:
    found: list[tuple[str, Table]] = []
    problems: list[str] = []
    for name, fields in given.items() if isinstance(given, Mapping) else ():
        if not isinstance(fields, Mapping):
            continue
        problems += _left(f"{where}.{name}", fields, MODEL_KEYS | MODEL_SILENT)
        table: Table = {}
        if isinstance(fields.get("id"), str) and fields["id"] != name:
            table["id"] = fields["id"]
        takes = _takes(fields.get("modalities"))
        table |= {"takes": takes} if takes is not None else {}
        limit, cost = fields.get("limit"), fields.get("cost")
        if isinstance(limit, Mapping):
            sizes = {"context_window": limit.get("context"), "max_output_tokens": limit.get("output")}
            table |= {key: size for key, size in sizes.items() if isinstance(size, int) and size > 0}
        if isinstance(cost, Mapping) and {"input", "output"} <= set(cost):
            kinds = ("input", "output", "cache_read", "cache_write")
            table["price"] = {kind: cost[kind] for kind in kinds if isinstance(cost.get(kind), (int, float))}
        if isinstance(fields.get("options"), Mapping):
            table["options"] = dict(fields["options"])
        if isinstance(fields.get("variants"), Mapping):
            named = fields["variants"].items()
            table["variants"] = {str(key): dict(each) for key, each in named if isinstance(each, Mapping)}
        found += [(str(name), table)] if table else []
    return found, problems


def _takes(modalities: Any) -> list[str] | None:
    """Return the model's input types besides text, if given."""
    given = modalities.get("input") if isinstance(modalities, Mapping) else None
    return [sort for sort in ("image", "pdf") if sort in given] if isinstance(given, list) else None


def _rest(content: Table, problems: list[str]) -> Table:
    table: Table = {}
    depth = content.get("subagent_depth")
    if isinstance(depth, int) and not isinstance(depth, bool):
        table["tree"] = {"depth": max(0, min(depth, 3))}
    if content.get("snapshot") is False:
        table["snapshots"] = {"enabled": False}
    given = content.get("compaction")
    if isinstance(given, Mapping):
        known = {key: given[key] for key in ("auto", "prune") if isinstance(given.get(key), bool)}
        reserved = given.get("reserved")
        if isinstance(reserved, int) and not isinstance(reserved, bool) and reserved >= 0:
            known["reserved"] = reserved
        table |= {"compaction": known} if known else {}
        problems += _left("compaction", given, known)
    return table


def _table(content: Table, key: str) -> Table:
    section = content.get(key)
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{key} must be a table, not {section!r}")
    return section or {}
