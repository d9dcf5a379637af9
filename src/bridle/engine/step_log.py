"""`StepLog`: writes a log for people, one line for each step, refused call and ending, to a file rotated by size."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bridle.core.events import CallMoved, Entry, PartPut
from bridle.core.parts import Call, StepStart, TurnFinish, TurnStart
from bridle.core.states import CallState, Refused
from bridle.seams import Clock

MAX_BYTES = 5_000_000
WARNED_OF = ("tools_off", "limit", "doom_loop")
"""Refusals of calls that could not run, regardless of their arguments."""


class StepLog:
    """Writes one line per event; stops if the file cannot be written, since the journal has everything."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._agents: dict[str, str] = {}
        self._calls: dict[str, dict[str, str]] = {}
        self._broken = False

    def __call__(self, session: str, entry: Entry) -> None:
        for event in entry.events:
            if isinstance(event, PartPut):
                match event.part:
                    case TurnStart() as start:
                        self._agents[session] = start.agent
                    case Call() as call:
                        self._calls.setdefault(session, {})[call.id] = call.name
                        self._warn(session, call.id, call.state)
                    case StepStart() as step:
                        self._calls.pop(session, None)
                        closing = f" closing={step.closing}" if step.closing else ""
                        self._write(session, f"step {step.number}/{step.cap}{closing}")
                    case TurnFinish() as finish:
                        self._calls.pop(session, None)
                        self._write(session, f"finish reason={finish.reason} steps={finish.spent.steps}")

            elif isinstance(event, CallMoved):
                self._warn(session, event.id, event.state)

    def _warn(self, session: str, call: str, state: CallState) -> None:
        if isinstance(state, Refused) and state.refusal.name in WARNED_OF:
            name = self._calls.get(session, {}).get(call, "?")
            self._write(session, " ".join(f"warning: call of {name} {state.output}".split()))

    def _write(self, session: str, words: str) -> None:
        if self._broken:
            return
        now = datetime.fromtimestamp(self._clock.wall(), UTC).isoformat(timespec="milliseconds")
        line = f"{now} {session} agent={self._agents.get(session, '?')} {words}\n"
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
                self._path.replace(self._path.with_suffix(".log.1"))
            self._path.touch(mode=0o600)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError:
            self._broken = True
