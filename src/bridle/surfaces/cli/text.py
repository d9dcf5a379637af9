"""Text output of a run for people: the streamed answer, and progress of the turn and its subagents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bridle.core.events import Entry, Live, PartDelta, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.ids import is_below
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

    def __init__(self, paper: Writer) -> None:
        self._paper = paper
        self._session = Session()
        self._top = Narrator(paper, self._session)
        self._below: dict[str, Narrator] = {}
        self._prompt = ""
        self._written: dict[str, int] = {}
        self._pending: dict[str, str] = {}
        self._seen = (0.0, 0.0)

    @property
    def lively(self) -> bool:
        return self._paper.lively

    def session(self, id: str) -> None:
        self._paper.say(f"session {id}")

    def begin(self, session: Session, prompt: str) -> None:
        self._session = session
        self._top = Narrator(self._paper, session)
        self._prompt = prompt
        self._seen = (asyncio.get_running_loop().time(), session.elapsed)

    @property
    def shown(self) -> Session:
        """The session up to the last shown event."""
        return self._session

    def notice(self, text: str) -> None:
        self._paper.say(f"! {plain(text)}")

    def error(self, text: str, reason: EndReason) -> None:
        self.rest()
        self._paper.say(f"bridle: {plain(text)}", always=True)

    def event(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta):
            if answers(self._session, self._prompt):
                self._delta(event)
        elif event.sequence > self._session.sequence:
            fold(self._session, event)
            self._seen = (asyncio.get_running_loop().time(), self._session.elapsed)
            if answers(self._session, self._prompt):
                self.tick()
                for recorded in event.events:
                    self._recorded(recorded)

    def below(self, child: str, session: Session, depth: int) -> None:
        """Begin to show a subagent."""
        self._below[child] = Narrator(self._paper, session, depth)

    def event_below(self, child: str, entry: Entry) -> None:
        """Show an entry of a subagent, which must already be folded into its session."""
        for recorded in entry.events:
            self._below[child].tell(recorded)

    def ended_below(self, child: str) -> None:
        self._below.pop(child, None)

    def tick(self) -> None:
        """Update the status lines."""
        if self._paper.lively:
            self._paper.live(tuple(self._under_way()))

    def rest(self) -> None:
        """End the current text and clear the status lines."""
        self._paper.end_words()
        self._paper.live(())

    def _under_way(self) -> Iterator[str]:
        turn = self._session.running
        if turn is None or not answers(self._session, self._prompt):
            return
        at, elapsed = self._seen
        # Time spent waiting for a person does not count.
        now = elapsed if turn.asks else elapsed + asyncio.get_running_loop().time() - at
        running = [line for narrator in (self._top, *self._below.values()) for line in narrator.under_way()]
        yield from [*running, *self._pending.values()][-MOST_UNDER_WAY:]
        status = status_of(self._session, held=True)
        if status.state == "retry":
            left = max(0.0, status.next - now)
            yield f"↻ again in {left:.0f} s"
        first, *others = levels(turn, now)
        most = nearest(turn, now)
        pieces = [f"step {first.words} {bar(first.share, BAR)}"]
        for level in others:
            drawn = f" {bar(level.share, BAR)}" if most is not None and level.limit is most.limit else ""
            name = f" {level.limit.label}" if level.limit.whole else ""
            pieces.append(f"{level.words}{name}{drawn}")
        if self._below:
            pieces.append(f"{len(self._below)} subagent{'' if len(self._below) == 1 else 's'}")
        yield " · ".join(pieces)

    def _delta(self, delta: PartDelta) -> None:
        if delta.kind == "arguments":
            self._pending[delta.part] = f"  ○ {line(delta.call)}  {delta.offset + len(delta.text)} characters"
            self.tick()
            return
        hidden = delta.kind != "text" or self._wants_output
        if not self._paper.early or hidden or delta.offset != self._written.get(delta.part, 0):
            return
        self._write(delta.part, delta.text)

    def _write(self, part: str, text: str) -> None:
        if text:
            self._paper.words(text)
            self._written[part] = self._written.get(part, 0) + len(text)

    def _recorded(self, event: Recorded) -> None:
        self._top.tell(event)
        if isinstance(event, RequestMoved):
            self._pending = {id: said for id, said in self._pending.items() if not is_below(id, event.id)}
        if not isinstance(event, PartPut):
            return
        match event.part:
            case StepFinish() if not self._wants_output:
                self._rest_of_step()
                self._paper.end_words()
            case TurnFinish(answer=answer) if self._wants_output:
                for id in answer:
                    self._rest_of(id)
                self._paper.end_words()
            case Text(id=id, text=text, by=by):
                turn = self._session.turn
                if by == "bridle" or (turn is not None and turn.synthesis == "done" and id in turn.words):
                    self._write(id, text[self._written.get(id, 0) :])
                    self._paper.end_words()
            case _:
                return

    def _rest_of_step(self) -> None:
        """Write text of the step that no delta delivered, e.g. because another process drives the session."""
        turn = self._session.turn
        for id in turn.words if turn is not None else ():
            self._rest_of(id)

    def _rest_of(self, id: str) -> None:
        part = self._session.parts[id]
        assert isinstance(part, Text)
        self._write(id, part.text[self._written.get(id, 0) :])

    @property
    def _wants_output(self) -> bool:
        """Whether the answer must fit a schema; then earlier text is not part of it."""
        turn = self._session.turn
        return turn is not None and turn.start.output is not None

    def result(self, result: Result) -> None:
        self.rest()
        if result.reason in ("paused", "held"):
            self._paper.say(f"{result.reason}: session {result.session}")
            for ask in result.asks:
                who = f" (subagent {line(ask.session)})" if ask.session else ""
                self._paper.say(f"  ? {plain(ask.text)}{who}")
                for each in plain(ask.diff).splitlines():
                    self._paper.say(f"    {each}")
                how = "YOUR ANSWER" if ask.kind == "question" else "once|always|reject"
                self._paper.say(f"  answer it with: bridle answer {result.session} {line(ask.id)} {how}")
            return
        self._paper.say(account(result))


def account(result: Result) -> str:
    """Return the last line of a turn: how it ended, and its usage."""
    return f"{result.reason}: {', '.join(used_words(result.spent))}"
