"""`TextLines`: prints a run for people: streamed answer, status lines, usage; `Narrator`s print steps and calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from bridle.core.events import Entry, Live, PartDelta, PartGrown, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.ids import is_below
from bridle.core.limits import counted
from bridle.core.live import is_awaited
from bridle.core.parts import StepFinish, Text, TurnFinish
from bridle.core.result import Result, answers
from bridle.core.session import Session
from bridle.core.status import status_of
from bridle.surfaces.cli.narrator import Narrator
from bridle.surfaces.cli.writer import Writer
from bridle.surfaces.shared.limit_levels import bar, levels, nearest, used_words
from bridle.surfaces.shared.safe_text import line, plain
from bridle.wire.events import EndReason

BAR = 10
MOST_UNDER_WAY = 6


class TextLines:
    """Streams the answer to standard output; steps, calls, notices and usage go to standard error."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self.shown = Session()
        """The session up to the last shown event."""
        self._top = Narrator(writer, self.shown)
        self._below: dict[str, Narrator] = {}
        self._prompt = ""
        self._written: dict[str, int] = {}
        self._pending: dict[str, str] = {}
        self._seen = (0.0, 0.0)

    @property
    def lively(self) -> bool:
        return self._writer.lively

    def session(self, id: str) -> None:
        self._writer.say(f"session {id}")

    def begin(self, session: Session, prompt: str) -> None:
        self.shown = session
        self._top = Narrator(self._writer, session)
        self._prompt = prompt
        self._seen = (asyncio.get_running_loop().time(), session.elapsed)

    def notice(self, text: str) -> None:
        self._writer.say(f"! {plain(text)}")

    def error(self, text: str, reason: EndReason) -> None:
        self.rest()
        self._writer.say(f"bridle: {plain(text)}", always=True)

    def event(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta):
            if answers(self.shown, self._prompt) and is_awaited(self.shown, event):
                self._delta(event)
        elif event.sequence > self.shown.sequence:
            fold(self.shown, event)
            self._seen = (asyncio.get_running_loop().time(), self.shown.elapsed)
            if answers(self.shown, self._prompt):
                self.tick()
                for recorded in event.events:
                    self._recorded(recorded)

    @contextmanager
    def below(self, child: str, depth: int) -> Iterator[Narrator]:
        """Show a subagent until the end of the context."""
        self._below[child] = Narrator(self._writer, Session(), depth)
        try:
            yield self._below[child]
        finally:
            self._below.pop(child, None)

    def tick(self) -> None:
        """Update the status lines."""
        if self._writer.lively:
            self._writer.live(tuple(self._under_way()))

    def rest(self) -> None:
        """End the current text and clear the status lines."""
        self._writer.end_words()
        self._writer.live(())

    def _under_way(self) -> Iterator[str]:
        turn = self.shown.running
        if turn is None or not answers(self.shown, self._prompt):
            return
        at, elapsed = self._seen
        # Time spent waiting for a person does not count.
        now = elapsed if turn.asks else elapsed + asyncio.get_running_loop().time() - at
        running = [line for narrator in (self._top, *self._below.values()) for line in narrator.under_way()]
        yield from [*running, *self._pending.values()][-MOST_UNDER_WAY:]
        status = status_of(self.shown, held=True)
        if status.state == "retry":
            yield f"↻ again in {max(0.0, status.next - now):.0f} s"
        first, *others = levels(turn, now)
        most = nearest(turn, now)
        pieces = [f"step {first.words} {bar(first.share, BAR)}"]
        for level in others:
            drawn = f" {bar(level.share, BAR)}" if most is not None and level.limit is most.limit else ""
            name = f" {level.limit.label}" if level.limit.whole else ""
            pieces.append(f"{level.words}{name}{drawn}")
        if self._below:
            pieces.append(counted(len(self._below), "subagent"))
        yield " · ".join(pieces)

    def _delta(self, delta: PartDelta) -> None:
        if delta.kind == "arguments":
            self._pending[delta.part] = f"  ○ {line(delta.call)}  {delta.offset + len(delta.text)} characters"
            self.tick()
            return
        written = self._written.get(delta.part, 0)
        if self._writer.early and delta.kind == "text" and not self._wants_output and delta.offset <= written:
            self._write(delta.part, delta.text[written - delta.offset :])

    def _catch_up(self, id: str) -> None:
        """Write recorded text whose deltas were lost on their way from another process."""
        part = self.shown.parts.get(id)
        if self._writer.early and isinstance(part, Text) and part.by == "model" and not self._wants_output:
            self._write(id, part.text[self._written.get(id, 0) :])

    def _write(self, part: str, text: str) -> None:
        if text:
            self._writer.words(text)
            self._written[part] = self._written.get(part, 0) + len(text)

    def _recorded(self, event: Recorded) -> None:
        self._top.tell(event)
        if isinstance(event, RequestMoved):
            self._pending = {id: said for id, said in self._pending.items() if not is_below(id, event.id)}
            if any(is_below(id, event.id) and id not in self.shown.parts for id in self._written):
                # The process that streamed it has died: the next attempt begins on a line of its own.
                self._written = {id: number for id, number in self._written.items() if id in self.shown.parts}
                self._writer.end_words()
        if isinstance(event, PartGrown):
            self._catch_up(event.id)
        if not isinstance(event, PartPut):
            return
        match event.part:
            case StepFinish() if not self._wants_output:
                turn = self.shown.turn
                self._rest_of(turn.words if turn is not None else ())
            case TurnFinish(answer=answer) if self._wants_output:
                self._rest_of(answer)
            case Text(id=id, by=by):
                turn = self.shown.turn
                if by == "bridle" or (turn is not None and turn.synthesis == "done" and id in turn.words):
                    self._rest_of([id])
                else:
                    self._catch_up(id)

    def _rest_of(self, texts: Iterable[str]) -> None:
        """Write the text that no delta delivered, e.g. because another process drives the session."""
        for id in texts:
            part = self.shown.parts[id]
            assert isinstance(part, Text)
            self._write(id, part.text[self._written.get(id, 0) :])
        self._writer.end_words()

    @property
    def _wants_output(self) -> bool:
        """Whether the answer must fit a schema; then earlier text is not part of it."""
        turn = self.shown.turn
        return turn is not None and turn.start.output is not None

    def result(self, result: Result) -> None:
        self.rest()
        if result.reason in ("paused", "held"):
            self._writer.say(f"{result.reason}: session {result.session}")
            for ask in result.asks:
                who = f" (subagent {line(ask.session)})" if ask.session else ""
                self._writer.say(f"  ? {plain(ask.text)}{who}")
                for each in plain(ask.diff).splitlines():
                    self._writer.say(f"    {each}")
                how = "YOUR ANSWER" if ask.kind == "question" else "once|always|reject"
                self._writer.say(f"  answer it with: bridle answer {result.session} {line(ask.id)} {how}")
            return
        self._writer.say(f"{result.reason}: {', '.join(used_words(result.spent))}")
