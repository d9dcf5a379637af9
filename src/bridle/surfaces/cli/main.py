"""Entry point of the `bridle` command: parses arguments and reports errors; other modules do the work."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, NoReturn

import typer

from bridle import unsupported
from bridle.errors import BridleError, ConfigError, NoSuchSession
from bridle.surfaces.cli.index import DIRECTORY, Lazily
from bridle.surfaces.cli.output import mend_streams, say, tell, tell_at_last
from bridle.surfaces.cli.terminal import (
    ChosenAgent,
    ChosenModel,
    Continue,
    FirstPrompt,
    Session,
    TerminalStart,
    open_terminal,
)

app = typer.Typer(
    name="bridle",
    cls=Lazily,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

IN_JSON = ("run", "resume", "answer")
"""Commands whose JSON output ends with a result."""


def _version(value: bool) -> None:
    if value:
        from bridle import __version__

        say(f"bridle {__version__}")
        raise typer.Exit


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    continue_last: Continue = False,
    session: Session = "",
    model: ChosenModel = "",
    agent: ChosenAgent = "",
    prompt: FirstPrompt = "",
    attach: Annotated[str, typer.Option("--attach", help="Use the sessions of the server at this address.")] = "",
) -> None:
    """An agent runtime whose turns are counted, recorded, and always end well.

    Without a command, Bridle opens the terminal application: bridle [DIR] [-c | -s ID] [-m MODEL] [--prompt TEXT]
    """
    opening = TerminalStart(session, continue_last, model, agent, prompt)
    if context.invoked_subcommand is None:
        open_terminal(str(context.meta.get(DIRECTORY, "")), opening, attach)
    elif attach or any(opening):
        raise ConfigError(f"write the options behind the command, as in `bridle {context.invoked_subcommand} …`")


def main() -> None:
    """Run the command; every error is one sentence, never a traceback."""
    mend_streams()
    if refusal := unsupported():
        tell_at_last(f"bridle: {refusal}")
        sys.exit(2)
    try:
        app()
    except SystemExit as left:
        # A usage error exits like this, with the message in the exception's context.
        wrong_usage = getattr(left.__context__, "format_message", None)
        if wrong_usage is not None:
            _result(wrong_usage())
        _leave(left.code if isinstance(left.code, int) else 0 if left.code is None else 1)
    except BridleError as error:
        tell(f"bridle: {error}")
        _result(str(error))
        _leave(2 if isinstance(error, (ConfigError, NoSuchSession)) else 1)
    except KeyboardInterrupt:
        _leave(130)
    except OSError as error:
        if error.filename is not None:
            tell_at_last(f"bridle: {error.filename}: {error.strerror}")
            _result(str(error))
            _leave(1)
        # The reader of our output is gone, or it cannot be written; flushing at exit would fail again.
        tell_at_last(f"bridle: the output cannot be written: {error}")
        os._exit(1)
    except Exception as error:
        # An unexpected error; the journal is safe all the same.
        tell_at_last(f"bridle: this should not have happened: {type(error).__name__}: {error}")
        _result(f"{type(error).__name__}: {error}")
        sys.exit(1)


def _result(problem: str) -> None:
    """Write a JSON result also if nothing could be started."""
    words = sys.argv[1:]
    wanted = "--format=json" in words or ("--format", "json") in pairwise(words)
    if not wanted or words[0] not in IN_JSON:
        return
    # Imported here because it has dependencies that a mistyped command does not need.
    from bridle.surfaces.cli.json_lines import JsonLines

    with suppress(OSError, ValueError):
        JsonLines().error(problem, "error")


def _leave(status: int) -> NoReturn:
    """End the process; only a command that used the runtime may have left a thread behind."""
    if "bridle.runtime" in sys.modules:
        from bridle.runtime import leave

        leave(status)
    sys.exit(status)
