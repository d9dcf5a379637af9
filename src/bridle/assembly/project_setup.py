"""What the user's runtime for a project is made of: settings, tools, and the user's own files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.assembly.command_environment import command_environment_for
from bridle.assembly.project_access import brought_by
from bridle.assembly.user_setup import UserSetup
from bridle.config.instructions import Instructions, own_files
from bridle.config.load import approvals_file, config_home, data_home, load, person, state_home
from bridle.config.settings import Settings
from bridle.core.permission import Rule
from bridle.snapshots.repository import Bounds
from bridle.snapshots.snapshots import Snapshots
from bridle.tools.registry import builtin_tools
from bridle.tools.tool import Tool
from bridle.workspace.remote_instructions import RemoteInstructions, is_address


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectSetup:
    """The parts of a runtime for a project, and what its reader must know."""

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
    """Faults of extensions, which concern a reader only if something is to be run."""
    wanted: tuple[str, ...]
    """The model and the providers that an untrusted project names."""


def set_up_project(
    folder: Path, environment: Mapping[str, str], *, flags: Mapping[str, Any] | None, trusted: bool
) -> ProjectSetup:
    """Read everything; raises `ConfigError`."""
    loaded = load(folder, environment=environment, flags=flags, trusted=trusted)
    built_in = builtin_tools()
    patterns = loaded.settings.instructions
    addresses = [name for name in patterns if is_address(name)]
    remote = RemoteInstructions(addresses) if addresses else None
    guarded = tuple(home(environment).resolve() for home in (config_home, data_home, state_home))
    commands = command_environment_for(loaded.settings, environment, guarded, None, folder)
    brought = brought_by(folder, environment, built_in, commands, trusted=loaded.trusted)
    commands.drop()
    instructions = Instructions(folder, own_files(person(environment), config_home(environment)), patterns, remote)
    return ProjectSetup(
        journal=loaded.settings.journal.path or data_home(environment) / "journal.db",
        settings=loaded.settings,
        origins=loaded.origins,
        restrictions=loaded.restrictions,
        tools=brought.tools,
        outputs=state_home(environment) / "outputs",
        user=UserSetup(
            guarded=guarded,
            built_in=frozenset({"task", "skill", *(tool.spec.name for tool in built_in)}),
            approvals=approvals_file(environment),
            skills=brought.skills,
            instructions=instructions.text,
            files=_snapshots(loaded.settings, environment),
            stricter=brought.stricter,
            remote=remote,
        ),
        log=state_home(environment) / "bridle.log",
        notices=loaded.notices,
        problems=tuple(brought.problems),
        wanted=loaded.wanted,
    )


def _snapshots(settings: Settings, environment: Mapping[str, str]) -> Snapshots | None:
    given = settings.snapshots
    if not given.enabled:
        return None
    bounds = Bounds(int(given.file_mb * (1 << 20)), given.quota_mb << 20, given.keep_days)
    return Snapshots(data_home(environment) / "snapshots", environment, bounds)
