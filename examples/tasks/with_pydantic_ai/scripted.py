"""A model of pydantic-ai that plays replies in order, as Bridle's `ScriptedModel` does. Its lines are not counted."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from pydantic_ai import ModelMessage, ModelResponse, RequestUsage, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

Reply = str | ToolCallPart | Sequence[ToolCallPart]
Replies = Sequence[Reply] | Callable[[list[ModelMessage], AgentInfo], Reply]


def call(name: str, /, **arguments: Any) -> ToolCallPart:
    """Return a tool call for a script."""
    return ToolCallPart(name, arguments)


def scripted(replies: Replies) -> FunctionModel:
    """Return a model that plays replies in order; a conversation plays them from the beginning."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> list[TextPart | ToolCallPart]:
        number = sum(isinstance(message, ModelResponse) for message in messages)
        made = replies(messages, info) if callable(replies) else replies[number]
        if isinstance(made, str):
            return [TextPart(made)]
        calls = [made] if isinstance(made, ToolCallPart) else made
        return [ToolCallPart(each.tool_name, each.args, f"call_{number}_{n}") for n, each in enumerate(calls)]

    async def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(reply(messages, info), usage=RequestUsage(input_tokens=10, output_tokens=5))

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        for index, part in enumerate(reply(messages, info)):
            if isinstance(part, TextPart):
                for word in part.content.split(" "):
                    yield f"{word} "
            else:
                text = json.dumps(part.args)
                yield {index: DeltaToolCall(part.tool_name, text[:20], tool_call_id=part.tool_call_id)}
                yield {index: DeltaToolCall(json_args=text[20:])}

    return FunctionModel(whole, stream_function=streamed, model_name="scripted")
