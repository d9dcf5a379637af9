"""`CommandEnvironment`: sandbox, variables, limits and protected files for a runtime's commands; it runs none."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path

from bridle.config.agents import rules_of
from bridle.config.settings import CareSettings, McpServer, SandboxSettings, Settings
from bridle.core.events import SessionInfo
from bridle.core.hook import HookSettings
from bridle.core.permission import DEFAULT_RULES, Access, Rule, judge, named_patterns
from bridle.errors import ConfigError, ToolFailed
from bridle.journal.address import private_files
from bridle.process.lifelines import Lifelines
from bridle.process.program_lookup import outside, own_program
from bridle.process.sandbox import HOMES, SESSION_VARIABLES, SOCKETS, Sandbox, sandbox_program
from bridle.process.sandbox_home import Home, git_identity, plain_settings
from bridle.tools.background import Backgrounds
from bridle.tools.command_setup import CommandSetup, DefaultToolSettings, ToolSettings
from bridle.tools.resources import Resources
from bridle.values.secrets import is_secret, without_secrets
from bridle.workspace.files import located
from bridle.workspace.git_place import git_place, named_by_config

OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[1])
"""The interpreter and the packages that Bridle runs from."""
MOST_FOLDERS = 1_000
CONTAINERS = ("DOCKER_HOST", "CONTAINER_HOST")
"""Variables with the addresses of programs that run containers."""
OF_AGENT = "agent "
"""Begins the name of a server in a program's own code, and not in a file of settings."""


