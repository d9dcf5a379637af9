"""Text for people: the answer on standard output, everything about it on standard error."""

from __future__ import annotations

from typing import Literal, TextIO

from bridle.core.events import CallMoved, Entry, Live, PartDelta, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.parts import Call, Compaction, Notice, Sentinel, StepFinish, StepStart, Text, TurnFinish
from bridle.core.result import Result, answers
from bridle.core.session import Session
from bridle.core.states import Ask, Asking, Done, Failed, Open, Refused, Running, Waiting
from bridle.surfaces.plain import line, plain


class TextLines:
    """Streams the answer; steps, calls, notices and the account go beside it."""

    def __init__(self, out: TextIO, beside: TextIO, level: Literal["info", "quiet"]) -> None:
        self._out = out
        self._beside = beside
        self._quiet = level == "quiet"
        self._session = Session()
        self._prompt = ""
        self._written: dict[str, int] = {}
        self._open_line = False
        self._live = out.isatty()
        """Only a person sees words before they are recorded: a program shall not read those of a try that failed."""

    def session(self, id: str) -> None:
        self._say(f"session {id}")

    def begin(self, session: Session, prompt: str) -> None:
        self._session = session
        self._prompt = prompt

    def notice(self, text: str) -> None:
        self._say(f"! {plain(text)}")

    def error(self, text: str, reason: str) -> None:
        self._end_line()
        self._beside.write(f"bridle: {plain(text)}\n")

    def event(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta):
            if answers(self._session, self._prompt):
                self._delta(event)
        elif event.sequence > self._session.sequence:
            fold(self._session, event)
            if answers(self._session, self._prompt):
                for recorded in event.events:
                    self._recorded(recorded)

    def _delta(self, delta: PartDelta) -> None:
        is_call = isinstance(self._session.parts.get(delta.part), Call)
        if not self._live or delta.reasoning or is_call or delta.offset != self._written.get(delta.part, 0):
            return
        self._write(delta.part, delta.text)

    def _write(self, part: str, text: str) -> None:
        if not text:
            return
        self._out.write(plain(text))
        self._out.flush()
        self._written[part] = self._written.get(part, 0) + len(text)
        self._open_line = not text.endswith("\n")

    def _recorded(self, event: Recorded) -> None:
        if isinstance(event, PartPut):
            match event.part:
                case StepStart(number=number, cap=cap, closing=closing):
                    self._end_line()
                    self._say(f"step {number}/{cap}" + (" (closing)" if closing else ""))
                case Notice(about=about, text=text):
                    if about != "closing":
                        self.notice(text)
                case Sentinel(text=text):
                    self._end_line()
                    self._beside.write(f"■ {plain(text)}\n")
                case StepFinish():
                    self._rest()
                    self._end_line()
                case Text(id=id, text=text, by=by):
                    turn = self._session.turn
                    if by == "bridle" or (turn is not None and turn.synthesis == "done" and id in turn.words):
                        self._write(id, text[self._written.get(id, 0) :])
                        self._end_line()
                case Compaction(cause=cause, outcome=outcome, before=before, after=after):
                    if cause != "prune" and outcome != "open":
                        gained = "" if outcome == "smaller" else ", no progress"
                        self._say(f"! context compacted: {before} → {after} tokens{gained}")
                case TurnFinish(cut=True, reason=reason) if reason not in ("aborted", "error", "denied"):
                    self._say("! the answer was cut at the length limit")
                case _:
                    return
        elif isinstance(event, CallMoved):
            self._call(event)
        elif isinstance(event, RequestMoved) and isinstance(event.state, Open):
            last = event.state.tries[-1]
            self._end_line()
            wait = max(0.0, last.next - self._session.elapsed)
            self._say(f"↻ try {len(event.state.tries) + 1} in {wait:.1f} s: {plain(last.error)}")

    def _rest(self) -> None:
        """Words of the step that no delta brought, as when another process drives."""
        turn = self._session.turn
        for id in turn.words if turn is not None else ():
            part = self._session.parts[id]
            assert isinstance(part, Text)
            self._write(id, part.text[self._written.get(id, 0) :])

    def _call(self, event: CallMoved) -> None:
        call = self._session.call(event.id)
        match event.state:
            case Running():
                self._say(f"  {line(call.name)} {line(call.arguments)[:200]}")
            case Waiting(child=child, asks=asks):
                if event.id not in self._written:
                    self._written[event.id] = 1
                    self._say(f"  {line(call.name)} {line(call.arguments)[:200]}\n  → subagent {child}")
                self._asks_below(asks)
            case Done(report=report) if report is not None:
                spent = report.spent
                self._say(f"  ✓ subagent {report.child}: {spent.steps} steps, {spent.tool_calls} calls")
            case Done():
                return
            case Failed(report=report, output=output) if report is not None:
                self._say(f"  ✗ subagent {plain(output).splitlines()[0][:300]}")
            case Failed(output=output) | Refused(output=output):
                lines = plain(output).strip().splitlines()
                self._say(f"  ✗ {line(call.name)}: {lines[-1] if lines else 'failed'}"[:300])
            case Asking(ask=ask):
                turn = self._session.turn
                if turn is None or turn.start.on_ask != "person":
                    self._say(f"  ? {plain(ask.text)}  [{ask.id}]")
            case _:
                return

    def _asks_below(self, asks: tuple[Ask, ...]) -> None:
        turn = self._session.turn
        for ask in asks:
            if ask.id not in self._written and turn is not None and turn.start.on_ask != "person":
                self._written[ask.id] = 1
                self._say(f"  ? {plain(ask.text)}  [{ask.id}]")

    def result(self, result: Result) -> None:
        self._end_line()
        if result.reason in ("paused", "held"):
            self._say(f"{result.reason}: session {result.session}")
            for ask in result.asks:
                who = f" (subagent {ask.session})" if ask.session else ""
                self._say(f"  ? {plain(ask.text)}{who}")
                for line in plain(ask.diff).splitlines():
                    self._say(f"    {line}")
                how = "YOUR ANSWER" if ask.kind == "question" else "once|always|reject"
                self._say(f"  answer it with: bridle answer {result.session} {ask.id} {how}")
            return
        self._say(account(result))

    def _say(self, line: str) -> None:
        if not self._quiet:
            self._beside.write(f"{line}\n")
            self._beside.flush()

    def _end_line(self) -> None:
        if self._open_line:
            self._out.write("\n")
            self._out.flush()
            self._open_line = False


def account(result: Result) -> str:
    """The line at the end of a turn."""
    cost = f"${result.cost:.4f}" if result.cost else "no cost"
    return (
        f"{result.reason}: {result.steps} steps, {result.tool_calls} calls, {result.tokens} tokens, "
        f"{cost}, {result.seconds:.1f} s"
    )
