"""What a call gets to work with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bridle.core.events import PartDelta
from bridle.tools.printed import Printed
from bridle.tools.tool import Invocation
from bridle.turn.rig import Rig


def invocation_of(rig: Rig, id: str, seconds: float) -> Invocation:
    """A call that is about to run, for so many seconds at most."""
    tack, session = rig.tack, rig.record.lease.session
    spill = partial(tack.output_file, session, id) if tack.output_file is not None else None
    return Invocation(
        id,
        session,
        tack.directory,
        rig.session.known_files,
        seconds,
        printed=Printed(spill),
        show=_shower(rig, id),
        environment=tack.environment,
        guarded=tack.guarded,
        find_sandbox=tack.find_sandbox,
        bounds=tack.bounds,
        hosts=rig.hosts,
        backgrounds=tack.backgrounds,
        formatters=tack.formatters,
        diagnostics=tack.diagnostics,
        recall=lambda name: rig.session.kept.get(name, ""),
    )


def _shower(rig: Rig, id: str) -> Callable[[str], None]:
    offset = 0

    def show(text: str) -> None:
        nonlocal offset
        rig.record.publish(rig.record.lease.session, PartDelta(id, offset, text))
        offset += len(text)

    return show
