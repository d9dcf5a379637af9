"""Loads settings in layers (user, other programs, project, environment, flags) with origins; finds Bridle's folders."""

from __future__ import annotations

import os
import pwd
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.agents import builtin_agents, rules_of, set_key
from bridle.config.check import line_of, problems
from bridle.config.display import value_in_words
from bridle.config.grants import granted_rights, granted_settings
from bridle.config.import_agents import Imported
from bridle.config.import_settings import imported, imported_for_user
from bridle.config.merge import merged, table_in
from bridle.config.settings import AnyPermissions, Settings
from bridle.config.trust import TOOLS, Trust, TrustState, project_folders, project_root
from bridle.config.untrusted_project import contained, leaves, untrusted
from bridle.core.limits import MAX_STEPS
from bridle.core.permission import Rule
from bridle.errors import ConfigError
from bridle.values.provider import FORBID_REQUESTS
from bridle.values.secrets import TOKEN_VARIABLE
from bridle.workspace.bounded_read import read_text

JOURNAL_PLACE = frozenset({"path", "url", "listen_url", "schema"})
"""Settings of the journal that decide where sessions are sent."""
PROJECT_FILE = "bridle.toml"
ENVIRONMENT_PREFIX = "BRIDLE_"
NO_SETTINGS = frozenset({FORBID_REQUESTS, TOKEN_VARIABLE})
"""Variables with this prefix that are read elsewhere."""

Table = dict[str, Any]


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """The settings in force, their origins, and notices for the user."""

    settings: Settings
    origins: Mapping[str, str]
    restrictions: tuple[tuple[Rule, ...], ...]
    """Rules of an untrusted project, which can only make the others stricter."""
    notices: tuple[str, ...] = ()
    trusted: bool = False
    """Whether the user trusts the project."""
    ignored: tuple[str, ...] = ()
    """Descriptions of what trusting the project would grant; empty if it is trusted."""
    wanted: tuple[str, ...] = ()
    """The model that an untrusted project names, and its providers, each followed by a slash."""


def load(
    directory: Path,
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    trusted: bool = False,
) -> Loaded:
    """Read and merge all layers; raises `ConfigError` with the file, the key and a fix."""
    environment = os.environ if environment is None else environment
    user_path = config_home(environment) / "config.toml"
    own = list(imported_for_user(person(environment), config_home(environment)))
    mine = [*((str(file.path), file.table) for file in own), (str(user_path), _read(user_path))]
    for origin, table in mine:
        _check(origin, table)
    state: TrustState = "trusted" if trusted else Trust(trust_file(environment)).state(project_root(directory))
    brought = _brought(directory, merged([table for _, table in mine]), state)
    layers = [
        *mine,
        *brought.layers,
        ("environment", _from_environment(environment)),
        ("flag", _nested(flags or {})),
    ]
    origins: dict[str, str] = {}
    for origin, table in layers:
        _check(origin, table)
        origins.update((key, origin) for key, _ in leaves(table))
    try:
        settings = msgspec.convert(merged([table for _, table in layers]), Settings)
    except msgspec.ValidationError as error:
        key = str(error).partition("`$.")[2].rstrip("`").replace("[...]", "")
        known, blamed = set_key(origins, key, "")
        raise ConfigError(f"{blamed}: {known}: {error}" if blamed else str(error)) from error
    trusted = state == "trusted"
    told = (*_told(own, settings, trusted=True), *brought.notices, *_told(brought.files, settings, trusted=trusted))
    return Loaded(
        settings=settings,
        origins=origins,
        restrictions=tuple(filter(None, brought.restrictions)),
        notices=told,
        trusted=trusted,
        ignored=tuple(brought.ignored),
        wanted=tuple(brought.wanted),
    )


