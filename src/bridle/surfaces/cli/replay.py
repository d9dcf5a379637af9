"""`bridle replay` and `bridle testing record`: play a session back, verify it, or make a test scenario of it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from bridle.core.events import Entry, PartDelta, PartGrown, PartPut, Recorded
from bridle.core.fold import fold
from bridle.core.ids import read_step_address, step_part_id
from bridle.core.parts import Prompt, Reasoning, StepStart
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.core.undo import visible
from bridle.errors import ConfigError
from bridle.runtime import Runtime
from bridle.surfaces.cli.manage import SessionId, with_runtime
from bridle.surfaces.cli.new_files import write_file
from bridle.surfaces.cli.output import say, tell
from bridle.surfaces.cli.text import TextLines
from bridle.surfaces.cli.writer import paper

LONGEST_GAP = 3.0
"""Maximum pause in seconds, because prompts may be hours apart."""


def replay(
    session: SessionId,
    start: Annotated[str, typer.Option("--from", help="A step, as 3, or with its turn, as 2.3.")] = "",
    speed: Annotated[float, typer.Option(help="How many times faster than it was; 0 is at once.", min=0)] = 1.0,
    verify: Annotated[bool, typer.Option("--verify", help="Decide anew, and say where the record differs.")] = False,
) -> None:
    """Play a session back as it was, or decide it anew from its record.

    Example: bridle replay ses_01m7f61fgm8e25fmtbew1j8mk4 --from 2.1 --speed 10
    """

    async def work(runtime: Runtime) -> int:
        entries = await runtime.entries(session)
        if verify:
            return _verify(entries)
        await _play(entries, _first(entries, start), speed)
        return 0

    sys.exit(asyncio.run(with_runtime(Path(), work)))


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
        for event in entry.events:
            if isinstance(event, PartPut) and isinstance(event.part, StepStart) and event.part.id == wanted:
                return entry.sequence
    raise ConfigError(f"--from: there is no step {start}")


async def _play(entries: list[Entry], first: int, speed: float) -> None:
    lines = TextLines(paper(quiet=False))
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


def record(
    session: SessionId,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The file, if not standard output.")] = None,
) -> None:
    """Make a scenario of what a session's model said, to play it again in tests, without tokens.

    Example: bridle testing record ses_01m7f61fgm8e25fmtbew1j8mk4 -o scenario.yaml
    """
    # Imported here because no other command writes YAML.
    import yaml

    from bridle.testing.record import recorded

    async def work(runtime: Runtime) -> str:
        scenario = recorded(await runtime.entries(session))
        return yaml.safe_dump(scenario, allow_unicode=True, sort_keys=False, width=100)

    text = asyncio.run(with_runtime(Path(), work))
    if output is None:
        say(text, end="")
        return
    write_file(output, text.encode())
    say(f"written: {output}")
