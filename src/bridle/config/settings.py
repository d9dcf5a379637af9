"""One schema of settings for every surface."""

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
    """Steps of a turn whose agent says nothing; unset means the ceiling alone."""
    ceiling: int = MAX_STEPS
    """No turn takes more steps than this, whatever else is set."""
    embedded: bool = True
    """Take the embedded model where no model is set and no other is found."""


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
    """Calls of a subagent whose definition says nothing."""
    daily: Allowance = Allowance()
    monthly: Allowance = Allowance()
    """US dollars over all sessions and processes of this user."""


class TreeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    steps: int | None = 1_000
    tool_calls: int | None = None
    tokens: int | None = None
    cost: float | None = None
    depth: int = 1
    """How deep subagents may start subagents; at most 3, and 0 for none at all."""
    live: int = 4
    """Subagents of one root turn that may work at the same time."""
    total: int = 32
    """Subagents that one root turn may start."""


class CompactionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    auto: bool = True
    """Compact when the context outgrows the model's window; without it such a turn ends with an error."""
    prune: bool = True
    """Remove old outputs of tools at the end of a turn."""
    reserved: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens of the model's window to keep free: compact before the context grows into them."""


class RetrySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    retries: int = 5
    total_seconds: float = 600.0
    longest_wait: float = 120.0


class DeadlineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    first_event_seconds: float = 180.0
    idle_seconds: float = 300.0
    """Some models think for minutes without a word."""
    request_seconds: float = 1_800.0


class JournalSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: str = ""
    """The file of the journal; empty means the user's own under XDG data."""
    durability: Literal["power", "process"] = "power"
    """What intents and endings survive: a power loss, or the death of the process."""


class SessionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keep_days: int = 0
    """Sessions that have rested for longer are deleted, once a day; 0 keeps them for ever."""
    keep_mb: int = 0
    """If all sessions take more than this, the oldest are deleted; 0 keeps them all."""


class SnapshotSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enabled: bool = True
    """Keep the project's files before they are changed, so that `bridle undo` brings them back."""
    file_mb: float = 2.0
    """Larger files are not kept."""
    quota_mb: int = 1_024
    """What the snapshots of one project may take on the disk; the oldest go first."""
    keep_days: int = 30
    """For how long a snapshot is kept."""


class ShellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    passes: list[str] = []
    """Variables of the environment that commands get although they are called like a secret."""


class SandboxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    mode: Literal["auto", "off", "required"] = "auto"
    """`auto` shuts commands in where the system allows it, and says so where not; `required` refuses to go without."""
    network: bool = False
    """Give every command the network, without a question."""
    writable: list[str] = []
    """Folders besides the project and caches that commands may write to."""
    hidden: list[str] = []
    """Files and folders that do not exist for commands, besides the home and the usual places of secrets."""
    home: list[str] = []
    """Files, folders and sockets in your home that commands may read; the rest of it does not exist for them."""
    processes: int = 512
    """Processes that one command may have at a time; 0 for no bound."""
    memory_mb: int = 8_192
    """Memory that each process of a command may take; 0 for no bound."""
    total_memory_mb: int = 16_384
    """Memory that all processes of a command may take together; 0 for no bound."""
    file_mb: int = 4_096
    """The size of a file that a command may write; 0 for no bound."""
    disk_mb: int = 20_480
    """How much less free disk there may be while a command runs; 0 for no bound."""


class McpServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A server of tools: a command to start, or an address. `{env:NAME}` and `{file:PATH}` in values are filled in."""

    command: list[str] = []
    """The program and its words; it runs in the sandbox and ends with Bridle."""
    url: str = ""
    transport: Literal["http", "sse"] = "http"
    """How to speak to the address: streamable HTTP, or what was used before it."""
    headers: dict[str, str] = {}
    environment: dict[str, str] = {}
    """Variables for the command; those that are called like a secret are not passed on by themselves."""
    folder: str = ""
    """Where the command starts; empty means in the project."""
    network: bool = False
    """Give the command the network."""
    sandbox: bool = True
    """Without it the command may do whatever you may."""
    enabled: bool = True
    seconds: float = 60.0
    """How long a call may take."""
    client_id: str = ""
    """For OAuth, where a server does not register whoever comes."""
    client_secret: str = ""
    scope: str = ""


class CareSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    files: str
    """A pattern of paths in the project."""
    command: str
    """A shell command; `{file}` stands for the file."""
    seconds: float = 20.0
    sandbox: bool = True
    """Without it the command runs outside of the sandbox, which only your own configuration may say."""


class PromptSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    closing: str = ""
    """A file with the closing instruction; `{limit}` stands for the limit that was reached."""
    compaction: str = ""
    """A file with the words that ask for a summary; `{history}` stands for what is to be summed up."""
    synthesis: str = ""
    """A file with the system prompt of a synthesis."""
    system: str = ""
    """The user's own words at the end of every system prompt."""


class ModelSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str = ""
    """The model's name at its provider, if it is another one."""
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
"""One limit, as different programs call it."""


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
    """Other spellings of `steps`, for agents that were written elsewhere."""
    limits: AgentLimits = AgentLimits()
    tools: dict[str, bool] | list[str] = {}
    """Tools that are switched on or off, by name or pattern; or a list of the only ones."""
    offers: list[str] | None = None
    """The only tools, also where others are switched on or off."""
    permission: AnyPermissions = {}
    options: dict[str, Any] = {}
    output: dict[str, Any] | None = None
    """A JSON schema for its answer."""
    hidden: bool = False
    """Not listed, and not offered to other agents."""
    disable: bool = False
    """There is no such agent."""
    color: str = ""


TEMPLATE_SHELL = re.compile(r"!`([^`\n]+)`")
"""A shell command in a template, whose output takes its place."""


class CommandSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    template: str
    """The prompt; `$ARGUMENTS`, `$1`, `@file` and !`command` stand for something."""
    description: str = ""
    agent: str | None = None
    model: str | None = None
    subtask: bool = False
    """A subagent works on the prompt, in a session of its own: `agent`, or `general`."""


class UiSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    theme: Literal["auto", "light", "dark", "contrast"] = "auto"
    """The colours of the terminal."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set."""

    model: str | None = None
    small_model: str | None = None
    """Writes titles of sessions; without it a session is called by its first prompt."""
    agent: str = "build"
    instructions: list[str] = []
    """More instructions: files by pattern, and web addresses."""
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
    """Commands that put a file in order after it was edited."""
    diagnostics: list[CareSettings] = []
    """Commands that say what is wrong with a file after it was edited; the model reads it."""
    mcp: dict[str, McpServer | float] = {}
    """Servers of tools by name, and `start_wait`: the seconds that a turn waits for servers it does not know yet."""
    providers: dict[str, Provider] = {}
    models: dict[str, ModelSettings] = {}
    agents: dict[str, AgentSettings] = {}
    commands: dict[str, CommandSettings] = {}
    """Prompts with a name, for `bridle run /NAME`."""
    ui: UiSettings = UiSettings()
