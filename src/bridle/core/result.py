"""The result of a prompt, derived from its session."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec.structs import asdict

from bridle.core.ids import turn_part_id
from bridle.core.limits import Reason, Spent
from bridle.core.parts import Text, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Ask, Usage

EXIT_STATUS: dict[str, int] = {
    "answered": 0,
    "synthesized": 0,
    "recorded": 0,
    "empty": 1,
    "error": 1,
    "denied": 4,
    "paused": 5,
    "held": 5,
    "aborted": 130,
}
"""Exit status by reason; every other reason is a limit, with status 3."""


class Result(msgspec.Struct, frozen=True):
    """The outcome of a prompt."""

    session: str
    prompt: str
    reason: Reason | Literal["paused", "held", "recorded"]
    text: str = ""
    steps: int = 0
    tool_calls: int = 0
    usage: Usage = Usage()
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    detail: str = ""
    cut: bool = False
    denied: bool = False
    turn: int = 0
    asks: tuple[Ask, ...] = ()
    output: Any = None
    """The answer, if it had to fit a schema; None if the turn ended without one."""

    @property
    def spent(self) -> Spent:
        """The amounts that the turn has used."""
        return Spent(self.steps, self.tool_calls, self.tokens, self.cost, self.seconds)

    @property
    def ended(self) -> bool:
        """Whether the prompt makes no further progress by itself."""
        return self.reason not in ("paused", "held")

    @property
    def exit_status(self) -> int:
        """The exit status of the command for this ending."""
        if self.reason in ("answered", "synthesized") and self.denied:
            return 4
        return EXIT_STATUS.get(self.reason, 3)


def answers(session: Session, prompt: str) -> bool:
    """Return whether the running or the last turn belongs to the prompt."""
    return session.turn is not None and session.prompts.get(prompt) == session.turn.start.number


def result_of(session: Session, prompt: str) -> Result:
    """Return the outcome of a prompt as far as the session knows it."""
    assert session.info is not None
    id = session.info.id
    turn = session.prompts.get(prompt)
    running = session.running
    if turn is None:
        # The prompt waits behind another turn, whose open asks block it.
        return Result(id, prompt, "held", asks=running.asks if running is not None else ())
    if turn == 0:
        return Result(id, prompt, "recorded")
    finish = session.parts.get(turn_part_id(turn, "finish"))
    if isinstance(finish, TurnFinish):
        return _finished(session, id, prompt, finish)
    if running is None:
        return Result(id, prompt, "held", turn=turn)
    return Result(
        id,
        prompt,
        "paused",
        **asdict(session.view(session.elapsed).spent),
        usage=running.usage,
        files=tuple(running.files),
        denied=running.unasked,
        turn=turn,
        asks=running.asks,
    )


def _finished(session: Session, id: str, prompt: str, finish: TurnFinish) -> Result:
    texts = [session.parts[part] for part in session.answers.get(prompt, finish.answer)]
    return Result(
        id,
        prompt,
        finish.reason,
        text="".join(part.text for part in texts if isinstance(part, Text)),
        **asdict(finish.spent),
        usage=finish.usage,
        files=finish.files,
        detail=finish.detail,
        cut=finish.cut,
        denied=finish.unasked,
        turn=finish.number,
        output=msgspec.json.decode(finish.output) if finish.output else None,
    )
