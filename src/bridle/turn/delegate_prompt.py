"""A prompt that a subagent works on: the first step of its turn is a `task` call, made without asking a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from bridle.core.ids import subtask_id
from bridle.core.messages import AssistantMessage, UserMessage
from bridle.core.parts import Prompt
from bridle.core.session import Session
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest, Start, StepEnd, StreamEnd, StreamEvent, ToolCall
from bridle.model.model import Model

LONGEST_DESCRIPTION = 60


@dataclass(frozen=True, slots=True)
class DelegatingModel:
    """See `Model`. Hands the prompt to its subagent; every other request goes to the model of the turn."""

    model: Model
    prompt: Prompt

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        said = self._unanswered(request)
        if said is None or all(tool.name != "task" for tool in request.tools):
            async for event in self.model.stream(request):
                yield event
            return
        words = " ".join(said.split())
        given = {"description": words[:LONGEST_DESCRIPTION], "prompt": said, "subagent_type": self.prompt.subtask}
        yield Start()
        yield ToolCall("task", msgspec.json.encode(given).decode(), subtask_id(self.prompt.id))
        yield StepEnd("tool_calls", Usage())
        yield StreamEnd()

    def _unanswered(self, request: ModelRequest) -> str | None:
        """The words of the prompt with its files, if nothing was said to it yet."""
        for message in reversed(request.messages):
            if isinstance(message, AssistantMessage):
                return None
            if isinstance(message, UserMessage) and message.id == self.prompt.id:
                return message.text
        return None


def delegating(model: Model, session: Session) -> Model:
    """The model of the session's turn; where a subagent works on the turn's prompt, one that starts it."""
    prompts = session.turn.prompts if session.turn is not None else ()
    prompt = session.parts.get(prompts[0]) if prompts else None
    return DelegatingModel(model, prompt) if isinstance(prompt, Prompt) and prompt.subtask else model
