"""`JsonLines`: prints a run's public events as JSON Lines for programs, the last one always `result`."""

from __future__ import annotations

import msgspec

from bridle.core.events import Entry, Live, PartDelta
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.surfaces.cli.output import say_json
from bridle.wire.events import AskEvent, EndReason, ErrorEvent, LineEvent, NoticeEvent, SessionEvent, result_event
from bridle.wire.projection import EventStream


class JsonLines:
    """Writer of recorded events as JSON Lines."""

    def __init__(self) -> None:
        self._stream = EventStream("")
        self._asked: set[str] = set()
        """Asks of subagents that were written; each is written only once."""

    def session(self, id: str) -> None:
        self._stream = EventStream(id)
        say_json(SessionEvent(id))

    def begin(self, session: Session, prompt: str) -> None:
        self._stream = EventStream(self._stream.id, session, prompt)

    @property
    def shown(self) -> Session:
        """The session up to the last written event."""
        return self._stream.session

    def notice(self, text: str) -> None:
        say_json(NoticeEvent(self._stream.id, about="configuration", text=text))

    def error(self, text: str, reason: EndReason) -> None:
        """Write the error that kept the turn from starting or ending, and the result."""
        id, prompt = self._stream.id, self._stream.prompt
        say_json(ErrorEvent(id, message=text))
        known = result_of(self.shown, prompt) if self.shown.running is not None else Result(id, prompt, "error")
        say_json(result_event(msgspec.structs.replace(known, session=id, text="", detail=text), reason))

    def event(self, event: Entry | Live) -> None:
        events = self._stream.of_delta(event) if isinstance(event, PartDelta) else self._stream.of_entry(event)
        for told in events:
            if isinstance(told, LineEvent) and not self._is_repeated(told):
                say_json(msgspec.structs.replace(told, sequence=msgspec.UNSET))

    def _is_repeated(self, event: LineEvent) -> bool:
        if not isinstance(event, AskEvent) or event.session == self._stream.id:
            return False
        known = event.id in self._asked
        self._asked.add(event.id)
        return known

    def result(self, result: Result) -> None:
        if result.reason == "error":
            say_json(ErrorEvent(self._stream.id, message=result.detail))
        say_json(result_event(result, result.reason))