@dataclass(slots=True)
class CommandEnvironment:
    """The configuration of commands for all sessions of one runtime."""

    settings: SandboxSettings
    environment: Mapping[str, str]
    _: KW_ONLY
    directory: Path = Path()
    """The project. Nothing in it is taken for a program of the machine."""
    guarded: tuple[Path, ...] = ()
    journal: object = None
    """The path or the address of the journal: no command may open its files."""
    outputs: Path | None = None
    caches: Path | None = None
    """The folder of caches for commands; None means one that ends with the runtime."""
    rules: Sequence[Rule] = DEFAULT_RULES
    """The rules for files that commands may read, used where no agent's rules are given."""
    protected: tuple[Path, ...] = ()
    """Project files named by the user's commands that run outside the sandbox."""
    keys: frozenset[str] = frozenset()
    """Variables with API keys of providers, which no command gets."""
    passes: Sequence[str] = ()
    """Variables that commands get although their names look like secrets."""
    tool_settings: ToolSettings = DefaultToolSettings()
    resources: Resources = field(default_factory=Resources)
    lifelines: Callable[[str], Lifelines | None] = lambda session: None
    """Returns the signals without which the commands of a session end; "" stands for those of no session."""
    _scratch: Path | None = None
    _home: Home | None = None

    @property
    def backgrounds(self) -> Backgrounds:
        """The background commands."""
        return self.resources.of(Backgrounds)

    @property
    def _written(self) -> tuple[Path, ...]:
        """The folders in which commands can write, and so put programs."""
        return (self.directory, *_paths(self.settings.writable))

    @property
    def sandboxed(self) -> bool:
        """Whether commands run in a sandbox; raises `ConfigError` if one is required and not available."""
        if self.settings.mode == "off":
            return False
        program, why_not = sandbox_program(*self._written)
        if self.settings.mode == "required" and not program:
            raise ConfigError(f"sandbox.mode is required, but no sandbox is available: {why_not}")
        return bool(program)

    def warning(self) -> str:
        """Return a warning if commands run without a sandbox although the settings do not turn it off."""
        if self.settings.mode != "auto" or self.sandboxed:
            return ""
        return (
            f"commands run without a sandbox, so each one needs your permission: {sandbox_program(*self._written)[1]}"
        )

    def permits(self, access: Access) -> bool:
        """Return whether the rules allow an access to a command that runs outside a turn."""
        return judge(self.rules, access) == "allow"

    def setup(
        self, session: SessionInfo, *, read_only: bool, rules: Sequence[Rule], guarded: Sequence[Path]
    ) -> CommandSetup:
        """Return the command setup of a turn; `guarded` are further paths that no file tool writes to."""

        # All of it is found at its first use, so that a turn without built-in tools does not pay for it, and together,
        # so that no call changes what a later one finds.
        @cache
        def found() -> tuple[dict[str, str], tuple[Path, ...]]:
            own = (*self.guarded, *self._journal_files())
            return self.variables(), (*own, *self.guarded_in(session.directory), *guarded)

        def sandbox() -> Sandbox | None:
            found()
            return self.sandbox(session.id, read_only=read_only, rules=rules)

        return CommandSetup(
            directory=Path(session.directory),
            find_environment=lambda: found()[0],
            find_guarded=lambda: found()[1],
            find_sandbox=sandbox,
            bounds=self.bounds(),
            find_lifelines=lambda: self.lifelines(session.id),
            reads_only=read_only,
            resources=self.resources,
            settings=self.tool_settings,
        )

    def variables(self) -> dict[str, str]:
        """Return the environment variables of commands, without keys and secrets except those that the user passes."""
        return without_secrets(self.environment, known=self.keys, passes=self.passes)

    def sandbox(self, session: str, *, read_only: bool = False, rules: Sequence[Rule] | None = None) -> Sandbox | None:
        """Return the sandbox for the commands of a session, with masks from the rules; None without a sandbox."""
        if not self.sandboxed:
            return None
        scratch = self._scratch = self._scratch or Path(tempfile.mkdtemp(prefix="bridle-"))
        outputs = (self.outputs / session).resolve() if self.outputs is not None else None
        return Sandbox(
            sandbox_program(*self._written)[0],
            self._known_home,
            scratch,
            writable=_paths(self.settings.writable),
            hidden=(*self.guarded, *self._secret_files(), *self._sockets(), *_paths(self.settings.hidden)),
            journal=self._journal_files(),
            network=self.settings.network,
            read_only=read_only,
            programs=self._programs(),
            own=OWN,
            readable=(outputs,) if outputs is not None else (),
            stored=str(outputs) if outputs is not None else "",
            protected=self.protected,
            masks=named_patterns(self.rules if rules is None else rules, "read"),
        )

    def _journal_files(self) -> tuple[Path, ...]:
        found = private_files(self.journal, self.environment)
        return tuple(path for path in found if not any(map(path.is_relative_to, self.guarded)))

    def _secret_files(self) -> list[Path]:
        """Return the files that variables name which commands do not get: with passwords, or with private keys."""
        given = (value for name, value in self.environment.items() if is_secret(name) and name not in self.passes)
        return [Path(value).absolute() for value in given if os.path.isfile(value)]

    def _sockets(self) -> list[Path]:
        """Return the sockets of agents, desktops and containers that variables name, unless the settings open them."""
        given = (re.search(r"/[^,;:]*", self.environment.get(name, "")) for name in (*SESSION_VARIABLES, *CONTAINERS))
        found = [Path(each[0]) for each in given if each is not None and os.path.exists(each[0])]
        opened = _paths([*self.settings.home, *self.settings.writable])
        return [path for path in found if not path.is_dir() and not any(map(path.resolve().is_relative_to, opened))]

    def _known_home(self) -> Home:
        """Return the home directory of commands; its settings files are generated for the first command."""
        if self._home is not None:
            return self._home
        assert self._scratch is not None
        named = Path(self.environment.get("HOME") or "/nonexistent")
        caches = (self.caches or self._scratch / "caches").resolve()
        git = own_program("git", *self._written, path=self.environment.get("PATH", ""))
        texts = {**plain_settings(named), ".gitconfig": git_identity(git, self.environment)}
        folder = self._scratch / "settings"
        folder.mkdir(mode=0o700, exist_ok=True)
        files: dict[str, Path] = {}
        for name, text in texts.items():
            files[name] = folder / name.replace("/", "_")
            files[name].write_text(text, encoding="utf-8")
        self._home = Home(named.resolve(), named, caches, files, _paths(self.settings.home))
        return self._home

    def _programs(self) -> tuple[Path, ...]:
        """Return the folders of Bridle's own programs and those of PATH; of a virtual environment, its root folder.

        A folder that contains a home, `/tmp` or sockets is left out: mounting it would show all of them.
        """
        entries = [Path(entry) for entry in self.environment.get("PATH", "").split(":") if entry.startswith("/")]
        roots = [entry.parent if os.path.exists(entry.parent / "pyvenv.cfg") else entry for entry in entries]
        home = Path(self.environment.get("HOME") or "/nonexistent").resolve()
        closed = (home, *map(Path, ("/tmp", *HOMES, *SOCKETS)))
        given = ((path, path.resolve()) for path in (*OWN, *roots))
        return tuple(path for path, real in given if not any(place.is_relative_to(real) for place in closed))

    def guarded_in(self, directory: str) -> tuple[Path, ...]:
        """Return the paths that no file tool writes in or around a project, besides those protected by name."""
        place = git_place(Path(directory).resolve())
        path = outside(self.environment.get("PATH", ""), *self._written, Path(directory))
        git = shutil.which("git", path=path or os.defpath)
        return (*place.folders, *place.locked, *named_by_config(place, git, self.environment), *self.protected, *OWN)

    def bounds(self) -> dict[str, int]:
        """Return the resource limits of a command; a setting of 0 means no limit and is left out."""
        given = self.settings
        bounds = {
            "processes": given.processes,
            "memory": given.memory_mb << 20,
            "total_memory": given.total_memory_mb << 20,
            "file": given.file_mb << 20,
            "disk": given.disk_mb << 20,
        }
        return {name: most for name, most in bounds.items() if most > 0}

    async def close(self) -> None:
        """Close the resources of tools, which ends background commands, and remove the scratch folder."""
        try:
            await self.resources.close()
        finally:
            self.drop()

    def drop(self) -> None:
        """Remove the scratch folder."""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
            self._scratch = self._home = None


