"""The project's files around calls that may change them: kept before the first one, compared after the last."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping

import msgspec

from bridle.core.events import PartPut, Recorded
from bridle.core.limits import seconds_left
from bridle.core.parts import Notice, Patch
from bridle.core.permission import Access
from bridle.core.states import CallState, Running
from bridle.errors import SnapshotFailed
from bridle.turn.rig import Rig
from bridle.turn.scope import Aborted, Late

TAKE_SECONDS = 20.0
CLOSED_SECONDS = 2.0
"""The files are compared also when a turn's time is up, but then not for longer."""
ABORTED_SECONDS = 1.0
"""An abort must not wait longer for the files to be compared."""
ONLY_READS = re.compile(
    r"ls|cat|head|tail|grep|rg|wc|echo|printf|diff|stat|which|du|df|date|basename|dirname|cut|tr|nl|cmp|"
    r"md5sum|sha256sum|realpath|readlink|id|whoami|uname|nproc|ps|test|true|false|sleep|seq|pwd"
)
GIT_ONLY_READS = re.compile(
    r"(status|log|diff|show|blame|ls-files|rev-parse|grep)( (?!-o|-O|--o|--ext|--textconv)\S*)*"
)
"""Some of their options write files, or run what the project's settings name."""


async def opened(rig: Rig, verdicts: Mapping[str, CallState]) -> list[Recorded]:
    """Keep the files if one of these calls may change them; what is recorded of that with the calls' start."""
    keeps = rig.tack.snapshots
    number = rig.turn.start.number
    missing = f"{number}.notice.snapshot"
    if keeps is None or missing in rig.session.parts:
        return []
    running = list(_running(verdicts))
    if not any(_may_write(rig, id) for id in running) and not (running and _goes_on(rig)):
        return []
    seconds = _seconds(rig)
    problem = f"it took longer than {seconds:.3g} s"
    try:
        before = await rig.scope.run(keeps.take(rig.tack.directory, rig.record.lease.session), seconds)
        if isinstance(before, str):
            step = rig.turn.step.number if rig.turn.step is not None else 0
            last = rig.turn.last_patch
            if last is not None and last.background:
                # What a command in the background has changed since is this session's doing too.
                before = last.after
            return [PartPut(Patch(f"{number}.{step}.patch.{rig.session.sequence}", before, at=rig.seams.clock.wall()))]
        if isinstance(before, Aborted):
            return []
    except SnapshotFailed as failed:
        problem = str(failed)
    return [PartPut(Notice(missing, "snapshot", f"what this turn changes cannot be undone: {problem}"))]


def _seconds(rig: Rig) -> float:
    """How long a look at the files may take: no longer than the turn may."""
    allowed = rig.turn.limits.seconds
    return TAKE_SECONDS if allowed is None else min(TAKE_SECONDS, seconds_left(allowed, rig.record.elapsed))


def _goes_on(rig: Rig) -> bool:
    """Whether a command of this session goes on in the background, and may change files at any time."""
    return bool(rig.tack.backgrounds.of(rig.record.lease.session))


def _running(verdicts: Mapping[str, CallState]) -> Iterable[str]:
    return (id for id, state in verdicts.items() if isinstance(state, Running))


def _may_write(rig: Rig, id: str) -> bool:
    call = rig.session.call(id)
    tool = rig.tack.tools[call.name]
    if tool.repeatable or tool.leaves_files or tool.permission != "bash":
        return not (tool.repeatable or tool.leaves_files)
    return not all(_only_reads(access) for access in rig.ready[id].granted)


def _only_reads(access: Access) -> bool:
    if access.permission != "bash":
        return access.permission == "read"
    if access.reach == "passes":
        # Beside it stands an access that says what is run.
        return True
    program, _, rest = access.pattern.partition(" ")
    reads = GIT_ONLY_READS.fullmatch(rest) if program == "git" else ONLY_READS.fullmatch(program)
    return reads is not None and access.reach in ("exact", "open")


async def closed(rig: Rig) -> None:
    """Compare the files with those before, if they were kept, and record what has changed."""
    patch = rig.turn.patch
    keeps = rig.tack.snapshots if patch is not None else None
    if patch is None:
        return
    if keeps is None:
        await rig.record.append(_failed(patch, "snapshots are switched off"))
        return
    place = (rig.tack.directory, rig.record.lease.session, patch)
    seconds = max(CLOSED_SECONDS, _seconds(rig))
    try:
        compared = await rig.scope.run(keeps.compare(*place), seconds)
        if isinstance(compared, Aborted):
            # What an aborted call has done can be undone too.
            compared = await asyncio.wait_for(keeps.compare(*place), ABORTED_SECONDS)
    except (SnapshotFailed, TimeoutError) as failed:
        await rig.record.append(_failed(patch, str(failed) or "it took too long"))
        return
    if isinstance(compared, (Late, Aborted)):
        await rig.record.append(_failed(patch, f"it took longer than {seconds:.3g} s"))
        return
    facts = msgspec.structs.asdict(compared)
    done = msgspec.structs.replace(patch, state="taken", background=_goes_on(rig), **facts)
    await rig.record.append_with_next(PartPut(done))


def _failed(patch: Patch, why: str) -> PartPut:
    return PartPut(msgspec.structs.replace(patch, state="failed", detail=why))
