"""The schema of all settings, as typed structs. Class docstrings are part of docs/bridle.schema.json."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec

from bridle.core.agent import Price
from bridle.core.hook import HookSettings
from bridle.core.limits import MAX_STEPS, AgentLimits, Allowance, LimitsOfTree
from bridle.values.keys import KeySettings
from bridle.values.provider import Provider
from bridle.values.secrets import shown, shown_fields
from bridle.values.theme_names import ThemeName

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


class LimitSettings(AgentLimits, frozen=True):
    """Limits of turns without limits of their own, and those of a day and a month."""

    tool_calls: int | None = 200
    subagent_tool_calls: int | None = 50
    """Maximum number of tool calls of a subagent whose definition sets none."""
    daily: Allowance = Allowance()
    monthly: Allowance = Allowance()
    """Limits across all sessions and processes of this user, and of each account without a budget of its own."""


class TreeSettings(LimitsOfTree, frozen=True, kw_only=True):
    """Limits of all agents of a tree together."""

    depth: int = 1
    """Maximum nesting depth of subagents, up to 3; 0 disables subagents."""
    live: int = 4
    """Maximum number of concurrent subagents of one root turn."""
    total: int = 32
    """Maximum number of subagents that one root turn may start."""


class CompactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When older context is summarized or left out."""

    auto: bool = True
    """Compact when the context exceeds the model's window; otherwise the turn ends with an error."""
    prune: bool = True
    """Remove old tool outputs at the end of a turn."""
    reserved: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens of the model's window to keep free: compact before the context reaches them."""


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a failed request is sent again, and how long to wait before."""

    retries: int = 5
    total_seconds: float = 600.0
    longest_wait: float = 120.0


class DeadlineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long a request may be silent, and how long it may take."""

    first_event_seconds: float = 180.0
    idle_seconds: float = 300.0
    """Long, because some models think for minutes without output."""
    request_seconds: float = 1_800.0


class JournalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where sessions are stored."""

    path: str = ""
    """The journal file; empty means the default in the XDG data folder."""
    url: str = ""
    """The address of a PostgreSQL server that keeps the sessions instead, as `postgresql://HOST/DATABASE`."""
    listen_url: str = ""
    """A direct address of that server for notifications, if `url` leads through a pool of connections."""
    schema: str = "bridle"
    """The schema of that database that holds the journal."""
    durability: Literal["power", "process"] = "power"
    """The failure that intents and endings survive: a power loss, or the death of the process."""


class WorkerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whether worker processes drive the turns, and how they work."""

    drive: bool = False
    """Have `bridle worker` processes drive the turns that are started here; needs `journal.url`."""
    place: str = ""
    """The name of this machine, for sessions that need its files; empty means its host name."""
    concurrency: int = 200
    """Maximum number of sessions that a worker drives at once."""
    tools: int = 0
    """Maximum number of tool calls that a worker runs at once; 0 means no limit."""
    grace_seconds: float = 10.0
    """Time that running calls and requests get when a worker is told to stop."""


class ServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the clients of `bridle serve` may use."""

    connections: Annotated[int, msgspec.Meta(ge=1)] = 1000
    """Maximum number of open connections."""
    streams: Annotated[int, msgspec.Meta(ge=1)] = 50
    """Maximum number of open event streams of one token."""
    requests_per_second: Annotated[float, msgspec.Meta(gt=0)] = 100.0
    """Requests of one token, on average; four times as many may come at once."""
    body_mb: Annotated[float, msgspec.Meta(gt=0)] = 32.0
    """Maximum size of a request's body."""


class TelemetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is sent to an OpenTelemetry collector; needs the extra `bridle[telemetry]`."""

    endpoint: str = ""
    """Address of the collector, for OTLP over HTTP; empty means what OpenTelemetry's own variables say."""
    traces: bool = True
    metrics: bool = True
    logs: bool = True
    content: bool = False
    """Also send prompts, answers, arguments and results, without keys and tokens that can be recognized."""


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
    """What commands of the model get from the environment."""

    passes: list[str] = []
    """Environment variables that commands receive although they are named like secrets."""


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What commands of the model may reach."""

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

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return shown_fields(self, ("headers", "environment", "client_secret"))

    def __repr__(self) -> str:
        return shown(self)


class CareSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: str
    """A pattern for paths in the project."""
    command: str
    """A shell command; `{file}` stands for the file."""
    seconds: float = 20.0
    sandbox: bool = True
    """If false, the command runs outside the sandbox; only your own configuration may set this."""


class PromptSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Texts of Bridle that a program replaces."""

    closing: str = ""
    """A file with the closing instruction; `{limit}` stands for the limit that was reached."""
    compaction: str = ""
    """A file with the instruction for a summary; `{history}` stands for the text to summarize."""
    synthesis: str = ""
    """A file with the system prompt of a synthesis."""
    system: str = ""
    """The user's own text at the end of every system prompt."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is set about a model: its limits, its price, and the abilities of its server."""

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
    """An agent of the configuration."""

    description: str = ""
    mode: Literal["primary", "subagent", "all"] | None = None
    prompt: str = ""
    prompt_file: str = ""
    """A file with the prompt."""
    model: str | None = None
    fallback: list[str] = []
    """The models to ask, in this order, when `model` fails for good."""
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
    theme: ThemeName = "auto"
    """The colors of the terminal application."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set."""

    model: str | None = None
    fallback: list[str] = []
    """The models to ask, in this order, when `model` fails for good."""
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
    workers: WorkerSettings = WorkerSettings()
    server: ServerSettings = ServerSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
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
    keys: KeySettings = KeySettings()
