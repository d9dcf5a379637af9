"""`Session` and `OpenTurn`: in-memory state of a session and its last turn, built by `core.fold` from the record."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec.structs import replace

from bridle.core import parts
from bridle.core.context import CHARACTERS_PER_TOKEN, TOKENS_OF_A_TOOL, estimate_tokens
from bridle.core.events import SessionInfo
from bridle.core.limits import NOTHING, LimitName, Reason, Spent
from bridle.core.messages import Message, MessageList, Messages, characters
from bridle.core.parts import Call
from bridle.core.permission import Access
from bridle.core.repetition import Repetition
from bridle.core.states import Approved, Ask, Asking, CallState, Pending, Queued, Repeat, Usage, Waiting
from bridle.core.todos import Todo
from bridle.core.turn import SideRequest, Step, Turn
from bridle.core.usage import ModelUse

PLACES = {Pending: "pending", Approved: "pending", Repeat: "pending", Asking: "asking", Queued: "queued"}
"""The field of `Turn` that lists a call in this state."""
MAX_CHARACTERS_PER_TOKEN = 8.0
MOST_MISFITS = 5
"""Number of answers that may miss their schema before the turn fails."""


class GivenUp(msgspec.Struct, frozen=True):
    """A model that has failed for good after this many tries, at this time in active seconds of the turn."""

    model: str
    error: str
    tries: int
    at: float


class OpenTurn:
    """The state that the fold keeps for the running turn, or for the last one."""

    def __init__(self, start: parts.TurnStart) -> None:
        self.start = start  # With the terms of the last handoff.
        self.handoff: parts.Handoff | None = None  # Until all calls of its step have ended.
        self.model = start.model
        """The model that is asked: the first until it fails for good, then one of its fallbacks."""
        self.given_up: tuple[GivenUp, ...] = ()
        """The models that have failed for good since the last whole reply of a step."""
        # Steps are recorded as the cap: the requested number, limited by the ceiling.
        self.limits = replace(start.limits, steps=start.cap)
        self.used = NOTHING
        """The amounts used so far, without the seconds, which pass between events."""
        self.usage = Usage()
        self.models: dict[str, ModelUse] = {}
        """The use of the turn and everything below it, by reference of the model."""
        self.step: Step | None = None
        self.request: parts.Request | None = None
        self.reply: list[str] = []
        self.words: list[str] = []
        self.batch: dict[str, CallState] = {}
        self.background: dict[str, Waiting] = {}
        """Calls whose subagents work in the background; their results are in the batch, or already told to the model.
        """
        self.halt: parts.Halt | None = None
        self.refused: parts.ReservationRefused | None = None
        self.closing_refused = False
        self.doom = False
        self.doom_allowed: set[str] = set()
        self.granted: dict[str, tuple[Access, ...]] = {}
        """Accesses that a person granted to single calls, by call id."""
        self.prompted = False
        self.prompts: list[str] = []
        self.warned: frozenset[LimitName] = frozenset()
        self.repetition = Repetition()
        self.files: dict[str, None] = {}
        self.tally: dict[str, int] = {}
        self.unasked = False
        self.cut = False
        self.began: dict[str, float] = {}
        self.noted: set[str] = set()
        self.below = NOTHING
        self.places = False
        self.asked = False
        self.synthesis: Literal["", "due", "failed", "done"] = ""
        self.last_batch: tuple[str, ...] = ()
        self.side_request: SideRequest | None = None
        self.output = ""
        self.kept_words: list[str] = []
        """The last answer that came too early, before subagents in the background had reported."""
        self.kept_output = ""
        self.reminded = self.misfits = 0
        self.compactions = 0
        self.compacted = 0
        self.overflowed = False
        self.wanted: parts.Compaction | None = None
        self.last_compaction: parts.Compaction | None = None
        self.patch: parts.Patch | None = None
        """The patch of the calls that are running; None if none is running."""
        self.last_patch: parts.Patch | None = None
        self.title: parts.Request | None = None
        """The most recent request for a title."""
        self.finish: parts.TurnFinish | None = None

    @property
    def depth(self) -> int:
        """The depth of the turn in its tree; 0 for a root turn."""
        return self.start.delegation.depth if self.start.delegation is not None else 0

    @property
    def candidates(self) -> tuple[str, ...]:
        """The models of the turn in their order, beginning with the one that is asked."""
        given = (self.start.model, *(fallback.model for fallback in self.start.fallbacks))
        place = given.index(self.model)
        return given[place:] + given[:place]

    @property
    def window(self) -> int:
        """The context window of the model that is asked; 0 if none is recorded."""
        return self._limits_of_model.window

    @property
    def compact_at(self) -> int:
        """Token count above which the context is compacted; 0 disables compaction."""
        return self._limits_of_model.compact_at

    @property
    def _limits_of_model(self) -> parts.TurnStart | parts.Fallback:
        if not self.start.fallbacks:
            return self.start
        return next((fallback for fallback in self.start.fallbacks if fallback.model == self.model), self.start)

    @property
    def cap(self) -> int:
        """Number of steps that the turn may take; 0 if it has no tools."""
        return self.limits.steps or 0

    def spent(self, elapsed: float) -> Spent:
        """Return the amounts that the turn has used by this time."""
        return replace(self.used, seconds=elapsed)

    @property
    def compaction_words(self) -> str:
        """The outcome of the last compaction, for the reader."""
        part = self.last_compaction
        if part is None or part.outcome != "smaller":
            return "The context was not compacted: there was nothing to gain."
        return f"The context was compacted from about {part.before} to about {part.after} tokens."

    @property
    def asks(self) -> tuple[Ask, ...]:
        """All open asks in this turn and below it."""
        own = tuple(state.ask for state in self.batch.values() if isinstance(state, Asking))
        return own + tuple(ask for state in self.under_way.values() for ask in state.asks)

    @property
    def under_way(self) -> dict[str, Waiting]:
        """Calls whose subagents have not reported, awaited or in the background."""
        awaited = {id: state for id, state in self.batch.items() if isinstance(state, Waiting) and not state.told}
        return awaited | self.background

    @property
    def children(self) -> dict[str, str]:
        """The sessions of running subagents, by call."""
        return {id: state.child for id, state in self.under_way.items()}

    def _output_state(self) -> Literal["", "wanted", "given", "missed"]:
        if self.output:
            return "given"
        if self.start.output is None or self.kept_output:
            return ""
        return "missed" if self.misfits >= MOST_MISFITS else "wanted"

    def view(self, elapsed: float, *, crowded: bool) -> Turn:
        """Return the turn as `decide` sees it."""
        found: dict[str, tuple[str, ...]] = {}
        for id, state in self.batch.items():
            place = PLACES.get(type(state))
            if isinstance(state, Waiting) and not state.told:
                place = "recalled" if state.recalled else "waiting"
            if place is not None:
                found[place] = (*found.get(place, ()), id)
        for id, state in self.background.items():
            place = "recalled" if state.recalled else "background"
            found[place] = (*found.get(place, ()), id)
        return Turn(
            self.start.number,
            self.limits,
            self.spent(elapsed),
            self.step,
            prompted=self.prompted,
            halt=self.halt,
            refused=self.refused,
            closing_refused=self.closing_refused,
            doom=self.doom,
            warned=self.warned,
            places=self.places,
            synthesis=self.synthesis,
            side_request=self.side_request,
            compactions=self.compactions,
            output=self._output_state(),
            reminded=self.reminded,
            crowded=crowded or self.overflowed or self.wanted is not None,
            **found,
        )


class Session:
    """The known state of a session; changed by `fold` alone."""

    def __init__(self, info: SessionInfo | None = None) -> None:
        self.info = info
        self.sequence = 0
        self.elapsed = 0.0
        self.parts: dict[str, parts.Part] = {}
        self.turn: OpenTurn | None = None
        self.turns = 0
        self.system = ""
        self.always: set[Access] = set()
        self.kept: dict[str, str] = {}
        """The last output of each tool that wants it kept."""
        self.todos: tuple[Todo, ...] = ()
        """The task list, as last recorded by a call."""
        self.known_files: dict[str, str] = {}
        """Files that the model has seen, with a digest of their content then; empty means no longer seen."""
        self.prompts: dict[str, int] = {}
        self.agents: dict[int, str] = {}
        """By turn; after a handoff, the agent that took over."""
        self.answers: dict[str, tuple[str, ...]] = {}
        self.undone: dict[str, parts.Undone] = {}
        """Undone turns that can be redone; the last one is redone first."""
        self.unfinished: parts.Undone | parts.Redone | None = None
        """An undo or a redo whose files have not been restored yet."""
        self._transcript = MessageList()
        self._held: list[Message] = []
        self.characters = 0
        self.counted = 0
        self.counted_characters = 0
        self.fixed = 0
        self.density = 1 / CHARACTERS_PER_TOKEN
        self.children: set[str] = set()
        self.written: dict[str, int] = {}
        """Number of replies of each model that were calls written as text."""
        self.ended: Reason | None = None
        """How the last turn with a prompt ended."""
        self.lean = False
        """Whether parts that a summary replaces are dropped."""

    @property
    def running(self) -> OpenTurn | None:
        """The turn that has not finished."""
        return self.turn if self.turn is not None and self.turn.finish is None else None

    @property
    def tokens(self) -> int:
        """The size of the context: the provider's last count, plus an estimate of the text since.

        Dense text, for example many small results or Chinese, is not estimated as plain English.
        """
        if self.counted:
            since = self.characters - self.counted_characters
            return self.counted + math.ceil(since * max(self.density, 1 / CHARACTERS_PER_TOKEN))
        tools = len(self.turn.start.tools) if self.turn is not None else 0
        return estimate_tokens(self.characters + len(self.system)) + TOKENS_OF_A_TOOL * tools

    def count(self, usage: Usage) -> None:
        """Take the provider's count of the context. The excess of its first count is system prompt and tools; the rest
        gives the density of the text. Thoughts are left out."""
        heard = usage.total - usage.reasoning
        if not self.counted:
            self.fixed = max(0, heard - estimate_tokens(self.characters))
        density = (heard - self.fixed) / max(1, self.characters)
        self.density = min(1.0, max(1 / MAX_CHARACTERS_PER_TOKEN, density))
        self.counted = usage.total
        self.counted_characters = self.characters

    def tokens_with(self, size: int) -> int:
        """Return the size of the context if its messages had `size` characters; system prompt and tools stay."""
        ours = max(0, self.tokens - self.fixed) * size / max(1, self.characters)
        return max(1, self.fixed + round(max(ours, size / MAX_CHARACTERS_PER_TOKEN)))

    @property
    def characters_per_token(self) -> float:
        """Average length of a token of this context, within plausible bounds: a provider's count may be wrong."""
        return 1 / self.density

    def view(self, elapsed: float) -> Turn:
        """Return the turn as `decide` sees it."""
        assert self.turn is not None
        return self.turn.view(elapsed, crowded=0 < self.turn.compact_at < self.tokens)

    @property
    def messages(self) -> Messages:
        return Messages(self._transcript)

    def call(self, id: str) -> Call:
        part = self.parts[id]
        assert isinstance(part, Call), id
        return part

    def say(self, message: Message) -> None:
        self._transcript.items.append(message)
        self.characters += characters(message)

    def tell(self, message: Message) -> None:
        """Add a message for the model, after the results of an open batch: calls and results stay together."""
        if self.turn is not None and self.turn.batch:
            self._held.append(message)
        else:
            self.say(message)

    def release(self) -> None:
        for message in self._held:
            self.say(message)
        self._held.clear()

    def rewrite(self, messages: list[Message]) -> None:
        """Replace the messages; existing snapshots of the old ones stay unchanged."""
        size = sum(characters(message) for message in messages)
        if self.counted:
            self.counted = self.tokens_with(size)
        self._transcript = MessageList(messages)
        self.characters = self.counted_characters = size
