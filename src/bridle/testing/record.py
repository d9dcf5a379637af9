"""Converts a recorded session to a scenario that replays its model's replies, for `bridle testing record`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridle.core.events import Entry, PartPut, RequestMoved
from bridle.core.fold import fold
from bridle.core.parts import Call, Compaction, Reasoning, Request, StepFinish, Text
from bridle.core.repair import arguments_of
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Broken, Open, Replied, Usage
from bridle.core.undo import visible


def recorded(entries: Sequence[Entry]) -> dict[str, Any]:
    """Return the scenario with this session's model replies; each subagent has its own scenario."""
    session = Session()
    replies: list[dict[str, Any]] = []
    scenario: dict[str, Any] = {"replies": replies}
    for entry in visible(entries):
        fold(session, entry)
        turn = session.turn
        for event in entry.events if turn is not None else ():
            assert turn is not None
            if isinstance(event, RequestMoved):
                replies += _failures(session, event)
            elif isinstance(event, PartPut) and isinstance(event.part, StepFinish):
                replies.append(_reply(session, turn))
            elif isinstance(event, PartPut) and isinstance(event.part, Compaction) and event.part.by == "model":
                scenario |= {"summary": event.part.summary} if event.part.summary else {}
        if session.info is not None and session.info.title:
            scenario["title"] = session.info.title
    return scenario


def _failures(session: Session, moved: RequestMoved) -> list[dict[str, Any]]:
    """Return the error reply for a failed try of a step: each try consumes one reply.

    The last failure before a fallback is left out, because the script plays a single model.
    """
    request = session.parts[moved.id]
    if not isinstance(request, Request) or request.purpose not in ("step", "closing"):
        return []
    if isinstance(moved.state, Open):
        failed = moved.state.tries[-1]
        return [{"error": {"message": failed.error, "status": failed.status, "retryable": True}}]
    if isinstance(moved.state, Broken) and not moved.state.fallback:
        return [{"error": {"message": moved.state.error, "retryable": False, "overflow": moved.state.overflow}}]
    return []


def _reply(session: Session, turn: OpenTurn) -> dict[str, Any]:
    parts = [session.parts[id] for id in turn.reply]
    said: dict[str, Any] = {}
    if text := "".join(part.text for part in parts if isinstance(part, Text)):
        said["text"] = text
    if thought := "".join(part.text for part in parts if isinstance(part, Reasoning)):
        said["reasoning"] = thought
    if calls := [_call(part) for part in parts if isinstance(part, Call)]:
        said["calls"] = calls
    state = turn.request.state if turn.request is not None else None
    if isinstance(state, Replied):
        said |= {"finish": state.finish} if state.finish else {}
        said |= {"usage": _usage(state.usage)} if not state.usage.estimated else {}
    return said


def _call(call: Call) -> dict[str, Any]:
    # Invalid JSON is replayed unchanged.
    return {"name": call.name, "arguments": call.arguments if call.invalid else arguments_of(call.arguments)}


def _usage(usage: Usage) -> dict[str, int]:
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return {name: getattr(usage, name) for name in names if getattr(usage, name)}
