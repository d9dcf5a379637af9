"""Index of all commands: imports one when it is called; inside a tool call it refuses those only a person may run."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from bridle.errors import ConfigError
from bridle.surfaces.cli.fast_parameters import quickened
from bridle.surfaces.cli.output import tell_logged


class Command(NamedTuple):
    """Location (`module:attribute`) of a command or command group, and its one-line help."""

    where: str
    help: str


INDEX: dict[str, dict[str, Command]] = {
    "Run and control": {
        "run": Command("run:run", "Run a prompt and exit with a status that tells how it ended."),
        "resume": Command("manage:resume", "Continue an interrupted turn, or prompts that were held back."),
        "answer": Command("manage:answer", "Answer a request of a paused session, and continue it."),
        "extend": Command("manage:extend", "Raise limits of the running turn, up to the ceiling."),
        "abort": Command("manage:abort", "Abort the running turn; its record is kept."),
        "compact": Command("manage:compact", "Compact a session's context now."),
    },
    "Sessions": {
        "sessions": Command("sessions:sessions", "List, search, rename and delete sessions."),
        "show": Command("manage:show", "Print a session."),
        "undo": Command("undo:undo_turns", "Undo turns and their file changes."),
        "redo": Command("undo:redo_turns", "Reverse the last undo."),
        "diff": Command("undo:show_diff", "Show the file changes of a session."),
        "fork": Command("transfer:fork", "Copy a session's history into a new session."),
        "export": Command("transfer:export", "Write a session as one JSON file."),
        "import": Command("transfer:take_in", "Import an exported session."),
        "replay": Command("replay:replay", "Replay a session, or verify its decisions."),
        "report": Command("transfer:report", "Write a session as one HTML page."),
        "stats": Command("stats:stats", "Show usage and the rest of daily and monthly limits."),
    },
    "Serve": {
        "serve": Command("serve:serve", "Serve sessions over HTTP to pages and programs."),
        "attach": Command("attach:attach", "Open the terminal application on a server."),
        "web": Command("web:web", "Open the page of the running server, or start one."),
        "acp": Command("acp:acp", "Serve an editor (Agent Client Protocol)."),
    },
    "Many machines": {
        "worker": Command("worker:worker", "Drive sessions of a journal on PostgreSQL."),
        "workers": Command("worker:workers", "List workers, and the sessions that wait for one."),
    },
    "Set up": {
        "init": Command("config:init", "Write a starter bridle.toml."),
        "config": Command("config:config", "Show effective settings, and check files."),
        "agents": Command("agents:agents", "List agents with their limits."),
        "models": Command("models:models", "List available models."),
        "auth": Command("models:auth", "Manage provider keys."),
        "mcp": Command("mcp:mcp", "Manage MCP servers (Model Context Protocol)."),
        "trust": Command("project:trust", "Trust a project's files in their present state."),
        "permissions": Command("project:permissions", "List and revoke permanent permissions."),
        "database": Command("database:database", "Create, check, migrate, copy and prune a journal."),
        "doctor": Command("doctor:doctor", "Check the installation, and explain how to fix problems."),
        "testing": Command("replay:testing", "Test agents without tokens."),
    },
}
FOR_PEOPLE = frozenset(
    {
        "acp",
        "attach",
        "serve",
        "web",
        "worker",
        "extend",
        "answer",
        "trust",
        "permissions",
        "auth",
        "import",
        "init",
        "database",
    }
)
"""Commands that grant something: refused inside a tool call of a session."""
FROM_EXTRA = frozenset({"psycopg", "psycopg_pool", "procrastinate"})
"""Modules of the extra `postgres`."""
COMMANDS = {name: command for section in INDEX.values() for name, command in section.items()}


def load(name: str) -> Any:
    """Import and return the function or group of a command."""
    module, _, attribute = COMMANDS[name].where.partition(":")
    try:
        return getattr(import_module(f"bridle.surfaces.cli.{module}"), attribute)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in FROM_EXTRA:
            raise
        raise ConfigError(f"`bridle {name}` needs an extra: pip install 'bridle[postgres]' ({error})") from error


def _enter(name: str) -> None:
    """Raise `ConfigError` inside a tool call of a session if only a person may run this command."""
    # Imported here because listing commands and printing the version do not need it.
    from bridle.runtime.inside_call import leave_terminal, refuse_inside_call

    if name in FOR_PEOPLE:
        refuse_inside_call(f"`bridle {name}`")
    if "--trust" in sys.argv[1:]:
        refuse_inside_call(f"`bridle {name} --trust`")
    if any(word.split("=")[0] == "--attach" for word in sys.argv[1:]):
        refuse_inside_call("--attach")
    leave_terminal()


DIRECTORY = "bridle.directory"
"""Where the context of the command line keeps the directory for the terminal application."""


ELSEWHERE = {
    **dict.fromkeys(("-p", "--print"), 'bridle run "PROMPT"'),
    **dict.fromkeys(("-r", "--resume"), "bridle -c, or bridle -s ID"),
}
"""Options of other agents, and what they are called here."""


def _is_place(word: str) -> bool:
    return word in (".", "..", "~") or "/" in word or os.path.isdir(word)


class Lazily(TyperGroup):
    """A command group that imports a command when it is called, and none to list them."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        # Typer compares a mistyped name with these.
        self.commands = cast(Any, dict.fromkeys(COMMANDS))
        quickened(self)
        self._by_name = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take a first word that is a directory, and no command, for the terminal application."""
        if args and (here := ELSEWHERE.get(args[0])):
            ctx.fail(f"there is no {args[0]} here: {here}")
        _, words, _ = self.make_parser(ctx).parse_args(list(args))
        if words and " " in words[0].strip() and not _is_place(words[0]):
            ctx.fail(f"{words[0]!r} is no command: send it as a prompt with bridle run, or bridle --prompt")
        opens = bool(words) and words[0] not in COMMANDS and _is_place(words[0])
        ctx.allow_interspersed_args = opens
        rest = super().parse_args(ctx, args)
        if opens:
            more = [*ctx._protected_args, *rest][1:]
            if more:
                ctx.fail(f"only one directory can be opened: leave out {more[0]}")
            ctx.meta[DIRECTORY] = words[0]
            ctx._protected_args, ctx.args = [], []
        return list(ctx.args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command without importing any."""
        self._by_name = True
        return super().shell_complete(ctx, incomplete)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if self._by_name:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name].help)
        if not ctx.resilient_parsing:
            # A completion only looks at the parameters.
            _enter(cmd_name)
            tell_logged()
        loaded = load(cmd_name)
        if isinstance(loaded, typer.Typer):
            loaded.rich_markup_mode = None
            group = typer.main.get_group(loaded)
            group.name = cmd_name
            return quickened(group)
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(cmd_name)(loaded)
        return quickened(typer.main.get_command(alone))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, section in INDEX.items():
            with formatter.section(title):
                formatter.write_dl([(name, command.help) for name, command in section.items()])
