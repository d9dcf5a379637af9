"""The result of a prompt, derived from its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal

import msgspec
from msgspec.structs import asdict
from typing_extensions import TypeVar

from bridle.core.ids import turn_part_id
from bridle.core.limits import Reason, Spent
from bridle.core.messages import Message
from bridle.core.parts import Text, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Ask, Usage
from bridle.core.usage import ModelUse
from bridle.errors import NoOutput

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


Output = TypeVar("Output", covariant=True, default=Any)


class Result(msgspec.Struct, Generic[Output], frozen=True):
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
    models: Mapping[str, ModelUse] = {}
    """Tokens and cost of the turn and everything below it, by reference of the model. Empty if not recorded."""
    data: Any = None
    """The answer as JSON data, if it had to fit a schema; None if the turn ended without one."""

    value: Any = None
    """The answer in the type that a program has asked for."""
    typed: Literal["no", "yes", "missing"] = "no"
    """Whether a program has asked for a type, and whether there is an answer of it."""
    messages: Sequence[Message] = ()
    """In a program: the whole conversation as the model read it, the last reply included."""

    @property
    def output(self) -> Output:
        """The answer in the type that was asked for; raises `NoOutput` if a run of a program ended without one.

        Without a type it is the JSON data that fits the schema, or None.
        """
        if self.typed == "missing":
            raise NoOutput(f"the run ended {self.reason} without an output{f': {self.detail}' if self.detail else ''}")
        value: Output = self.value if self.typed == "yes" else self.data
        return value

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
        models=dict(running.models),
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
        models=finish.models,
        files=finish.files,
        detail=finish.detail,
        cut=finish.cut,
        denied=finish.unasked,
        turn=finish.number,
        data=msgspec.json.decode(finish.output) if finish.output else None,
    )
