"""`CommandTable`: the slash commands of the terminal application and those of the project, with their descriptions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple

from bridle.errors import ConfigError
from bridle.runtime.project_views import SlashCommand

TYPED = re.compile(r"/([\w.:-]+)(?:\s+(.*))?\Z", re.DOTALL)


class TypedCommand(NamedTuple):
    """A command: what it does, its other names, and the argument that it needs, if any."""

    name: str
    words: str
    aliases: tuple[str, ...] = ()
    argument: str = ""
    ours: bool = True
    """Whether the application carries it out; else it is a prompt for the model."""

    @property
    def names(self) -> str:
        """The name and the aliases."""
        return " ".join((self.name, *self.aliases))

    @property
    def searched(self) -> str:
        """The text that a search looks at."""
        return f"{self.names} {self.words}"


OURS: Final = tuple(
    TypedCommand(name, words, tuple(aliases.split()))
    for name, aliases, words in (
        ("help", "keys", "Show keys and commands"),
        ("new", "clear", "Start a new session"),
        ("sessions", "resume", "Open, rename, pin, fork or delete a session"),
        ("models", "model", "Choose the model"),
        ("variants", "effort", "Choose the thinking effort"),
        ("agents", "agent", "Choose the agent"),
        ("undo", "rewind", "Undo the last turn with its files"),
        ("redo", "", "Revert the last undo"),
        ("timeline", "history", "Go back to an earlier prompt, to read or to undo"),
        ("compact", "summarize", "Make the context smaller"),
        ("diff", "changes", "Show the files changed by this session"),
        ("fork", "branch", "Continue in a copy of this session"),
        ("rename", "title", "Give this session a title"),
        ("delete", "", "Delete this session"),
        ("export", "", "Write this session as a JSON file"),
        ("report", "", "Write this session as an HTML page"),
        ("themes", "theme", "Choose the colors"),
        ("copy", "", "Copy the last answer"),
        ("editor", "", "Write the prompt in your editor ($EDITOR)"),
        ("mcp", "servers", "Show MCP servers, and log in"),
        ("permissions", "allowed", "Show permanent permissions, and revoke them"),
        ("approvals", "yolo", "Switch approvals: by the rules, ask each time, automatic"),
        ("limits", "budget", "Show limits, and raise one of the running turn"),
        ("extend", "", "Raise the limit of which most is used, by half"),
        ("cost", "usage stats", "Show what was used, and what it cost"),
        ("status", "", "Show session, model, trust and settings"),
        ("asks", "ask", "Show a request again that was put off"),
        ("waiting", "queue", "Edit or withdraw prompts that wait"),
        ("proceed", "continue", "Continue after a limit, or an interrupted turn"),
        ("subagents", "tree", "Show the subagents of this session"),
        ("background", "ps", "Show background commands"),
        ("prompts", "", "Search earlier prompts of all sessions"),
        ("login", "connect", "Connect a model provider"),
        ("exit", "quit q", "Leave"),
    )
)
WORDS: Final = {command.name: command.words for command in OURS}


class CommandTable:
    """All commands that can be typed here."""

    def __init__(self) -> None:
        self._theirs: tuple[TypedCommand, ...] = ()

    def learn(self, names: Sequence[str], found: Sequence[SlashCommand] = ()) -> None:
        """Take the project's commands: their names at first, and their descriptions once they are known."""
        described: Mapping[str, SlashCommand] = {each.name: each for each in found}
        ours = {name for command in OURS for name in (command.name, *command.aliases)}
        self._theirs = tuple(
            TypedCommand(
                name, described[name].description or "a prompt" if name in described else "a prompt", ours=False
            )
            for name in dict.fromkeys([*names, *described])
            if name not in ours
        )

    def rows(self) -> list[TypedCommand]:
        """Return all commands, the application's first."""
        return [*OURS, *self._theirs]

    def typed(self, text: str) -> tuple[TypedCommand, str] | None:
        """Return the command that a text begins with, and its argument; None for a prompt, such as one with a path.

        Raises `ConfigError` with a suggestion for a command that does not exist.
        """
        found = TYPED.match(text)
        if found is None:
            return None
        name, argument = found[1], (found[2] or "").strip()
        for command in self.rows():
            if name == command.name or (command.ours and name in command.aliases):
                return command, argument
        names = [each for command in self.rows() for each in (command.name, *command.aliases)]
        if ":" in name:
            # A prompt of a server, which may have connected meanwhile.
            return None
        near = get_close_matches(name, names, 1)
        hint = f"did you mean /{near[0]}?" if near else "type / to see all"
        raise ConfigError(f"there is no command /{name}; {hint} A prompt may begin with a space and a /")
