"""`ShellModel`: answers a person's shell command with its `bash` call, without a model request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from bridle.core.ids import typed_id
from bridle.core.messages import AssistantMessage, UserMessage
from bridle.core.parts import Call, Prompt
from bridle.core.repair import arguments_of
from bridle.core.session import Session
from bridle.core.states import Usage
from bridle.core.stream import (
    ModelRequest,
    Start,
    StepEnd,
    StreamEnd,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
)
from bridle.model.model import Model

TOOL = "bash"
ENDED = "The user's command has ended."
MISSING = "This agent has no shell, so the user's command was not run."


@dataclass(frozen=True, slots=True)
class ShellModel:
    """A `Model` that runs the command of a prompt; once another prompt has joined the turn, its model is asked."""

    model: Model
    prompt: Prompt
    session: Session

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        said = self._said(request)
        if said is None:
            async for event in self.model.stream(request):
                yield event
            return
        yield Start()
        if said or all(tool.name != TOOL for tool in request.tools):
            yield TextStart()
            yield TextDelta(ENDED if said else MISSING)
            yield TextEnd()
            yield StepEnd("stop", Usage(), by="hook")
        else:
            given = {"command": self.prompt.shell, "description": "Run by the user"}
            yield ToolCall(TOOL, msgspec.json.encode(given).decode(), typed_id(self.prompt.id))
            yield StepEnd("tool_calls", Usage(), by="hook")
        yield StreamEnd()

    def _said(self, request: ModelRequest) -> bool | None:
        """Return whether the prompt has a reply; None if this request is about another prompt."""
        replied = False
        for message in reversed(request.messages):
            if isinstance(message, AssistantMessage):
                replied = True
            elif isinstance(message, UserMessage) and message.id in self.session.prompts:
                return replied if message.id == self.prompt.id else None
        return None


def is_command_of_person(session: Session, call: Call) -> bool:
    """Return whether a call is the command that the person has typed, unchanged: no ask is needed for it."""
    turn = session.turn
    prompt = session.parts.get(turn.prompts[0]) if turn is not None and turn.prompts else None
    if turn is None or turn.step is None or turn.step.number != 1 or not isinstance(prompt, Prompt) or not prompt.shell:
        return False
    return call.name == TOOL and arguments_of(call.given).get("command") == prompt.shell
