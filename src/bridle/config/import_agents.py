"""Converts parsed agents of OpenCode or Claude Code, and OpenCode's permissions, to settings; reads no file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bridle.config.import_claude import claude_rule, claude_tool
from bridle.config.merge import as_rules, table_in
from bridle.config.settings import STEP_SPELLINGS, AgentSettings
from bridle.core.permission import Verdict
from bridle.errors import ConfigError

Table = dict[str, Any]

OURS = frozenset(field.name for field in msgspec.structs.fields(AgentSettings))
RENAMED = {"system": "prompt", "disabled": "disable", "permissions": "permission"}
ACTIONS = {"write": "edit", "patch": "edit", "multiedit": "edit", "shell": "bash", "subagent": "task"}
CLAUDE_KNOWN = frozenset(
    {"name", "description", "tools", "disallowedTools", "model", "maxTurns", "permissionMode", "color", "prompt"}
)
FILE = re.compile(r"\{file:([^{}]+)\}")


class Imported(NamedTuple):
    """The settings imported from one file, and the problems."""

    path: Path
    table: Table
    problems: list[str]
    broken: tuple[str, ...] = ()
    """Agents in it that could not be read."""
    error: str = ""
    """Why nothing could be imported."""

    def told(self) -> list[str]:
        """Return all problems with the file."""
        return [f"{self.path}: {problem}" for problem in (*self.problems, *filter(None, [self.error]))]


def agent_from_opencode(given: Any, folder: Path, where: str) -> tuple[Table, list[str]]:
    """Convert an OpenCode agent of any version; return it and the unsupported keys. Raises `ConfigError`."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} must be a table, not {given!r}")
    fields = {RENAMED.get(str(key), str(key)): value for key, value in given.items() if value is not None}
    fields.pop("name", None)
    if body := table_in(table_in(fields.pop("request", None)).get("body")):
        fields["options"] = {**body, **table_in(fields.get("options"))}
    model = fields.get("model")
    if isinstance(model, str) and "#" in model:
        fields["model"], _, fields["variant"] = model.partition("#")
    if "permission" in fields:
        fields["permission"] = permissions_of(given, f"{where}.permission")
    if isinstance(fields.get("tools"), (str, list)):
        fields["tools"] = names(fields["tools"])
    prompt = fields.get("prompt")
    if isinstance(prompt, str) and (found := FILE.fullmatch(prompt.strip())):
        del fields["prompt"]
        fields["prompt_file"] = str(folder / Path(found[1]).expanduser())
    if isinstance(fields.get("description"), str):
        fields["description"] = fields["description"].strip()
    unknown = [key for key in fields if key not in OURS]
    table = {key: value for key, value in fields.items() if key in OURS}
    checked(table, where)
    return table, unknown


def agent_from_claude(given: Mapping[str, Any], where: str) -> tuple[Table, list[str]]:
    """Convert a Claude Code agent; return it and the unsupported keys. Raises `ConfigError`."""
    table: Table = {"mode": "all"}
    table |= {key: str(given[key]).strip() for key in ("description", "color", "prompt") if given.get(key) is not None}
    table |= {"maxTurns": given["maxTurns"]} if given.get("maxTurns") is not None else {}
    model = given.get("model")
    if model and model != "inherit":
        table["model"] = f"anthropic/{model}" if str(model).startswith("claude-") else str(model)
    rules: list[Table] = []
    unknown = [key for key in given if key not in CLAUDE_KNOWN]
    if given.get("tools") not in (None, "*", ["*"]):
        table["tools"] = _only(names(given["tools"]), rules)
    for name in names(given.get("disallowedTools") or []):
        rules += _ruled(name, "deny")
    if given.get("permissionMode") == "plan":
        rules.append({"permission": "edit", "pattern": "*", "verdict": "deny"})
    elif given.get("permissionMode") == "bypassPermissions":
        unknown.append("permissionMode")
    if rules:
        table["permission"] = rules
    checked(table, where)
    return table, unknown


def _only(given: list[str], rules: list[Table]) -> list[str]:
    """Return Bridle's names of an agent's only tools; adds rules for tools with a pattern to `rules`."""
    found: list[str] = []
    narrowed: list[Table] = []
    for name in given:
        tool, bracket, _ = name.partition("(")
        ours = tool if tool == "*" else claude_tool(tool)
        if ours is None:
            continue
        found.append(ours)
        if bracket:
            denied = [{**rule, "pattern": "*", "verdict": "deny"} for rule in _ruled(name, "allow")]
            rules += [rule for rule in denied if rule not in rules]
            narrowed += _ruled(name, "allow")
    rules += narrowed
    return sorted(set(found))


def _ruled(name: str, verdict: Verdict) -> list[Table]:
    return [msgspec.structs.asdict(rule) for rule in claude_rule(name, verdict, Path("~").expanduser())]


def permissions_of(content: Mapping[str, Any], where: str) -> list[Table]:
    """Convert the OpenCode permissions in a table, which has two names for them; raises `ConfigError`."""
    both = [content[key] for key in ("permission", "permissions") if content.get(key) is not None]
    return [rule for each in both for rule in permissions(each, where)]


def permissions(given: Any, where: str) -> list[Table]:
    """Convert OpenCode permissions of any version (a word, a table or a list) to rules; raises `ConfigError`."""
    if isinstance(given, str):
        return [{"permission": "*", "pattern": "*", "verdict": given}]
    if isinstance(given, list):
        return [_rule(rule, f"{where}[{place}]") for place, rule in enumerate(given)]
    if not isinstance(given, Mapping):
        raise ConfigError(f"{where} must be a table, a list or a word, not {given!r}")
    found = [{**rule, "permission": _permission(rule["permission"])} for rule in as_rules(given)]
    several = Counter(_permission(str(name)) for name in given)
    # Several of their permissions may map to one of ours: a denial by any of them must win.
    again = [rule for rule in found if several[rule["permission"]] > 1 and rule["verdict"] == "deny"]
    return found + again


def _rule(given: Any, where: str) -> Table:
    if not isinstance(given, Mapping) or not isinstance(given.get("action"), str):
        raise ConfigError(f"{where} must have an action, a resource and an effect")
    pattern, verdict = given.get("resource", "*"), given.get("effect")
    return {"permission": _permission(given["action"]), "pattern": pattern, "verdict": verdict}


def _permission(action: str) -> str:
    return ACTIONS.get(action, action)


def not_taken(keys: Iterable[Any], where: str = "") -> list[str]:
    """Return a notice with the unsupported keys, if there are any."""
    named = ", ".join(map(str, keys))
    return [f"{where}not taken over: {named}"] if named else []


def names(given: Any) -> list[str]:
    """Return names from a list or a comma-separated string; commas in parentheses do not separate."""
    if isinstance(given, str):
        return [name.strip() for name in re.split(r",(?![^()]*\))", given) if name.strip()]
    return [str(name).strip() for name in given] if isinstance(given, list) else []


def checked(table: Table, where: str) -> None:
    """Raise `ConfigError` if a definition is invalid; its steps are checked later, with those of all other files."""
    try:
        msgspec.convert({key: value for key, value in table.items() if key not in STEP_SPELLINGS}, AgentSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {error}") from error
