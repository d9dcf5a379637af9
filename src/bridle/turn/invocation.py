"""What a call gets to work with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bridle.core.events import PartDelta
from bridle.tools.output_buffer import Printed
from bridle.tools.tool import Invocation
from bridle.turn.active_turn import ActiveTurn


def invocation_of(active: ActiveTurn, id: str, seconds: float) -> Invocation:
    """A call that is about to run, for so many seconds at most."""
    setup, session = active.setup, active.record.lease.session
    spill = partial(setup.output_file, session, id) if setup.output_file is not None else None
    return Invocation(
        id,
        session,
        setup.directory,
        active.session.known_files,
        seconds,
        printed=Printed(spill),
        show=_shower(active, id),
        environment=setup.environment,
        guarded=setup.guarded,
        find_sandbox=setup.find_sandbox,
        bounds=setup.bounds,
        hosts=active.hosts,
        backgrounds=setup.backgrounds,
        formatters=setup.formatters,
        diagnostics=setup.diagnostics,
        recall=lambda name: active.session.kept.get(name, ""),
    )


def _shower(active: ActiveTurn, id: str) -> Callable[[str], None]:
    offset = 0

    def show(text: str) -> None:
        nonlocal offset
        active.record.publish(active.record.lease.session, PartDelta(id, offset, text, "output"))
        offset += len(text)

    return show
