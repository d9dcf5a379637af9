"""Reads permission rules from Claude Code's settings; they can only make Bridle's stricter, so they need no trust."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.merge import table_in
from bridle.core.permission import Rule, Verdict
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import SETTINGS_BYTES, read_bounded

FILES = (".claude/settings.json", ".claude/settings.local.json")
SAME = ("Read", "Write", "Edit", "Bash", "Grep", "Glob", "WebFetch", "TodoWrite", "Task", "Skill")
"""Tools with the same name in Bridle, in small letters."""
TOOLS = {
    **{name: name.lower() for name in SAME},
    **dict.fromkeys(("MultiEdit", "NotebookEdit"), "edit"),
    "LS": "list",
    "Agent": "task",
    "AskUserQuestion": "question",
}
PERMISSIONS: dict[str, tuple[str, ...]] = {
    "read": ("read", "grep"),
    "write": ("edit",),
    "todowrite": (),
    "question": (),
}
"""The permissions of a tool, where they are not just its name; for two tools no rule is taken over."""
SERVERS = "mcp__"
ORDER: tuple[Verdict, ...] = ("allow", "ask", "deny")
"""Claude Code uses the reverse order, where the first match wins; in Bridle the last match wins."""


def claude_rules(project: Path, home: Path) -> tuple[tuple[Rule, ...], list[str]]:
    """Return Claude Code's rules, ordered so that the last match gives the same verdict, and unreadable files."""
    found: dict[Verdict, list[Rule]] = {verdict: [] for verdict in ORDER}
    problems: list[str] = []
    for folder, name in ((home, FILES[0]), *((project, name) for name in FILES)):
        path = folder / name
        try:
            tables = _permissions(path)
        except (OSError, ConfigError, msgspec.MsgspecError) as error:
            problems.append(f"{path}: its permissions are ignored: {error}")
            continue
        for verdict in ORDER:
            for text in tables.get(verdict, ()):
                if isinstance(text, str):
                    found[verdict] += claude_rule(text, verdict, home)
    return tuple(rule for verdict in ORDER for rule in found[verdict]), problems


def _permissions(path: Path) -> Mapping[str, Iterable[Any]]:
    if not path.is_file():
        return {}
    content = msgspec.json.decode(read_bounded(path, SETTINGS_BYTES))
    permissions = table_in(table_in(content).get("permissions"))
    return {key: value for key, value in permissions.items() if isinstance(value, list)}


def claude_rule(text: str, verdict: Verdict, home: Path) -> list[Rule]:
    """Convert a Claude Code rule like `Bash(git:*)`; empty if Bridle does not have the tool."""
    parsed = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text, flags=re.DOTALL)
    tool = claude_tool(parsed[1]) if parsed is not None else None
    if parsed is None or tool is None:
        return []
    patterns = ["*"] if parsed[1].startswith(SERVERS) else _patterns(tool, parsed[2], home)
    return [Rule(permission, each, verdict) for permission in PERMISSIONS.get(tool, (tool,)) for each in patterns]


def claude_tool(name: str) -> str | None:
    """Return Bridle's name for a tool of Claude Code, or for the tools of a server; None if there is none."""
    if not name.startswith(SERVERS):
        return TOOLS.get(name)
    server, _, tool = name.removeprefix(SERVERS).partition("__")
    return f"{server}_{tool or '*'}"


def _patterns(tool: str, given: str | None, home: Path) -> list[str]:
    if not given or given in ("*", "**"):
        return ["*"]
    match tool:
        case "bash":
            beginning = given.removesuffix(":*")
            return [beginning, f"{beginning} *"] if given.endswith(":*") else [given]
        case "webfetch":
            domain = given.removeprefix("domain:")
            return [f"http*://{host}{more}" for host in (domain, f"*.{domain}") for more in ("", ":*")]
        case "task" | "skill":
            return [given]
    return _paths(given, home)


def _paths(given: str, home: Path) -> list[str]:
    """Convert path patterns: `*` also matches subfolders here, which is stricter."""
    pattern = given.replace("**", "*")
    if pattern.startswith("//"):
        return [pattern[1:]]
    if pattern.startswith("~/"):
        return [f"{home}{pattern[1:]}"]
    if pattern.startswith(("./", "/")):
        return [pattern.removeprefix(".").removeprefix("/")]
    return [pattern, f"*/{pattern}"]
