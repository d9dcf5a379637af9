"""Wraps a tool call's command in the call's sandbox and egress proxy, if it has them, and starts it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.core.permission import Access
from bridle.process.containment import Contained, contain
from bridle.process.egress_proxy import EgressProxy
from bridle.process.lifelines import Lifelines
from bridle.process.output_stream import OutputStream
from bridle.process.sandbox import CLOSED, Openings
from bridle.seams import in_thread
from bridle.values.addresses import PRIVATE

if TYPE_CHECKING:
    from bridle.tools.tool import Invocation

HOST = "host"


@dataclass(slots=True)
class PreparedCommand:
    """A command ready to start: with or without a sandbox, with or without an egress proxy."""

    words: Sequence[str]
    folder: Path
    environment: Mapping[str, str] | None
    bounds: Mapping[str, int]
    find_lifelines: Callable[[], Lifelines | None]
    contained: Contained | None = None
    egress_proxy: EgressProxy | None = None

    def start(self, given: int | None = None, passes: Sequence[int] = ()) -> OutputStream:
        """Start the command. `given` is its standard input, `passes` are other file descriptors that it inherits."""
        return OutputStream(
            self.words,
            folder=self.folder,
            environment=self.environment,
            bounds=self.bounds,
            given=given,
            passes=passes,
            egress_proxy=self.egress_proxy,
            watch=self.contained.watch if self.contained is not None else None,
            lifelines=self.find_lifelines(),
        )


async def prepare(
    words: list[str], invocation: Invocation, folder: Path, *, opened: Openings = CLOSED, lasting: bool = False
) -> PreparedCommand:
    """Return a command of a call, in the call's sandbox if it has one. See `contain` for `opened` and `lasting`."""
    commands = invocation.commands
    ready = PreparedCommand(words, folder, invocation.environment, commands.bounds, commands.find_lifelines)
    sandbox = invocation.sandbox
    if sandbox is None:
        return ready
    project = invocation.directory.resolve()
    make = partial(contain, sandbox, project, folder, invocation.environment, opened=opened, lasting=lasting)
    contained = await in_thread(partial(make, permits=invocation.permits, call=invocation.call))
    ready.contained, ready.environment = contained, contained.environment
    if opened.fetches and not opened.network:
        proxy = ready.egress_proxy = _egress_proxy(invocation.permits)
        words, ready.environment = proxy.inside(words), proxy.environment(contained.environment)
    ready.words = [*contained.words, *words]
    return ready


def _egress_proxy(permits: Callable[[Access], bool] | None) -> EgressProxy:
    def allowed(permission: str) -> Callable[[str], bool]:
        return lambda host: permits is None or permits(Access(permission, host.lower()))

    return EgressProxy(allowed(HOST), allowed(PRIVATE), os.environ)
