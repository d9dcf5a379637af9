"""`GivenAnswer`: checks a program's answer to an open ask (permission, question, deferred call) and submits it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from bridle.core.context import sound
from bridle.core.ids import read_ask_address, read_question
from bridle.core.inbox import AnswerItem
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.errors import AlreadyAnswered, ConfigError
from bridle.runtime import Runtime
from bridle.runtime.argument_checks import fitting, recordable
from bridle.values.argument_kinds import check_arguments, hints_of
from bridle.wire.given_answers import given_answer

COMPARED = 1_000
"""Characters by which two results are told apart."""
Choice = Literal["once", "always", "reject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """A program's answer to an ask."""

    ask: str
    text: str
    feedback: str
    arguments: Mapping[str, Any] | None

    def asked(self, session: str, state: Session) -> Ask:
        """Return the ask; raises `ConfigError` if it is not open, or if the answer does not fit it."""
        asks = {ask.id: ask for ask in state.running.asks} if state.running is not None else {}
        if self.ask not in asks:
            raise ConfigError(f"session {session} does not ask {self.ask!r} (open asks: {', '.join(asks) or 'none'})")
        check_arguments("answer", hints_of(GivenAnswer), {name: getattr(self, name) for name in self.__slots__})
        if asks[self.ask].kind == "permission":
            fitting(f"answer to {self.ask}", self.text, Choice)
        arguments = dict(self.arguments) if self.arguments is not None else None
        recordable(AnswerItem("answer", self.ask, "once", sound(self.text + self.feedback), arguments))
        return asks[self.ask]

    async def give(self, runtime: Runtime, session: str, ask: Ask) -> None:
        """Record the answer to the ask."""
        match ask.kind:
            case "deferred":
                address = read_ask_address(ask.id)
                await runtime.supply(address.session or session, read_question(address.ask), self.text)
            case "question":
                await runtime.answer(session, ask.id, "once", self.text)
            case "permission":
                choice = cast(Choice, self.text)
                await runtime.answer(session, ask.id, choice, self.feedback, arguments=self.arguments)

    async def check_held(self, runtime: Runtime, session: str) -> None:
        """Raise `AlreadyAnswered` if an answer that was given at the same time came first and says something else."""
        address = read_ask_address(self.ask)
        held = given_answer(await runtime.entries(address.session or session), address.ask)
        if held is None:
            return
        # Of a long result, the record has the beginning and the end.
        ours = sound(self.text)[:COMPARED]
        if ours not in (held.choice, held.feedback[:COMPARED]):
            raise AlreadyAnswered(f"session {session}: {self.ask} was answered {held.feedback or held.choice!r} before")
