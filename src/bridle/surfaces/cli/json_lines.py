"""JSON lines for programs: one object a line, the last one always `result`."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.core.events import CallMoved, Entry, Live, PartDelta, PartPut, Recorded, RequestMoved
from bridle.core.fold import fold
from bridle.core.parts import Call, Compaction, Notice, Reasoning, Sentinel, StepFinish, StepStart, Text
from bridle.core.result import Result, answers, result_of
from bridle.core.session import Session
from bridle.core.states import Ask, Asking, Done, Failed, Open, Refused, Replied, Waiting
from bridle.core.status import Status, status_of
from bridle.surfaces.cli.output import say_json
from bridle.surfaces.shared.call_summary import compaction


class JsonLines:
    """Writes each event once it is recorded."""

    def __init__(self) -> None:
        self._id = ""
        self._session = Session()
        self._prompt = ""
        self._status: Status | None = None
        self._started: set[str] = set()
        self._asked: set[str] = set()

    def _line(self, type: str, **fields: Any) -> None:
        say_json({"type": type, "session": self._id, **fields})

    def session(self, id: str) -> None:
        self._id = id
        self._line("session")

    def begin(self, session: Session, prompt: str) -> None:
        self._session = session
        self._prompt = prompt

    @property
    def shown(self) -> Session:
        """The session as far as it was shown."""
        return self._session

    def notice(self, text: str) -> None:
        self._line("notice", about="configuration", text=text)

    def error(self, text: str, reason: str) -> None:
        """Something kept the turn from beginning or from ending; the result says so too."""
        self._line("error", message=text)
        done = result_of(self._session, self._prompt) if self._session.running is not None else None
        known = done or Result(self._id, self._prompt, "error")
        self._result(msgspec.structs.replace(known, text="", detail=text), reason)

    def event(self, event: Entry | Live) -> None:
        if isinstance(event, PartDelta):
            self._pending(event)
            return
        if event.sequence <= self._session.sequence:
            return
        fold(self._session, event)
        if answers(self._session, self._prompt):
            for recorded in event.events:
                self._recorded(recorded)
            self._status_line()

    def _pending(self, delta: PartDelta) -> None:
        """A call whose name is known, told once; its arguments come when they are whole."""
        if delta.call and not delta.text and answers(self._session, self._prompt):
            self._line("tool_use", id=delta.part, tool=delta.call, input=None, state="pending")

    def _status_line(self) -> None:
        status = status_of(self._session, held=True)
        if status != self._status:
            self._status = status
            self._line("status", **msgspec.to_builtins(status))

    def _recorded(self, event: Recorded) -> None:
        if isinstance(event, PartPut):
            self._part(event)
        elif isinstance(event, CallMoved):
            self._call(self._session.call(event.id))
        elif isinstance(event, RequestMoved) and isinstance(event.state, Open):
            last = event.state.tries[-1]
            self._line("retry", attempt=len(event.state.tries), message=last.error, status=last.status, next=last.next)

    def _part(self, event: PartPut) -> None:
        match event.part:
            case StepStart(number=number, cap=cap, closing=closing):
                self._line("step_start", number=number, cap=cap, closing=closing)
            case StepFinish() as finish:
                self._step(finish)
            case Text(id=id, text=text, by=by):
                turn = self._session.turn
                if by == "bridle" or (turn is not None and turn.synthesis == "done" and id in turn.words):
                    self._line("text", text=text, by=by)
            case Compaction(cause=cause, outcome=outcome) as part:
                if cause != "prune" and outcome != "open":
                    self._line("notice", about="compaction", text=compaction(part))
            case Notice(about=about, text=text):
                self._line("notice", about=about, text=text)
            case Sentinel(reason=reason, text=text, mark=mark):
                self._line("sentinel", kind=mark, reason=reason, text=text)
            case Call():
                self._call(event.part)
            case _:
                return

    def _step(self, finish: StepFinish) -> None:
        turn = self._session.turn
        assert turn is not None
        for id in turn.reply:
            part = self._session.parts[id]
            if isinstance(part, Text) and part.text:
                self._line("text", text=part.text, by="model")
            elif isinstance(part, Reasoning) and part.text:
                self._line("reasoning", text=part.text)
        state = turn.request.state if turn.request is not None else None
        replied = state if isinstance(state, Replied) else None
        self._line(
            "step_finish",
            number=finish.number,
            calls=finish.calls,
            usage=replied.usage if replied is not None else None,
            cost=replied.cost if replied is not None else 0.0,
            finish=replied.finish if replied is not None else "",
        )

    def _call(self, call: Call) -> None:
        match call.state:
            case Asking(ask=ask):
                self._ask(call, ask)
            case Waiting(child=child, asks=asks):
                if call.id not in self._started:
                    self._started.add(call.id)
                    self._line("tool_use", id=call.id, tool=call.name, input=_input(call), state="waiting", child=child)
                for ask in asks:
                    if ask.id not in self._asked:
                        self._ask(call, ask)
            case Done(output=output) | Failed(output=output):
                state = "done" if isinstance(call.state, Done) else "failed"
                self._line("tool_use", id=call.id, tool=call.name, input=_input(call), state=state, output=output)
            case Refused(refusal=refusal, output=output):
                self._line(
                    "tool_use",
                    id=call.id,
                    tool=call.name,
                    input=_input(call),
                    state="refused",
                    refusal=refusal.name,
                    limit=refusal.limit,
                    output=output,
                )
            case _:
                return

    def _ask(self, call: Call, ask: Ask) -> None:
        """An ask, with the session in which it came up: a subagent's may be answered there or here."""
        self._asked.add(ask.id)
        where = {"session": ask.session} if ask.session else {}
        wider = [f"{access.permission}: {access.always or access.pattern}" for access in ask.accesses]
        more: dict[str, Any] = {"always": wider} if ask.kind == "permission" else {}
        more |= {"diff": ask.diff} if ask.diff else {}
        self._line("ask", id=ask.id, call=call.id, kind=ask.kind, text=ask.text, choices=ask.choices, **more, **where)

    def result(self, result: Result) -> None:
        if result.reason == "error":
            self._line("error", message=result.detail)
        self._result(result, result.reason)

    def _result(self, result: Result, reason: str) -> None:
        self._line(
            "result",
            reason=reason,
            text=result.text,
            output=result.output,
            steps=result.steps,
            tool_calls=result.tool_calls,
            tokens=result.tokens,
            cost=result.cost,
            seconds=result.seconds,
            files=result.files,
            denied=result.denied,
            cut=result.cut,
            detail=result.detail,
        )


def _input(call: Call) -> Any:
    return msgspec.json.decode(call.arguments)
