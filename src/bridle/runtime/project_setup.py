"""Makes the `RuntimeConfig` for a project directory: reads settings, tools, skills, instructions, user's own files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridle.assembly.command_environment import command_caches, command_environment_for
from bridle.assembly.user_setup import UserSetup
from bridle.config.import_claude import claude_rules
from bridle.config.instructions import Instructions, own_files
from bridle.config.load import Loaded, approvals_file, config_home, data_home, journal_place, load, person, state_home
from bridle.config.settings import Settings
from bridle.config.trust import TOOLS, project_root
from bridle.process.program_lookup import outside
from bridle.runtime.config import RuntimeConfig
from bridle.snapshots.repository import Bounds
from bridle.snapshots.snapshots import Snapshots
from bridle.tools.isolated_tools import hosted_tools
from bridle.tools.python_tools import brought_tools, without_doubles
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Tool
from bridle.workspace.remote_instructions import RemoteInstructions, is_address
from bridle.workspace.skills import Skill, find_skills

if TYPE_CHECKING:
    from bridle.mcp.accepted_tools import AcceptedTools

SKILL_FOLDERS = (".bridle/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectSetup:
    """The configuration of a runtime for a project, and the notices about it."""

    config: RuntimeConfig
    log: Path
    notices: tuple[str, ...]
    problems: tuple[str, ...]
    """Problems of extensions, shown only by surfaces that run turns."""
    wanted: tuple[str, ...]
    """The model and the providers that an untrusted project names."""


def set_up_project(
    folder: Path, environment: Mapping[str, str], *, flags: Mapping[str, Any] | None, trusted: bool
) -> ProjectSetup:
    """Read the settings, tools, skills and instructions of a project; raises `ConfigError`."""
    loaded = load(folder, environment=environment, flags=flags, trusted=trusted)
    settings, home = loaded.settings, Path(environment.get("HOME") or "/nonexistent")
    built_in = builtin_tools()
    addresses = [name for name in settings.instructions if is_address(name)]
    remote = RemoteInstructions(addresses) if addresses else None
    own = own_files(person(environment), config_home(environment))
    guarded = tuple(each(environment).resolve() for each in (config_home, data_home, state_home))
    tools, problems = _with_python_tools(built_in, folder, environment, loaded, guarded)
    stricter, unread = claude_rules(folder, home)
    user = UserSetup(
        guarded=guarded,
        built_in=frozenset({"task", "skill", *(tool.spec.name for tool in built_in)}),
        approvals=approvals_file(environment),
        caches=command_caches(environment),
        pins=_pins(settings, environment),
        logins=data_home(environment) / "mcp-auth.json",
        skills=_skills(folder, config_home(environment), home, trusted=loaded.trusted),
        instructions=Instructions(folder, own, settings.instructions, remote).text,
        files=_snapshots(settings, environment),
        stricter=stricter,
        remote=remote,
    )
    config = RuntimeConfig(
        journal=journal_place(settings, environment),
        settings=settings,
        origins=loaded.origins,
        tools=tools,
        subagents=None,
        directory=folder,
        restrictions=loaded.restrictions,
        outputs=state_home(environment) / "outputs",
        environment=environment,
        user=user,
        place=settings.workers.place or os.uname().nodename,
    )
    return ProjectSetup(
        config=config,
        log=state_home(environment) / "bridle.log",
        notices=loaded.notices,
        problems=(*problems, *unread),
        wanted=loaded.wanted,
    )


def _snapshots(settings: Settings, environment: Mapping[str, str]) -> Snapshots | None:
    given = settings.snapshots
    if not given.enabled:
        return None
    bounds = Bounds(int(given.file_mb * (1 << 20)), given.quota_mb << 20, given.keep_days)
    # Commands can put programs into these folders.
    writable = (Path(path).expanduser() for path in settings.sandbox.writable)
    path = outside(environment.get("PATH", os.defpath), *writable)
    return Snapshots(data_home(environment) / "snapshots", {**environment, "PATH": path}, bounds)


def _pins(settings: Settings, environment: Mapping[str, str]) -> AcceptedTools | None:
    """Return the user's accepted offers of MCP servers; None if no server is configured."""
    if not settings.mcp:
        return None
    # Imported only if there are servers.
    from bridle.mcp.accepted_tools import AcceptedTools

    return AcceptedTools(data_home(environment) / "mcp.json")


def _skills(directory: Path, config: Path, home: Path, *, trusted: bool) -> dict[str, Skill]:
    """Return the skills of a project and of its user; those of the project win."""
    mine = [config / "skills", home / ".claude" / "skills", home / ".config" / "opencode" / "skill"]
    theirs = find_skills([directory / name for name in SKILL_FOLDERS], None if trusted else directory)
    return {**theirs, **{name: skill for name, skill in find_skills(mine).items() if name not in theirs}}


def _with_python_tools(
    tools: list[Tool], directory: Path, environment: Mapping[str, str], loaded: Loaded, guarded: tuple[Path, ...]
) -> tuple[list[Tool], list[str]]:
    """Return the tools, with the user's Python tools and those of a trusted project, and the problems."""
    own = config_home(environment) / "tools"
    root = project_root(directory) / TOOLS
    caches = command_caches(environment)
    journal = journal_place(loaded.settings, environment)
    commands = command_environment_for(
        loaded.settings, environment, guarded, None, directory, caches=caches, journal=journal
    )
    found, problems = brought_tools(own) if own.is_dir() else ([], [])
    if loaded.trusted and any(root.glob("*.py")):
        theirs, wrong = hosted_tools(root, directory.resolve(), commands.variables(), commands.sandbox("tools"))
        found, problems = [*found, *theirs], [*problems, *wrong]
    commands.drop()
    taken = {tool.spec.name for tool in tools} | {"task", "skill"}
    kept, doubles = without_doubles(found, taken)
    return [*tools, *kept], [*problems, *doubles]
