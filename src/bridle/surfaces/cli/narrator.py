"""`Narrator`: prints lines about the steps, calls and notices of one session or subagent, indented by its depth."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.core.events import CallMoved, PartPut, Recorded, RequestMoved
from bridle.core.parts import Call, Compaction, Notice, Patch, Sentinel, StepStart, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Ask, Asking, Done, Failed, Open, Refused, Running, Waiting
from bridle.surfaces.cli.writer import Writer
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.limit_levels import used_words
from bridle.surfaces.shared.safe_text import line, plain
from bridle.wire.projection import compaction_text

MOST_NAMED = 6


class Narrator:
    """Writes a line per recorded event, indented by the session's depth in the tree."""

    def __init__(self, writer: Writer, session: Session, depth: int = 0) -> None:
        self._writer = writer
        self.session = session
        self.depth = depth
        self._told: set[str] = set()
        self._began: dict[str, float] = {}

    def tell(self, event: Recorded) -> None:
        """Write the lines for one event, which must already be folded into the session."""
        if isinstance(event, PartPut):
            self._part(event)
        elif isinstance(event, CallMoved):
            self._call(self.session.call(event.id))
        elif isinstance(event, RequestMoved) and isinstance(event.state, Open):
            last = event.state.tries[-1]
            self._writer.end_words()
            # A lively terminal shows a countdown instead.
            wait = "" if self._writer.lively else f" in {max(0.0, last.next - self.session.elapsed):.1f} s"
            self._say(f"↻ try {len(event.state.tries) + 1}{wait}: {line(last.error)}")

    def under_way(self) -> Iterator[str]:
        """Yield a line for each running call, for a terminal that shows them until they end."""
        turn = self.session.running
        for id, state in turn.batch.items() if turn is not None else ():
            if isinstance(state, Running):
                yield f"{self._margin}  ● {self._label(self.session.call(id))}"

    @property
    def _margin(self) -> str:
        return "  │ " * self.depth

    def _say(self, words: str, *, always: bool = False) -> None:
        self._writer.say("\n".join(self._margin + each for each in words.split("\n")), always=always)

    def _part(self, event: PartPut) -> None:
        match event.part:
            case StepStart(number=number, cap=cap, closing=closing):
                self._writer.end_words()
                agent = self.session.turn.start.agent if self.depth and self.session.turn is not None else ""
                who = f" · {line(agent)}" if agent else ""
                self._say(f"step {number}/{cap}" + (" (closing)" if closing else "") + who)
            case Notice(about=about, text=text):
                if about != "closing":
                    self._say(f"! {plain(text)}")
            case Sentinel(text=text):
                self._writer.end_words()
                self._say(f"■ {plain(text)}", always=not self.depth)
            case Compaction(cause=cause, outcome=outcome) as part:
                if cause != "prune" and outcome != "open":
                    self._say(f"! {compaction_text(part)}")
            case Patch() as patch if patch.files and self._writer.lively:
                self._patch(patch)
            case TurnFinish(cut=True, reason=reason) if reason not in ("aborted", "error", "denied"):
                self._say("! the answer was cut at the length limit")

    def _patch(self, patch: Patch) -> None:
        named = [f"{line(each.path)} +{each.added} -{each.removed}" for each in patch.files[:MOST_NAMED]]
        rest = len(patch.files) - MOST_NAMED + patch.more
        self._say(f"  ~ {', '.join(named)}" + (f" and {rest} more" if rest > 0 else ""))

    def _call(self, call: Call) -> None:
        match call.state:
            case Running():
                self._began[call.id] = self.session.elapsed
                if not self._writer.lively:
                    self._say(f"  {self._request(call)}")
            case Waiting(child=child, asks=asks, told=told):
                if call.id not in self._told:
                    self._told.add(call.id)
                    said = self._label(call) if self._writer.lively else self._request(call)
                    self._say(f"  {said}\n  → subagent {line(child)}" + (" in the background" if told else ""))
                for ask in asks:
                    if ask.id not in self._told:
                        self._told.add(ask.id)
                        self._ask(ask)
            case Done(report=report) if report is not None:
                steps, calls, *_ = used_words(report.spent)
                self._say(f"  ✓ subagent {line(report.child)}: {steps}, {calls}")
            case Done():
                if self._writer.lively:
                    took = self.session.elapsed - self._began.get(call.id, self.session.elapsed)
                    self._say(f"  ✓ {self._label(call)}" + (f"  {took:.1f} s" if took >= 0.1 else ""))
            case Failed(report=report, output=output) if report is not None:
                self._say(f"  ✗ subagent {(plain(output).splitlines() or ['failed'])[0][:300]}")
            case Failed(output=output) | Refused(output=output):
                lines = plain(output).strip().splitlines()
                self._say(f"  ✗ {line(call.name)}: {lines[-1] if lines else 'failed'}"[:300])
            case Asking(ask=ask):
                self._ask(ask)

    def _label(self, call: Call) -> str:
        return f"{line(call.name)}  {line(telling(call.arguments))}"[:200].rstrip()

    def _request(self, call: Call) -> str:
        return f"{line(call.name)} {line(call.arguments)[:200]}"

    def _ask(self, ask: Ask) -> None:
        """Write an ask, unless a person is asked on this terminal; the parent writes a subagent's ask."""
        turn = self.session.turn
        if not self.depth and (turn is None or turn.start.on_ask != "person"):
            self._say(f"  ? {plain(ask.text)}  [{line(ask.id)}]")