def command_caches(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's caches for commands."""
    given = environment.get("XDG_CACHE_HOME", "")
    home = Path(environment.get("HOME") or "/nonexistent")
    return (Path(given) if given.startswith("/") else home / ".cache") / "bridle" / "commands"


def command_environment_for(
    settings: Settings,
    environment: Mapping[str, str],
    guarded: tuple[Path, ...],
    outputs: Path | None,
    directory: Path,
    *,
    caches: Path | None = None,
    journal: object = None,
    servers: Mapping[str, Mapping[str, McpServer]] | None = None,
) -> CommandEnvironment:
    """Return the command environment of a project from its settings; raises `ConfigError`.

    `servers` are MCP servers of single agents, by the agent's name.
    """
    outside = run_outside(settings, directory, environment, servers)
    return CommandEnvironment(
        settings.sandbox,
        environment,
        directory=directory,
        guarded=guarded,
        # A server has opened the journal of its settings before, for all its directories.
        journal=journal if isinstance(journal, (str, Path)) else settings.journal.url or settings.journal.path or None,
        outputs=outputs,
        caches=caches,
        rules=(*DEFAULT_RULES, *rules_of(settings.permission)),
        protected=(*outside, *linked_from(guarded, directory.resolve())),
        keys=frozenset(provider.key_env for provider in settings.providers.values()),
        passes=settings.shell.passes,
        tool_settings=settings,
    )


def linked_from(guarded: Sequence[Path], project: Path) -> tuple[Path, ...]:
    """Return the project's files that the user's configuration links to, because they apply to every project."""
    found: list[Path] = []
    for folder in guarded:
        for place, below, files in islice(os.walk(folder), MOST_FOLDERS):
            links = (Path(place, name) for name in (*below, *files) if os.path.islink(Path(place, name)))
            found += [target for link in links if (target := link.resolve()).is_relative_to(project)]
    return tuple(dict.fromkeys(found))


def run_outside(
    settings: Settings,
    directory: Path,
    environment: Mapping[str, str],
    private: Mapping[str, Mapping[str, McpServer]] | None = None,
) -> tuple[Path, ...]:
    """Return the project's files that commands outside the sandbox may run; raises `ConfigError`."""
    care: dict[str, Sequence[HookSettings | CareSettings]] = {
        "hooks": settings.hooks,
        "formatters": settings.formatters,
        "diagnostics": settings.diagnostics,
    }
    lines = [(name, one.command) for name, given in care.items() for one in given if not one.sandbox]
    every = {f"mcp.{name}": each for name, each in settings.mcp.items() if isinstance(each, McpServer)}
    for agent, own in (private or {}).items():
        every |= {f"{OF_AGENT}{agent}: mcp.{name}": each for name, each in own.items()}
    servers = [(name, each) for name, each in every.items() if each.enabled and (not each.sandbox or each.network)]
    if not lines and not servers:
        return ()
    # Imported here because most configurations run everything in the sandbox.
    from bridle.config.load import config_home
    from bridle.process.project_programs import Outside, named_files

    project = directory.resolve()
    commands = [Outside(f"{name}: the command {line!r}", line, project) for name, line in lines]
    found: tuple[Path, ...] = ()
    for name, server in servers:
        # A server that cannot be started is reported when it is needed.
        with suppress(ToolFailed):
            words = [_value(word, environment, project) for word in server.command]
            outside = Outside(f"{name}.command", words, located(project, server.folder or ".").path)
            if not server.sandbox:
                commands.append(outside)
                continue
            # A sandboxed server with network access could leak data that the model cannot, so its files are protected.
            # Files that cannot be determined are no reason to refuse its command.
            found += named_files([outside], project, environment, strict=False)
    try:
        return (*found, *named_files(commands, project, environment))
    except ConfigError as error:
        if str(error).startswith(OF_AGENT):
            raise
        # Only the user's own file may run a command outside the sandbox.
        raise ConfigError(f"{config_home(environment) / 'config.toml'}: {error}") from error


def _value(word: str, environment: Mapping[str, str], project: Path) -> str:
    from bridle.workspace.substitution import filled

    try:
        return filled(word, environment, project)
    except ConfigError:
        # Starting the server reports the missing value.
        return word


def _paths(given: list[str]) -> tuple[Path, ...]:
    return tuple(Path(path).expanduser().resolve() for path in given)
