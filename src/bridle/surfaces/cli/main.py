"""The `bridle` command: parses, and leaves the work to the modules beside it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, NoReturn

import typer

from bridle.errors import BridleError, ConfigError, NoSuchSession, unsupported
from bridle.surfaces.cli.index import Lazily
from bridle.surfaces.cli.output import mend_streams, say, tell, tell_at_last

app = typer.Typer(
    name="bridle",
    cls=Lazily,
    help="An agent runtime whose turns are counted, recorded, and always end well.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

IN_JSON = ("run", "resume", "answer")
"""The commands whose JSON ends with a result."""


def _version(value: bool) -> None:
    if value:
        from bridle import __version__

        say(f"bridle {__version__}")
        raise typer.Exit


@app.callback()
def top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    """An agent runtime whose turns are counted, recorded, and always end well.

    Without a command it opens the terminal application.
    """
    if context.invoked_subcommand is None:
        # Loaded only here: every other command goes without it.
        from bridle.surfaces.cli.terminal import open_terminal

        open_terminal()


def main() -> None:
    """Run the command; every error is one sentence, never a traceback."""
    mend_streams()
    if refusal := unsupported():
        tell_at_last(f"bridle: {refusal}")
        sys.exit(2)
    try:
        app()
    except SystemExit as left:
        # A command that cannot be parsed leaves like this, with the sentence behind it.
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
        # Whoever read our output has left, or it cannot be written; flushing it at exit would fail once more.
        tell_at_last(f"bridle: the output cannot be written: {error}")
        os._exit(1)
    except Exception as error:
        # Nothing that reaches this place was foreseen; what was recorded is safe all the same.
        tell_at_last(f"bridle: this should not have happened: {type(error).__name__}: {error}")
        _result(f"{type(error).__name__}: {error}")
        sys.exit(1)


def _result(problem: str) -> None:
    """In JSON, end with a result also where nothing could be started."""
    words = sys.argv[1:]
    wanted = "--format=json" in words or ("--format", "json") in pairwise(words)
    if not wanted or words[0] not in IN_JSON:
        return
    # Loaded only here: it needs what a mistyped command does not.
    from bridle.surfaces.cli.json_lines import JsonLines

    with suppress(OSError, ValueError):
        JsonLines().error(problem, "error")


def _leave(status: int) -> NoReturn:
    """End the process; only who has driven something may have left a thread behind."""
    if "bridle.runtime" in sys.modules:
        from bridle.runtime import leave

        leave(status)
    sys.exit(status)
