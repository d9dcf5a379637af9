"""Takes a snapshot of the project before and after calls that may change files, and records the difference."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping

import msgspec

from bridle.core.events import PartPut, Recorded
from bridle.core.ids import notice_id, patch_id
from bridle.core.limits import seconds_left
from bridle.core.parts import Notice, Patch
from bridle.core.permission import Access
from bridle.core.states import CallState, Running
from bridle.errors import SnapshotFailed
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.scope import Aborted

TAKE_SECONDS = 20.0
CLOSED_SECONDS = 2.0
"""Time to compare the files when the turn's time is up."""
ABORTED_SECONDS = 1.0
"""Time to compare the files after an abort."""
GIT_ONLY_READS = re.compile(
    r"(status|log|diff|show|blame|ls-files|rev-parse|grep)( (?!-o|-O|--o|--ext|--textconv)\S*)*"
)
"""Git commands that only read, without the options that write files or run programs from the project's settings."""


async def begin_patch(active: ActiveTurn, verdicts: Mapping[str, CallState]) -> list[Recorded]:
    """Snapshot the files if one of these calls may change them; return events to record with the start of the calls."""
    keeps = active.setup.snapshots
    number = active.turn.start.number
    if keeps is None or (missing := notice_id(number, "snapshot")) in active.session.parts:
        return []
    running = [id for id, state in verdicts.items() if isinstance(state, Running)]
    if not any(_may_write(active, id) for id in running) and not (running and _goes_on(active)):
        return []
    seconds = _seconds(active)
    problem = f"it took longer than {seconds:.3g} s"
    try:
        before = await active.scope.run(
            keeps.take(active.setup.commands.directory, active.record.lease.session), seconds
        )
        if isinstance(before, str):
            step = active.turn.step.number if active.turn.step is not None else 0
            last = active.turn.last_patch
            if last is not None and last.background:
                # Changes by a background command since then belong to this session too.
                before = last.after
            id = patch_id(number, step, active.session.sequence)
            return [PartPut(Patch(id, before, at=active.seams.clock.wall()))]
        if isinstance(before, Aborted):
            return []
    except SnapshotFailed as failed:
        problem = str(failed)
    return [PartPut(Notice(missing, "snapshot", f"the changes of this turn cannot be undone: {problem}"))]


def _seconds(active: ActiveTurn) -> float:
    """Return how long a snapshot may take: no longer than the turn."""
    allowed = active.turn.limits.seconds
    return TAKE_SECONDS if allowed is None else min(TAKE_SECONDS, seconds_left(allowed, active.record.elapsed))


def _goes_on(active: ActiveTurn) -> bool:
    """Return whether a background command of this session is running, and may change files at any time."""
    return bool(active.setup.commands.backgrounds.of(active.record.lease.session))


def _may_write(active: ActiveTurn, id: str) -> bool:
    call = active.session.call(id)
    tool = active.setup.toolset.tools[call.name]
    if tool.repeatable or tool.leaves_files:
        return False
    return tool.permission != "bash" or not all(map(_only_reads, active.ready[id].granted))


def _only_reads(access: Access) -> bool:
    if access.permission != "bash":
        return access.permission == "read"
    if access.reach == "passes":
        # Another access of the call says what is run.
        return True
    # Imported late: a turn without commands does not need the parser.
    from bridle.shell.program_names import CHANGE_NO_FILE

    program, _, rest = access.pattern.partition(" ")
    reads = GIT_ONLY_READS.fullmatch(rest) is not None if program == "git" else program in CHANGE_NO_FILE
    return reads and access.reach in ("exact", "open")


async def finish_patch(active: ActiveTurn) -> None:
    """Compare the files with their snapshot, if there is one, and record the changes."""
    patch = active.turn.patch
    if patch is None:
        return
    compared = await _compared(active, patch)
    if isinstance(compared, str):
        await active.record.append(PartPut(msgspec.structs.replace(patch, state="failed", detail=compared)))
        return
    done = msgspec.structs.replace(compared, state="taken", background=_goes_on(active))
    await active.record.append_with_next(PartPut(done))


async def _compared(active: ActiveTurn, patch: Patch) -> Patch | str:
    """Return the changes since a snapshot, or why they are not known."""
    keeps = active.setup.snapshots
    if keeps is None:
        return "snapshots are switched off"
    place = (active.setup.commands.directory, active.record.lease.session, patch)
    seconds = max(CLOSED_SECONDS, _seconds(active))
    try:
        compared = await active.scope.run(keeps.compare(*place), seconds)
        if isinstance(compared, Aborted):
            # The changes of an aborted call can be undone too.
            compared = await asyncio.wait_for(keeps.compare(*place), ABORTED_SECONDS)
    except (SnapshotFailed, TimeoutError) as failed:
        return str(failed) or "it took too long"
    return compared if isinstance(compared, Patch) else f"it took longer than {seconds:.3g} s"
