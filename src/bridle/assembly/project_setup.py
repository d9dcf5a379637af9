"""Builds the parts of a runtime for a project: settings, tools, skills and the user's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bridle.assembly.command_environment import CommandEnvironment, command_environment_for
from bridle.assembly.user_setup import UserSetup
from bridle.config.import_claude import claude_rules
from bridle.config.instructions import Instructions, own_files
from bridle.config.load import approvals_file, config_home, data_home, load, person, state_home
from bridle.config.settings import Settings
from bridle.config.trust import TOOLS, project_root
from bridle.core.permission import Rule
from bridle.snapshots.repository import Bounds
from bridle.snapshots.snapshots import Snapshots
from bridle.tools.isolated_tools import hosted_tools
from bridle.tools.python_tools import brought_tools, without_doubles
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Tool
from bridle.workspace.remote_instructions import RemoteInstructions, is_address
from bridle.workspace.skills import Skill, find_skills

SKILL_FOLDERS = (".bridle/skills", ".claude/skills", ".opencode/skill", ".opencode/skills", ".agents/skills")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectSetup:
    """The parts of a runtime for a project, and the notices about them."""

    journal: str | Path
    settings: Settings
    origins: Mapping[str, str]
    restrictions: tuple[tuple[Rule, ...], ...]
    tools: Sequence[Tool]
    outputs: Path
    user: UserSetup
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
    built_in = builtin_tools()
    patterns = loaded.settings.instructions
    addresses = [name for name in patterns if is_address(name)]
    remote = RemoteInstructions(addresses) if addresses else None
    guarded = tuple(home(environment).resolve() for home in (config_home, data_home, state_home))
    commands = command_environment_for(loaded.settings, environment, guarded, None, folder)
    found = find_extensions(folder, environment, built_in, commands, trusted=loaded.trusted)
    commands.drop()
    instructions = Instructions(folder, own_files(person(environment), config_home(environment)), patterns, remote)
    return ProjectSetup(
        journal=loaded.settings.journal.path or data_home(environment) / "journal.db",
        settings=loaded.settings,
        origins=loaded.origins,
        restrictions=loaded.restrictions,
        tools=found.tools,
        outputs=state_home(environment) / "outputs",
        user=UserSetup(
            guarded=guarded,
            built_in=frozenset({"task", "skill", *(tool.spec.name for tool in built_in)}),
            approvals=approvals_file(environment),
            skills=found.skills,
            instructions=instructions.text,
            files=_snapshots(loaded.settings, environment),
            stricter=found.stricter,
            remote=remote,
        ),
        log=state_home(environment) / "bridle.log",
        notices=loaded.notices,
        problems=tuple(found.problems),
        wanted=loaded.wanted,
    )


def _snapshots(settings: Settings, environment: Mapping[str, str]) -> Snapshots | None:
    given = settings.snapshots
    if not given.enabled:
        return None
    bounds = Bounds(int(given.file_mb * (1 << 20)), given.quota_mb << 20, given.keep_days)
    return Snapshots(data_home(environment) / "snapshots", environment, bounds)


class Extensions(NamedTuple):
    """The tools, skills and imported rules of a project and its user, and their problems."""

    tools: list[Tool]
    skills: dict[str, Skill]
    stricter: tuple[Rule, ...]
    problems: list[str]


def find_extensions(
    directory: Path, environment: Mapping[str, str], tools: list[Tool], commands: CommandEnvironment, *, trusted: bool
) -> Extensions:
    """Return these tools and those from Python files, skills, and rules from the configuration of Claude Code."""
    home = Path(environment.get("HOME") or "/nonexistent")
    extended, problems = _with_python_tools(tools, directory, environment, commands, trusted=trusted)
    stricter, unread = claude_rules(directory, home)
    mine = [config_home(environment) / "skills", home / ".claude" / "skills", home / ".config" / "opencode" / "skill"]
    theirs = find_skills([directory / name for name in SKILL_FOLDERS], None if trusted else directory)
    skills = {**theirs, **{name: skill for name, skill in find_skills(mine).items() if name not in theirs}}
    return Extensions(extended, skills, stricter, [*problems, *unread])


def _with_python_tools(
    tools: list[Tool], directory: Path, environment: Mapping[str, str], commands: CommandEnvironment, *, trusted: bool
) -> tuple[list[Tool], list[str]]:
    """Return the tools, with the user's Python tools and those of a trusted project, and the problems."""
    own = config_home(environment) / "tools"
    root = project_root(directory) / TOOLS
    found, problems = brought_tools(own) if own.is_dir() else ([], [])
    if trusted and any(root.glob("*.py")):
        theirs, wrong = hosted_tools(root, directory.resolve(), environment, commands.sandbox("tools"))
        found, problems = [*found, *theirs], [*problems, *wrong]
    taken = {tool.spec.name for tool in tools} | {"task", "skill"}
    kept, doubles = without_doubles(found, taken)
    return [*tools, *kept], [*problems, *doubles]
