"""A session as it stands, and what is kept ready of its last turn; `fold` is the only writer of both."""

from __future__ import annotations

from bridle.core.context import (
    Message,
    Messages,
    characters,
)
from bridle.core.events import (
    SessionInfo,
)
from bridle.core.limits import LimitName, Spent
from bridle.core.parts import (
    Approved,
    Asking,
    Call,
    CallState,
    Halt,
    Part,
    Pending,
    Repeat,
    Request,
    ReservationRefused,
    TurnFinish,
    TurnStart,
    Usage,
)
from bridle.core.permission import Access
from bridle.core.repetition import Repetition
from bridle.core.turn import Step, Turn


class OpenTurn:
    """What the fold keeps ready of the turn that runs, or of the last one that ran."""

    def __init__(self, start: TurnStart) -> None:
        self.start = start
        self.cap = start.cap
        self.limits = start.limits
        self.steps = 0
        self.tool_calls = 0
        self.tokens = 0
        self.cost = 0.0
        self.usage = Usage()
        self.step: Step | None = None
        self.request: Request | None = None
        self.reply: list[str] = []
        self.words: list[str] = []
        self.batch: dict[str, CallState] = {}
        self.halt: Halt | None = None
        self.refused: ReservationRefused | None = None
        self.closing_refused = False
        self.doom = False
        self.doom_allowed: set[str] = set()
        self.prompted = False
        self.prompts: list[str] = []
        self.warned: frozenset[LimitName] = frozenset()
        self.repetition = Repetition()
        self.files: dict[str, None] = {}
        self.tally: dict[str, int] = {}
        self.unasked = False
        self.cut = False
        self.finish: TurnFinish | None = None

    def view(self, elapsed: float) -> Turn:
        pending: tuple[str, ...] = ()
        asking: tuple[str, ...] = ()
        if self.batch:
            pending = tuple(id for id, state in self.batch.items() if isinstance(state, (Pending, Approved, Repeat)))
            asking = tuple(id for id, state in self.batch.items() if isinstance(state, Asking))
        return Turn(
            self.start.number,
            self.cap,
            self.limits,
            Spent(self.steps, self.tool_calls, self.tokens, self.cost, elapsed),
            self.step,
            pending,
            asking,
            self.prompted,
            self.halt,
            self.refused,
            self.closing_refused,
            self.doom,
            self.warned,
        )


class Session:
    """Everything that is known of a session; changed by `fold` alone."""

    def __init__(self) -> None:
        self.info: SessionInfo | None = None
        self.sequence = 0
        self.elapsed = 0.0
        self.parts: dict[str, Part] = {}
        self.turn: OpenTurn | None = None
        self.turns = 0
        self.system = ""
        self.always: set[Access] = set()
        self.prompts: dict[str, int] = {}
        self.answers: dict[str, tuple[str, ...]] = {}
        self._messages: list[Message] = []
        self._held: list[Message] = []
        self.characters = 0
        self.counted = 0
        self.counted_characters = 0

    @property
    def running(self) -> OpenTurn | None:
        """The turn that has not finished."""
        return self.turn if self.turn is not None and self.turn.finish is None else None

    @property
    def messages(self) -> Messages:
        return Messages(self._messages)

    def call(self, id: str) -> Call:
        part = self.parts[id]
        assert isinstance(part, Call), id
        return part

    def say(self, message: Message) -> None:
        self._messages.append(message)
        self.characters += characters(message)

    def tell(self, message: Message) -> None:
        """Words for the model: behind the results of an open batch, since calls and results never part."""
        if self.turn is not None and self.turn.batch:
            self._held.append(message)
        else:
            self.say(message)

    def release(self) -> None:
        for message in self._held:
            self.say(message)
        self._held.clear()
