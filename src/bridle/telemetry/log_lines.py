"""Turns finished spans into log lines for people."""

from __future__ import annotations

import logging
from typing import NamedTuple

from bridle.telemetry.spans import FinishedSpan


class LogLine(NamedTuple):
    """A line of the log, with its level by Python's `logging`."""

    level: int
    text: str


def log_line(span: FinishedSpan) -> LogLine:
    """Return what happened, in one line without content of the session."""
    found = span.attributes
    level = logging.WARNING if span.error else logging.DEBUG
    match span.kind:
        case "agent":
            steps, calls, cost = (found[f"bridle.{key}"] for key in ("steps", "tool_calls", "cost"))
            level = logging.WARNING if span.error else logging.INFO
            return LogLine(
                level,
                f"turn {found['bridle.turn']} ended: {found['bridle.reason']}, "
                f"{steps} steps, {calls} calls, ${cost:.4f}",
            )
        case "step":
            return LogLine(level, f"step {found['bridle.step']}/{found['bridle.step.cap']}")
        case "request":
            retried = f", {len(span.moments)} retries" if span.moments else ""
            return LogLine(level, f"request to {found['gen_ai.request.model']}: {span.error or 'answered'}{retried}")
        case "call":
            return LogLine(level, f"call of {found['gen_ai.tool.name']}: {span.error or 'done'}")
