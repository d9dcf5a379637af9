"""The `bridle` command: parses, and leaves the work to the modules beside it."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import BridleError, ConfigError
from bridle.runtime import leave
from bridle.surfaces.cli import (
    agents,
    config,
    manage,
    mcp,
    models,
    moving,
    project,
    replay,
    report,
    run,
    sessions,
    stats,
    undoing,
)

app = typer.Typer(
    name="bridle",
    help="An agent runtime whose turns are counted, recorded, and always end well.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
testing = typer.Typer(help="Test agents without tokens.", no_args_is_help=True)

app.command("run")(run.run)
app.command("resume")(manage.resume)
app.command("answer")(manage.answer)
app.command("abort")(manage.abort)
app.command("extend")(manage.extend)
app.command("compact")(manage.compact)
app.command("show")(manage.show)
app.command("export")(moving.export)
app.command("import")(moving.take_in)
app.command("fork")(moving.fork)
app.command("undo")(undoing.undo_turns)
app.command("redo")(undoing.redo_turns)
app.command("diff")(undoing.show_diff)
app.command("replay")(replay.replay)
app.command("report")(report.report)
app.command("stats")(stats.stats)
app.command("trust")(project.trust)
app.command("doctor")(project.doctor)
app.add_typer(sessions.sessions, name="sessions")
app.add_typer(project.permissions, name="permissions")
app.add_typer(models.models, name="models")
app.add_typer(models.auth, name="auth")
app.add_typer(mcp.mcp, name="mcp")
app.command("init")(config.init)
app.add_typer(agents.agents, name="agents")
app.add_typer(config.config, name="config")
app.add_typer(testing, name="testing")


testing.command("record")(replay.record)


@testing.command("serve")
def serve(
    scenario: Annotated[Path, typer.Argument(help="A YAML or JSON scenario.")],
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 0,
) -> None:
    """Play a scenario over HTTP on loopback, in all three wires.

    Example: bridle testing serve examples/tour.yaml --port 8080
    """
    # Loaded only here: no other command serves anything.
    from bridle.testing.server import serve_scenario

    serve_scenario(scenario, port, lambda address: typer.echo(f"serving {scenario} at {address}/v1"))


def _version(value: bool) -> None:
    if value:
        from bridle import __version__

        typer.echo(f"bridle {__version__}")
        raise typer.Exit


@app.callback()
def top(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    """An agent runtime whose turns are counted, recorded, and always end well."""


def main() -> None:
    """Run the command; every error is one sentence, never a traceback."""
    _mend_streams()
    try:
        app()
    except SystemExit as left:
        leave(left.code if isinstance(left.code, int) else 0 if left.code is None else 1)
    except ConfigError as error:
        sys.stderr.write(f"bridle: {error}\n")
        leave(2)
    except BridleError as error:
        sys.stderr.write(f"bridle: {error}\n")
        leave(1)
    except KeyboardInterrupt:
        leave(130)
    except OSError as error:
        # Whoever read our output has left, or it cannot be written; flushing it at exit would fail once more.
        _say(f"bridle: the output cannot be written: {error}\n")
        os._exit(1)
    except Exception as error:
        # Nothing that reaches this place was foreseen; what was recorded is safe all the same.
        _say(f"bridle: this should not have happened: {type(error).__name__}: {error}\n")
        sys.exit(1)


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
