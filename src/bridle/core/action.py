"""The actions of a turn as data (call the model, run calls, wait, …): `decide` chooses one, `bridle.turn` does it."""

from __future__ import annotations

from typing import Literal

import msgspec

from bridle.core.limits import LimitName, Reason
from bridle.core.states import Refusal


class CallModel(msgspec.Struct, frozen=True):
    """Send a model request for a step."""

    number: int
    attempt: int
    tools: Literal["offered", "off"]
    closing: Reason | None = None
    warn: tuple[LimitName, ...] = ()


class Run(msgspec.Struct, frozen=True):
    """Run these tool calls together."""

    calls: tuple[str, ...]


class Compact(msgspec.Struct, frozen=True):
    """Make the context smaller with a summary written by the model or built from the record."""

    attempt: int
    by: Literal["model", "bridle"]


class Synthesize(msgspec.Struct, frozen=True):
    """Have one request without tools write the answer from the results of the last step."""

    attempt: int


class Wait(msgspec.Struct, frozen=True):
    """Wait for the subagents of these calls."""

    calls: tuple[str, ...]


class Settle(msgspec.Struct, frozen=True):
    """End these calls without running them."""

    calls: tuple[str, ...]
    refusal: Refusal


class Pause(msgspec.Struct, frozen=True):
    """Wait for a person to answer about these calls."""

    calls: tuple[str, ...]


class Finish(msgspec.Struct, frozen=True):
    """End the turn."""

    reason: Reason
    detail: str = ""


Action = CallModel | Run | Settle | Compact | Synthesize | Wait | Pause | Finish
