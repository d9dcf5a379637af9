"""Functions for CLI commands that need no `Runtime`: open models and approvals; read, check, write configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.assembly.models import Models
from bridle.config.settings import McpServer
from bridle.errors import ConfigError

if TYPE_CHECKING:
    from bridle.assembly.project_access import ProjectAccess

AGENT_NAME = re.compile(r"[A-Za-z][\w-]*")


def open_models(directory: str | Path = ".", *, trusted: bool = False) -> tuple[Models, tuple[str, ...]]:
    """Return the models for a project, without opening a journal, and notices about its settings that are new."""
    from bridle.assembly.project_access import ProjectAccess
    from bridle.config.load import load

    folder = Path(directory).absolute()
    loaded = load(folder, trusted=trusted)
    models = Models({}, loaded.settings, os.environ, folder)
    models.wanted = loaded.wanted
    return models, ProjectAccess(folder).news(loaded.notices)


def add_mcp_server(name: str, fields: Mapping[str, Any]) -> Path:
    """Add an MCP server to the user's configuration; return the path of the changed file."""
    from bridle.config.load import config_home
    from bridle.config.toml_edit import add_server

    path = config_home(os.environ) / "config.toml"
    add_server(path, name, msgspec.convert(fields, McpServer))
    return path


def open_project(directory: str | Path = ".") -> ProjectAccess:
    """Return access to the user's permanent approvals and trust decision for a project."""
    from bridle.assembly.project_access import ProjectAccess

    return ProjectAccess(directory)


def config_faults(directory: Path) -> list[str]:
    """Return all problems in the configuration files that apply to a project."""
    from bridle.config.load import faults

    return faults(directory.absolute())


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of `bridle.toml` and `config.toml`, for editors."""
    from bridle.config.settings import Settings

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Settings)}


def write_starter(directory: Path) -> Path:
    """Write a `bridle.toml` with every setting as a comment; raises `ConfigError` if the file exists."""
    from bridle.config import settings

    starter = Path(settings.__file__).with_name("starter.toml")
    return _written(directory / "bridle.toml", starter.read_text(encoding="utf-8"))


def write_agent(directory: Path | None, name: str, fields: Mapping[str, Any], prompt: str) -> Path:
    """Write an agent definition into a project, or into the user's configuration if None; raises `ConfigError`."""
    import yaml

    from bridle.config.load import config_home

    if not AGENT_NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid agent name: use letters, digits, - and _")
    folder = directory / ".bridle" if directory is not None else config_home(os.environ)
    head = yaml.safe_dump(dict(fields), sort_keys=False, allow_unicode=True)
    return _written(folder / "agents" / f"{name}.md", f"---\n{head}---\n\n{prompt.strip()}\n")


def _written(path: Path, text: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} already exists: edit it instead") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error}") from error
    return path
