"""What every request must be on the wire: calls and results paired, ids unique, roles in order, no prefill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.core.messages import AssistantMessage, ResultMessage, UserMessage
from bridle.core.stream import ModelRequest


def problems(request: ModelRequest) -> list[str]:
    """Everything that is wrong with a request; empty if a provider would take it."""
    return problems_in_chat(chat_messages(request))


def chat_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """The messages of a request in the form of OpenAI's chat wire."""
    messages: list[dict[str, Any]] = []
    if request.system:
        messages.append({"role": "system", "content": request.system})
    for message in request.messages:
        match message:
            case UserMessage():
                messages.append({"role": "user", "content": message.text})
            case AssistantMessage():
                reply: dict[str, Any] = {"role": "assistant", "content": message.text}
                if message.calls:
                    reply["tool_calls"] = [
                        {
                            "id": made.id,
                            "type": "function",
                            "function": {"name": made.name, "arguments": made.arguments},
                        }
                        for made in message.calls
                    ]
                messages.append(reply)
            case ResultMessage():
                messages.append({"role": "tool", "tool_call_id": message.call, "content": message.text})
    return messages


def problems_in_chat(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The same for messages that are in the form of OpenAI's chat wire already."""
    found: list[str] = []
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role = message.get("role")
        where = f"message {index} ({role})"
        if open_calls and role != "tool":
            found.append(f"{where}: calls without a result: {', '.join(open_calls)}")
            open_calls = []
        if role == "tool":
            found += _result(message, where, open_calls)
        elif role == "assistant":
            open_calls = _calls(message, where, seen, found)
            if not message.get("content") and not open_calls:
                found.append(f"{where}: neither text nor calls")
        elif role == "user":
            if not message.get("content"):
                found.append(f"{where}: no text")
        elif role != "system" or index:
            found.append(f"{where}: a {role} message here")
    if open_calls:
        found.append(f"the end: calls without a result: {', '.join(open_calls)}")
    if not messages or messages[-1].get("role") not in ("user", "tool"):
        found.append("the last message must be of the user or a result: an assistant's would be a prefill")
    return found


def _calls(message: Mapping[str, Any], where: str, seen: set[str], found: list[str]) -> list[str]:
    ids: list[str] = []
    for made in message.get("tool_calls") or ():
        id = made.get("id") or ""
        if not id or id in seen:
            found.append(f"{where}: call id {id!r} is missing or was used before")
        seen.add(id)
        ids.append(id)
        try:
            arguments = msgspec.json.decode(made["function"]["arguments"])
        except (msgspec.DecodeError, KeyError, TypeError):
            arguments = None
        if not isinstance(arguments, dict):
            found.append(f"{where}: the arguments of {id} are no JSON object")
    return ids


def _result(message: Mapping[str, Any], where: str, open_calls: list[str]) -> list[str]:
    id = message.get("tool_call_id")
    if id not in open_calls:
        return [f"{where}: a result for {id!r}, which is not open"]
    open_calls.remove(id)
    return []
