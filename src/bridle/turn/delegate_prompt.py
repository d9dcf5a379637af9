"""`DelegatingModel`: answers the prompt of a `subtask` command with a `task` call, without a model request."""

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
from bridle.turn.shell_prompt import ShellModel

LONGEST_DESCRIPTION = 60


@dataclass(frozen=True, slots=True)
class DelegatingModel:
    """A `Model` that delegates the prompt to its subagent; every other request goes to the turn's model."""

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
        """Return the text of the prompt with its files, if it has no reply yet."""
        for message in reversed(request.messages):
            if isinstance(message, AssistantMessage):
                return None
            if isinstance(message, UserMessage) and message.id == self.prompt.id:
                return message.text
        return None


def delegating(model: Model, session: Session) -> Model:
    """Return the model of the session's turn; or one that starts the prompt's subagent, or runs its shell command."""
    prompts = session.turn.prompts if session.turn is not None else ()
    prompt = session.parts.get(prompts[0]) if prompts else None
    if not isinstance(prompt, Prompt):
        return model
    if prompt.shell:
        return ShellModel(model, prompt, session)
    return DelegatingModel(model, prompt) if prompt.subtask else model
