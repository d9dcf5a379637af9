"""The schema of all settings. Class docstrings are part of docs/bridle.schema.json."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

from bridle.core.agent import Price
from bridle.core.hook import HookSettings
from bridle.core.limits import MAX_STEPS
from bridle.values.provider import Provider

VerdictWord = Literal["allow", "ask", "deny"]
Permissions = dict[str, VerdictWord | dict[str, VerdictWord]]


class PermissionRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of several rules in their order, where a table by permission would not keep it."""

    permission: str
    verdict: VerdictWord
    pattern: str = "*"


AnyPermissions = Permissions | list[PermissionRule]


class Behavior(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    max_steps: int | None = None
    """Steps of a turn if its agent sets none; unset means only the ceiling applies."""
    ceiling: int = MAX_STEPS
    """Maximum number of steps of any turn, regardless of other settings."""
    embedded: bool = True
    """Use the embedded model if no model is set and no other is found."""


class AgentLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float | None = None


class Allowance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cost: float | None = None


class LimitSettings(AgentLimits, frozen=True):
    tool_calls: int | None = 200
    subagent_tool_calls: int | None = 50
    """Maximum number of tool calls of a subagent whose definition sets none."""
    daily: Allowance = Allowance()
    monthly: Allowance = Allowance()
    """Limits in US dollars across all sessions and processes of this user."""


class TreeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    steps: int | None = 1_000
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    depth: int = 1
    """Maximum nesting depth of subagents, up to 3; 0 disables subagents."""
    live: int = 4
    """Maximum number of concurrent subagents of one root turn."""
    total: int = 32
    """Maximum number of subagents that one root turn may start."""


class CompactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    auto: bool = True
    """Compact when the context exceeds the model's window; otherwise the turn ends with an error."""
    prune: bool = True
    """Remove old tool outputs at the end of a turn."""
    reserved: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens of the model's window to keep free: compact before the context reaches them."""


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retries: int = 5
    total_seconds: float = 600.0
    longest_wait: float = 120.0


class DeadlineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first_event_seconds: float = 180.0
    idle_seconds: float = 300.0
    """Long, because some models think for minutes without output."""
    request_seconds: float = 1_800.0


class JournalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str = ""
    """The journal file; empty means the default in the XDG data folder."""
    durability: Literal["power", "process"] = "power"
    """The failure that intents and endings survive: a power loss, or the death of the process."""


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep_days: int = 0
    """Sessions unused for longer are deleted, once a day; 0 keeps them forever."""
    keep_mb: int = 0
    """If all sessions together exceed this size, the oldest are deleted; 0 keeps them all."""


class SnapshotSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    """Take snapshots of the project's files before changes, for `bridle undo`."""
    file_mb: float = 2.0
    """Larger files are left out of snapshots."""
    quota_mb: int = 1_024
    """Disk quota for the snapshots of one project; the oldest are deleted first."""
    keep_days: int = 30
    """Days for which a snapshot is kept."""


class ShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    passes: list[str] = []
    """Environment variables that commands receive although they are named like secrets."""


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: Literal["auto", "off", "required"] = "auto"
    """`auto` uses the sandbox if the system supports it, else gives a notice; `required` refuses to run without it."""
    network: bool = False
    """Give every command network access without asking."""
    writable: list[str] = []
    """Folders that commands may write to, besides the project and caches."""
    hidden: list[str] = []
    """Files and folders hidden from commands, besides the home directory and the usual places of secrets."""
    home: list[str] = []
    """Files, folders and sockets in your home directory that commands may read; the rest of it is hidden."""
    processes: int = 512
    """Maximum number of concurrent processes of one command; 0 means no limit."""
    memory_mb: int = 8_192
    """Memory limit of each process of a command; 0 means no limit."""
    total_memory_mb: int = 16_384
    """Memory limit of all processes of a command together; 0 means no limit."""
    file_mb: int = 4_096
    """Maximum size of a file that a command writes; 0 means no limit."""
    disk_mb: int = 20_480
    """Maximum decrease of free disk space while a command runs; 0 means no limit."""


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server of tools: a command to start, or an address. `{env:NAME}` and `{file:PATH}` in values are filled in."""

    command: list[str] = []
    """The program and its arguments; it runs in the sandbox and ends with Bridle."""
    url: str = ""
    transport: Literal["http", "sse"] = "http"
    """Transport for the URL: streamable HTTP, or the older SSE."""
    headers: dict[str, str] = {}
    environment: dict[str, str] = {}
    """Environment variables for the command; those named like secrets are not inherited."""
    folder: str = ""
    """Working directory of the command; empty means the project."""
    network: bool = False
    """Give the command network access."""
    sandbox: bool = True
    """If false, the command runs with all your rights."""
    enabled: bool = True
    seconds: float = 60.0
    """Timeout of a call."""
    client_id: str = ""
    """For OAuth servers without dynamic client registration."""
    client_secret: str = ""
    scope: str = ""


class CareSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: str
    """A pattern for paths in the project."""
    command: str
    """A shell command; `{file}` stands for the file."""
    seconds: float = 20.0
    sandbox: bool = True
    """If false, the command runs outside the sandbox; only your own configuration may set this."""


class PromptSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    closing: str = ""
    """A file with the closing instruction; `{limit}` stands for the limit that was reached."""
    compaction: str = ""
    """A file with the instruction for a summary; `{history}` stands for the text to summarize."""
    synthesis: str = ""
    """A file with the system prompt of a synthesis."""
    system: str = ""
    """The user's own text at the end of every system prompt."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str = ""
    """The model's name at its provider, if different."""
    context_window: int | None = None
    max_output_tokens: int | None = None
    price: Price | None = None
    options: dict[str, Any] = {}
    variants: dict[str, dict[str, Any]] = {}
    """Named sets of options, for `--variant`."""
    closing_tools: Literal["omit", "none"] | None = None
    takes: list[Literal["image", "pdf"]] | None = None
    quirks: dict[str, Any] = {}


STEP_SPELLINGS = ("steps", "max_steps", "maxSteps", "maxTurns")
"""Names of the step limit in different programs."""


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    description: str = ""
    mode: Literal["primary", "subagent", "all"] | None = None
    prompt: str = ""
    prompt_file: str = ""
    """A file with the prompt."""
    model: str | None = None
    variant: str = ""
    temperature: float | None = None
    top_p: float | None = None
    steps: int | None = None
    max_steps: int | None = None
    maxSteps: int | None = None
    maxTurns: int | None = None
    """Other spellings of `steps`, for agents written for other programs."""
    limits: AgentLimits = AgentLimits()
    tools: dict[str, bool] | list[str] = {}
    """Tools switched on or off, by name or pattern; or a list of the only ones."""
    offers: list[str] | None = None
    """The only tools, even if others are switched on or off."""
    permission: AnyPermissions = {}
    options: dict[str, Any] = {}
    output: dict[str, Any] | None = None
    """JSON schema for its answer."""
    hidden: bool = False
    """Neither listed nor offered to other agents."""
    disable: bool = False
    """Remove this agent."""
    color: str = ""


TEMPLATE_SHELL = re.compile(r"!`([^`\n]+)`")
"""A shell command in a template, which is replaced by its output."""


class CommandSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    template: str
    """The prompt; `$ARGUMENTS`, `$1`, `@file` and !`command` are substituted."""
    description: str = ""
    agent: str | None = None
    model: str | None = None
    subtask: bool = False
    """Run the prompt in a subagent with its own session: `agent`, or `general`."""


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    theme: Literal["auto", "light", "dark", "contrast"] = "auto"
    """The colors of the terminal."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set."""

    model: str | None = None
    small_model: str | None = None
    """The model for session titles; without it a session is named after its first prompt."""
    agent: str = "build"
    instructions: list[str] = []
    """Additional instructions: file patterns and URLs."""
    behavior: Behavior = Behavior()
    limits: LimitSettings = LimitSettings()
    tree: TreeSettings = TreeSettings()
    retry: RetrySettings = RetrySettings()
    deadlines: DeadlineSettings = DeadlineSettings()
    compaction: CompactionSettings = CompactionSettings()
    journal: JournalSettings = JournalSettings()
    sessions: SessionSettings = SessionSettings()
    snapshots: SnapshotSettings = SnapshotSettings()
    prompts: PromptSettings = PromptSettings()
    permission: AnyPermissions = {}
    shell: ShellSettings = ShellSettings()
    sandbox: SandboxSettings = SandboxSettings()
    hooks: list[HookSettings] = []
    formatters: list[CareSettings] = []
    """Commands that format a file after an edit."""
    diagnostics: list[CareSettings] = []
    """Commands that check a file after an edit; the model reads their output."""
    mcp: dict[str, McpServer | float] = {}
    """MCP servers by name, and `start_wait`: the seconds that a turn waits for new servers."""
    providers: dict[str, Provider] = {}
    models: dict[str, ModelSettings] = {}
    agents: dict[str, AgentSettings] = {}
    commands: dict[str, CommandSettings] = {}
    """Named prompts, for `bridle run /NAME`."""
    ui: UiSettings = UiSettings()
