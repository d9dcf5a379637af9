"""The `bridle` command: parses, and leaves the work to the modules beside it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from bridle.errors import BridleError, ConfigError, NoSuchSession, unsupported
from bridle.surfaces.cli.index import Lazily

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

        typer.echo(f"bridle {__version__}")
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
    _mend_streams()
    if refusal := unsupported():
        _say(f"bridle: {refusal}\n")
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
        sys.stderr.write(f"bridle: {error}\n")
        _result(str(error))
        _leave(2 if isinstance(error, (ConfigError, NoSuchSession)) else 1)
    except KeyboardInterrupt:
        _leave(130)
    except OSError as error:
        # Whoever read our output has left, or it cannot be written; flushing it at exit would fail once more.
        _say(f"bridle: the output cannot be written: {error}\n")
        os._exit(1)
    except Exception as error:
        # Nothing that reaches this place was foreseen; what was recorded is safe all the same.
        _say(f"bridle: this should not have happened: {type(error).__name__}: {error}\n")
        _result(f"{type(error).__name__}: {error}")
        sys.exit(1)


def _result(problem: str) -> None:
    """In JSON, end with a result also where nothing could be started."""
    words = sys.argv[1:]
    wanted = "--format=json" in words or ("--format", "json") in pairwise(words)
    if not wanted or words[0] not in IN_JSON:
        return
    # Loaded only here: it needs what a mistyped command does not.
    from bridle.surfaces.cli.lines import JsonLines

    with suppress(OSError, ValueError):
        JsonLines(sys.stdout).error(problem, "error")


def _leave(status: int) -> NoReturn:
    """End the process; only who has driven something may have left a thread behind."""
    if "bridle.runtime" in sys.modules:
        from bridle.runtime import leave

        leave(status)
    sys.exit(status)


def _mend_streams() -> None:
    """Output that is closed goes nowhere; letters that the terminal does not know become marks."""
    nowhere = Path(os.devnull)
    sys.stdout = sys.stdout or nowhere.open("w")
    sys.stderr = sys.stderr or nowhere.open("w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
