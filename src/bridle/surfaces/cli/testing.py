"""`bridle testing`: commands for testing agents without tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bridle.surfaces.cli.output import say
from bridle.surfaces.cli.replay import record

testing = typer.Typer(help="Test agents without tokens.", no_args_is_help=True)
testing.command("record")(record)


@testing.command("serve")
def serve(
    scenario: Annotated[Path, typer.Argument(help="A YAML or JSON scenario.")],
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 0,
) -> None:
    """Play a scenario over HTTP on loopback, in all three wires.

    Example: bridle testing serve examples/tour.yaml --port 8080
    """
    # Imported here because no other command needs it.
    from bridle.testing.server import serve_scenario

    serve_scenario(scenario, port, lambda address: say(f"serving {scenario} at {address}/v1"))
