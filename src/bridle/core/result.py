"""`Result`: the outcome of a prompt (reason, answer, usage, changed files), derived from its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Literal

import msgspec
from typing_extensions import TypeVar

from bridle.core.ids import turn_part_id, withdrawn_id
from bridle.core.limits import NOTHING, ReachedLimit, Reason, Spent
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
    "withdrawn": 130,
}
"""Exit status by reason; every other reason is a limit, with status 3."""


Output = TypeVar("Output", covariant=True, default=Any)


class Result(msgspec.Struct, Generic[Output], frozen=True):
    """The outcome of a prompt."""

    session: str
    prompt: str
    reason: Reason | Literal["paused", "held", "recorded", "withdrawn"]
    text: str = ""
    spent: Spent = NOTHING
    """The amounts that the turn has used, one for each limit."""
    usage: Usage = Usage()
    files: tuple[str, ...] = ()
    detail: str = ""
    cut: bool = False
    denied: bool = False
    turn: int = 0
    asks: tuple[Ask, ...] = ()
    models: Mapping[str, ModelUse] = {}
    """Tokens and cost of the turn and everything below it, by reference of the model. Empty if not recorded."""
    limit: ReachedLimit | None = None
    """The limit that ended the turn, with its scope and both numbers. None if not recorded."""
    agent: str = ""
    """The agent that answered; after a handoff, the one that took over."""
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
    def steps(self) -> int:
        return self.spent.steps

    @property
    def tool_calls(self) -> int:
        return self.spent.tool_calls

    @property
    def tokens(self) -> int:
        return self.spent.tokens

    @property
    def cost(self) -> float:
        return self.spent.cost

    @property
    def seconds(self) -> float:
        return self.spent.seconds

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
    if turn is None and withdrawn_id(prompt) in session.parts:
        return Result(id, prompt, "withdrawn")
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
        spent=running.spent(session.elapsed),
        usage=running.usage,
        models=dict(running.models),
        files=tuple(running.files),
        denied=running.unasked,
        turn=turn,
        asks=running.asks,
        agent=running.start.agent,
    )


def _finished(session: Session, id: str, prompt: str, finish: TurnFinish) -> Result:
    texts = [session.parts[part] for part in session.answers.get(prompt, finish.answer)]
    return Result(
        id,
        prompt,
        finish.reason,
        text="".join(part.text for part in texts if isinstance(part, Text)),
        spent=finish.spent,
        usage=finish.usage,
        models=finish.models,
        files=finish.files,
        detail=finish.detail,
        cut=finish.cut,
        denied=finish.unasked,
        turn=finish.number,
        limit=finish.limit,
        agent=session.agents.get(finish.number, ""),
        data=msgspec.json.decode(finish.output) if finish.output else None,
    )
