"""The structs that `Project` returns: configuration, trust, slash commands, models, servers, files, usage."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.agent import ModelInfo
from bridle.core.budget import AccountUse
from bridle.core.limits import NOTHING, Spent


class ConfigValue(msgspec.Struct, frozen=True):
    """A setting in force: its value as JSON with secrets hidden, and the file or layer that it comes from."""

    key: str
    value: str
    origin: str


class TrustView(msgspec.Struct, frozen=True):
    """Whether this user trusts a project's files, what is ignored without that, and the command that trusts them."""

    state: Literal["trusted", "changed", "declined", "unknown"]
    root: str
    ignored: tuple[str, ...]
    command: str


class SlashCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A slash command: one of the configuration, or a prompt of an MCP server that is connected."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()
    """Names of the arguments of a server's prompt, given as NAME=VALUE."""
    agent: str = ""
    model: str = ""
    subtask: bool = False
    server: str = ""


class ModelRow(msgspec.Struct, frozen=True):
    """A model that is reachable now: its provider, why that is reachable, its window, price and variants by name."""

    provider: str
    why: str
    info: ModelInfo


class ServerRow(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server as it was found just now; `problem` is empty if it answers."""

    name: str
    where: str
    """Its command or address, with secrets hidden."""
    problem: str = ""
    tools: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    """Changes of its offer that wait for the user's approval."""


class FoundFile(msgspec.Struct, frozen=True):
    """A file or a folder, by its path in the project."""

    path: str
    kind: Literal["file", "folder"]


class FileContent(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a file: text, or any other content as base64 in `data`."""

    path: str
    text: str = ""
    data: str = ""
    media: str = ""
    """The type of an image or a document; empty for others."""


class TurnsUse(msgspec.Struct, frozen=True):
    """The use of several turns, without their subagents, whose turns count by themselves."""

    turns: int = 0
    spent: Spent = NOTHING
    endings: dict[str, int] = {}
    """Number of turns by reason, the most frequent first."""


class UsageStats(msgspec.Struct, frozen=True, kw_only=True):
    """The use of the last days by date, agent, model and directory, and the limits of today and this month."""

    account: AccountUse
    days: dict[str, TurnsUse]
    agents: dict[str, TurnsUse]
    models: dict[str, TurnsUse]
    projects: dict[str, TurnsUse] = {}
    """By the directory of the session."""


DiffBase = Literal["git", "branch"]
"""The last commit, or the place where the branch began."""


class BranchView(msgspec.Struct, frozen=True):
    """The branch that is checked out and the default one; empty where there is none."""

    name: str
    default: str


class MatchedText(msgspec.Struct, frozen=True):
    """A text of a match: its path, its line, or the matched words."""

    text: str


class Submatch(msgspec.Struct, frozen=True):
    """A place in a line that fits a pattern, in bytes."""

    match: MatchedText
    start: int
    end: int


class TextMatch(msgspec.Struct, frozen=True):
    """A line that matches a pattern, as ripgrep reports it."""

    path: MatchedText
    lines: MatchedText
    line_number: int
    absolute_offset: int
    submatches: tuple[Submatch, ...]
