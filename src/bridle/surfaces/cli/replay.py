"""`bridle replay` and `bridle testing`: play a session back, verify it, or make and serve a test scenario."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.events import Entry, PartDelta, PartGrown, PartPut, Recorded
from bridle.core.fold import fold
from bridle.core.ids import read_step_address, step_part_id
from bridle.core.parts import Prompt, Reasoning
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.core.undo import visible
from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.surfaces.cli.commands import LastSession, Output, with_runtime
from bridle.surfaces.cli.new_files import write_file
from bridle.surfaces.cli.output import say, tell
from bridle.surfaces.cli.text import TextLines
from bridle.surfaces.cli.writer import output_writer

testing = typer.Typer(help="Test agents without tokens.", no_args_is_help=True)
LONGEST_GAP = 3.0
"""Maximum pause in seconds, because prompts may be hours apart."""


@with_runtime
async def replay(
    runtime: Runtime,
    session: LastSession = "",
    start: Annotated[str, typer.Option("--from", help="First step to show: 3, or 2.3 for step 3 of turn 2.")] = "",
    speed: Annotated[float, typer.Option(help="Speed factor; 0 shows everything at once.", min=0)] = 1.0,
    verify: Annotated[bool, typer.Option("--verify", help="Repeat all decisions, and report differences.")] = False,
) -> int:
    """Replay a session as it happened, or verify its decisions from the record.

    Example: bridle replay ses_01m7f61fgm8e25fmtbew1j8mk4 --from 2.1 --speed 10
    """
    entries = await runtime.entries(session)
    if verify:
        return _verify(entries)
    await _play(entries, _first(entries, start), speed)
    return 0


def _verify(entries: list[Entry]) -> int:
    found = verified(entries)
    if found is None:
        say(f"every decision follows from the record: {len(entries)} entries")
        return 0
    where = f"turn {found.turn}, step {found.step}, entry {found.sequence}"
    say(f"{where}: recorded is {found.recorded}, decided is {found.decided}")
    return 1


def _first(entries: list[Entry], start: str) -> int:
    """Return the sequence number of the first entry to show. Raises `ConfigError` if the step does not exist."""
    if not start:
        return 0
    named = read_step_address(start)
    wanted = step_part_id(*named, "start") if named is not None else ""
    for entry in visible(entries):
        if any(isinstance(event, PartPut) and event.part.id == wanted for event in entry.events):
            return entry.sequence
    raise ConfigError(f"--from: there is no step {start}")


async def _play(entries: list[Entry], first: int, speed: float) -> None:
    lines = TextLines(output_writer(quiet=False))
    session = Session()
    last = 0.0
    for entry in visible(entries):
        prompt = next(filter(None, map(_asked, entry.events)), None)
        if prompt is not None:
            lines.begin(session, prompt.id)
        if entry.sequence < first:
            fold(session, entry)
            continue
        if speed and last:
            await asyncio.sleep(min(max(0.0, entry.at - last) / speed, LONGEST_GAP))
        last = entry.at
        if prompt is not None:
            tell(f"> {prompt.text}")
        lines.event(entry)
        for event in entry.events:
            if isinstance(event, PartGrown):
                thought = isinstance(session.parts[event.id], Reasoning)
                lines.event(PartDelta(event.id, event.offset, event.text, "reasoning" if thought else "text"))
        lines.tick()
    lines.rest()


def _asked(event: Recorded) -> Prompt | None:
    """Return the prompt of this event if it expects an answer."""
    part = event.part if isinstance(event, PartPut) else None
    return part if isinstance(part, Prompt) and part.turn > 0 else None


@testing.command("record")
@with_runtime
async def record(runtime: Runtime, session: LastSession = "", output: Output = None) -> None:
    """Make a test scenario of a session's model responses, which plays without tokens.

    Example: bridle testing record ses_01m7f61fgm8e25fmtbew1j8mk4 -o scenario.yaml
    """
    # Imported here because no other command writes YAML.
    import yaml

    from bridle.testing.record import recorded

    scenario = recorded(await runtime.entries(session))
    text = yaml.safe_dump(scenario, allow_unicode=True, sort_keys=False, width=100)
    if output is None:
        say(text, end="")
    else:
        write_file(output, text.encode())


@testing.command("serve")
def serve(
    scenario: Annotated[Path, typer.Argument(help="Scenario file (YAML or JSON).")],
    port: Annotated[int, typer.Option(help="Port; 0 selects a free one.")] = 0,
) -> None:
    """Serve a scenario over HTTP on localhost, with the APIs of all three wires.

    Example: bridle testing serve examples/tour.yaml --port 8080
    """
    # Imported here because no other command needs it.
    from bridle.testing.server import serve_scenario

    serve_scenario(scenario, port, lambda address: say(f"serving {scenario} at {address}/v1"))
