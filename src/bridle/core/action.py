"""What a turn may do next: each action is done by one effect, and named by `decide` alone."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LimitName, Reason
from bridle.core.states import Refusal


class CallModel(msgspec.Struct, frozen=True):
    """Ask the model for a step."""

    number: int
    attempt: int
    tools: Literal["offered", "off"]
    closing: Reason | None = None
    warn: tuple[LimitName, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """Run these calls together."""

    calls: tuple[str, ...]


class Compact(msgspec.Struct, frozen=True):
    """Make the context smaller: by a summary that the model writes, or by one from the record."""

    attempt: int
    by: Literal["model", "bridle"]


class Synthesize(msgspec.Struct, frozen=True):
    """Have the answer written from the results of the last step, by one request without tools."""

    attempt: int


class Wait(msgspec.Struct, frozen=True):
    """The subagents of these calls are awaited."""

    calls: tuple[str, ...]


class Settle(msgspec.Struct, frozen=True):
    """End these calls without running them."""

    calls: tuple[str, ...]
    refusal: Refusal


class Pause(msgspec.Struct, frozen=True):
    """A person is awaited for these calls."""

    calls: tuple[str, ...]


class Finish(msgspec.Struct, frozen=True):
    """End the turn."""

    reason: Reason
    detail: str = ""


Action = CallModel | Run | Settle | Compact | Synthesize | Wait | Pause | Finish