@dataclass(slots=True, kw_only=True)
class _Brought:
    """The project's settings, limited to those in force."""

    layers: list[tuple[str, Table]] = field(default_factory=list)
    restrictions: list[tuple[Rule, ...]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Descriptions of settings that need trust."""
    wanted: list[str] = field(default_factory=list)
    files: list[Imported] = field(default_factory=list)


def _brought(directory: Path, user: Table, state: TrustState) -> _Brought:
    """Read the project's files for other programs, and over them its `bridle.toml`."""
    brought = _Brought(files=_imported(directory))
    tables = [(str(file.path), file.table) for file in brought.files]
    own = _project_file(directory)
    if own is not None:
        tables.append((str(own), _read(own)))
    rights: list[str] = []
    others: list[str] = []
    for origin, given in tables:
        table = _bounded(origin, given, user, brought.notices)
        if state != "trusted":
            permission = table.pop("permission", {})
            brought.restrictions.append(_read_restrictions(origin, permission))
            table, rest = untrusted(table, user)
            rights += granted_rights(rest, permission, user)
            others += granted_settings(rest)
            brought.wanted += [rest["model"]] if isinstance(rest.get("model"), str) else []
            brought.wanted += [f"{name}/" for name in table_in(rest.get("providers"))]
        brought.layers.append((origin, table))
    if state != "trusted":
        root = project_root(directory)
        others += [f"loads the Python tools of {path.name}" for path in sorted((root / TOOLS).glob("*.py"))]
        # One line each: a project's text must not look like a line of Bridle's.
        brought.ignored = list(dict.fromkeys(" ".join(words.split()) for words in (*rights, *others)))
        if brought.ignored:
            why = "has changed since you trusted it" if state == "changed" else "is not trusted"
            effect = f"so these settings have no effect: {'; '.join(brought.ignored)}"
            way_out = "Trust it with `bridle trust`, or for one run with --trust"
            brought.notices.append(f"{root}: this project {why}, {effect}. {way_out}.")
    return brought


def _imported(directory: Path) -> list[Imported]:
    return [file for folder in reversed(project_folders(directory)) for file in imported(folder)]


def _bounded(origin: str, table: Table, user: Table, notices: list[str]) -> Table:
    """Return a project's table without the settings that no project may make, even if trusted."""
    table, outside = contained(table)
    why = "is ignored: only your own configuration lets a command out of the sandbox"
    notices += [f"{origin}: {key} {why}" for key in outside]
    if (_ceiling(table) or 0) > (_ceiling(user) or MAX_STEPS):
        table["behavior"] = {key: value for key, value in table["behavior"].items() if key != "ceiling"}
        notices.append(f"{origin}: behavior.ceiling is ignored: only your own configuration may raise it")
    journal = table_in(table.get("journal"))
    # A file in the project may be a journal in which others have granted permissions.
    for key in sorted(JOURNAL_PLACE & journal.keys()):
        table["journal"] = {name: value for name, value in journal.items() if name not in JOURNAL_PLACE}
        notices.append(f"{origin}: journal.{key} is ignored: only your own configuration says where the journal is")
    if table.pop("workers", None) is not None:
        notices.append(f"{origin}: workers is ignored: only your own configuration decides where turns are driven")
    if table.pop("server", None) is not None:
        notices.append(f"{origin}: server is ignored: only your own configuration decides what clients may use")
    if table.pop("telemetry", None) is not None:
        notices.append(f"{origin}: telemetry is ignored: only your own configuration says what is sent where")
    if table.pop("keys", None) is not None:
        notices.append(f"{origin}: keys is ignored: only your own configuration sets the keys of your terminal")
    if table.pop("sessions", None) is not None:
        # All projects share the journal.
        notices.append(f"{origin}: sessions is ignored: only your own configuration deletes any")
    return table


def _told(files: Sequence[Imported], settings: Settings, *, trusted: bool) -> list[str]:
    """Return problems with imported files; raises `ConfigError` where ignoring one would grant more than intended."""
    found: list[str] = []
    for file in files:
        known = [name for name in file.broken if name in settings.agents or name in builtin_agents()]
        if trusted and (file.error or known):
            raise ConfigError(f"{file.path}: {file.error or file.problems[0]}")
        found += file.told()
    return found


def faults(directory: Path, *, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return all problems in files and environment, one line each, as if the project were trusted."""
    environment = os.environ if environment is None else environment
    found: list[str] = []
    for path in filter(None, (config_home(environment) / "config.toml", _project_file(directory))):
        try:
            for problem in problems(_read(path)):
                line = line_of(read_text(path), problem.key)
                found.append(f"{path}{f':{line}' if line else ''}: {problem.text}")
        except ConfigError as error:
            found.append(str(error))
    own = list(imported_for_user(person(environment), config_home(environment)))
    for file in (*own, *_imported(directory)):
        found += [*file.told(), *(f"{file.path}: {problem.text}" for problem in problems(file.table))]
    return found + [f"environment: {problem.text}" for problem in problems(_from_environment(environment))]


def shown(settings: Settings, origins: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return every setting as key, value and origin, with secrets hidden."""
    values = leaves(msgspec.to_builtins(settings))
    return [(key, value_in_words(key, value), set_key(origins, key, "default")[1]) for key, value in values]


def config_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's configuration."""
    return _home(environment, "XDG_CONFIG_HOME", ".config")


def data_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of sessions."""
    return _home(environment, "XDG_DATA_HOME", ".local/share")


def state_home(environment: Mapping[str, str]) -> Path:
    """Return the folder of logs and stored outputs."""
    return _home(environment, "XDG_STATE_HOME", ".local/state")


def journal_place(settings: Settings, environment: Mapping[str, str]) -> str | Path:
    """Return the address or the path of the user's journal."""
    return settings.journal.url or settings.journal.path or data_home(environment) / "journal.db"


def trust_file(environment: Mapping[str, str]) -> Path:
    """Return the file with the trusted projects."""
    return data_home(environment) / "trust.json"


def approvals_file(environment: Mapping[str, str]) -> Path:
    """Return the file with the permanent approvals."""
    return data_home(environment) / "approvals.json"


def _home(environment: Mapping[str, str], variable: str, fallback: str) -> Path:
    base = environment.get(variable, "")
    return (Path(base) if base else person(environment) / fallback) / "bridle"


def person(environment: Mapping[str, str]) -> Path:
    """Return the user's home directory, from HOME or else the password database; raises `ConfigError`."""
    home = environment.get("HOME", "")
    if home:
        return Path(home)
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise ConfigError("there is no home directory: set HOME") from None


def _project_file(directory: Path) -> Path | None:
    files = (folder / PROJECT_FILE for folder in project_folders(directory))
    return next((path for path in files if path.is_file()), None)


def _read(path: Path) -> Table:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _from_environment(environment: Mapping[str, str]) -> Table:
    flat = {
        name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", "."): _literal(value)
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX) and name not in NO_SETTINGS and value
    }
    return _nested(flat)


def _literal(value: str) -> Any:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return value


def _nested(flat: Mapping[str, Any]) -> Table:
    table: Table = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        inner = table
        for name in path:
            inner = inner.setdefault(name, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{key} cannot be set beside a plain value for {name}")
        inner[last] = value
    return table


def _read_restrictions(origin: str, table: Any) -> tuple[Rule, ...]:
    try:
        return rules_of(msgspec.convert(table, AnyPermissions))
    except msgspec.ValidationError as error:
        raise ConfigError(f"{origin}: permission: {error}") from error


def _ceiling(table: Table) -> int | None:
    value = table_in(table.get("behavior")).get("ceiling")
    return value if isinstance(value, int) else None


def _check(origin: str, table: Table) -> None:
    found = next(problems(table), None)
    if found is not None:
        raise ConfigError(f"{origin}: {found.text}")
