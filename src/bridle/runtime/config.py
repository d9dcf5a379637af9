"""`RuntimeConfig`: the arguments of `Runtime` (journal, settings, models, tools, agents); files are read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import McpServer, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.permission import Rule
from bridle.journal.journal import Journal
from bridle.model.known_windows import KnownWindows
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.tool import Tool, WrapsTool
from bridle.turn.caller import Program


@dataclass(frozen=True, kw_only=True, slots=True)
class RuntimeConfig:
    """The arguments of `Runtime`. Every field has a default; several runtimes may share one configuration."""

    journal: Journal | str | Path | None = None
    """None keeps sessions in memory, a path in SQLite, a `postgresql://` address on that server.

    The caller closes a journal given as an object.
    """
    settings: Settings = Settings()
    origins: Mapping[str, str] = field(default_factory=dict)
    """The file that each setting comes from, by its key."""
    models: Mapping[str, Model] = field(default_factory=dict)
    """Models given as objects, by reference. All others come from the settings and the environment."""
    tools: Sequence[Tool | WrapsTool] = ()
    """Tools for all agents."""
    private_tools: Mapping[str, Sequence[Tool | WrapsTool]] = field(default_factory=dict)
    """Tools for single agents, by the agent's name."""
    private_servers: Mapping[str, Mapping[str, McpServer]] = field(default_factory=dict)
    """MCP servers for single agents, by the agent's name. Those of the settings serve all agents."""
    agents: Sequence[AgentDefinition] = ()
    """Agents in addition to the built-in and configured ones; they replace agents of the same name."""
    subagents: Sequence[str] | None = ()
    """The agents that a `task` call may start; None means all whose mode allows it."""
    directory: str | Path = "."
    """The project directory of new sessions."""
    restrictions: Sequence[tuple[Rule, ...]] = ()
    """Lists of rules that can only make the other rules stricter."""
    outputs: Path | None = None
    """The folder for outputs that are too long for the model; None drops them."""
    environment: Mapping[str, str] | None = None
    """The environment variables to use; None means those of this process."""
    user: UserSetup = UserSetup()
    windows: KnownWindows = field(default_factory=KnownWindows)
    """What local servers report; shared by all runtimes of this configuration."""
    account: str = ""
    """The name that pays for turns of which neither the prompt nor the session names one; empty for the user."""
    app: str = ""
    """The name under which workers offer the agents of this program; recorded with each session."""
    place: str = ""
    """The machine that new sessions belong to, because they need its files; empty if any machine may drive them."""
    program: Program | None = None
    """The Python objects that the agents of this program work with."""
    seams: Seams | None = None
    """Time and randomness; None means the real ones."""
