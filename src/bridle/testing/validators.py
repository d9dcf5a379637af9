"""Finds why a provider would refuse a model request: calls without results, repeated ids, wrong order of roles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.core.messages import AssistantMessage, ResultMessage, UserMessage
from bridle.core.stream import ModelRequest

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def problems(request: ModelRequest) -> list[str]:
    """Return all problems of a request; empty if a provider would accept it."""
    return problems_in_chat(chat_messages(request))


def chat_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the messages of a request in the format of OpenAI's chat API."""
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
                            "id": made.id.replace(".", "-"),
                            "type": "function",
                            "function": {"name": _sound_name(made.name), "arguments": made.arguments},
                        }
                        for made in message.calls
                    ]
                messages.append(reply)
            case ResultMessage():
                messages.append(
                    {"role": "tool", "tool_call_id": message.call.replace(".", "-"), "content": message.text}
                )
    return messages


def _sound_name(name: str) -> str:
    return "".join(letter if TOOL_NAME.fullmatch(letter) else "_" for letter in name)[:64] or "unnamed"


def problems_in_chat(messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any] | None = None) -> list[str]:
    """Return all problems of messages in the format of OpenAI's chat API, and of the body's tool names."""
    found = _tool_names([made.get("function") or {} for made in (body or {}).get("tools") or ()])
    open_calls: list[str] = []
    seen: set[str] = set()
    for index, message in enumerate(messages):
        role = message.get("role")
        where = f"message {index} ({role})"
        if open_calls and role != "tool":
            found.append(f"{where}: calls without a result: {', '.join(open_calls)}")
            open_calls = []
        if role == "tool":
            found += _result(message.get("tool_call_id"), where, open_calls)
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
        ids.append(made.get("id") or "")
        found += _call(ids[-1], made.get("function") or {}, where, seen)
    return ids


def _call(id: str, function: Mapping[str, Any], where: str, seen: set[str]) -> list[str]:
    found = [*_new_id(id, where, seen), *_tool_names([function])]
    is_object = _is_object(function.get("arguments"))
    return found if is_object else [*found, f"{where}: the arguments of {id} are no JSON object"]


def _result(id: Any, where: str, open_calls: list[str]) -> list[str]:
    if id not in open_calls:
        return [f"{where}: a result for {id!r}, which is not open"]
    open_calls.remove(id)
    return []


def problems_in_messages(body: Mapping[str, Any]) -> list[str]:
    """Return all problems for which Anthropic's messages API would refuse this body."""
    found = _tool_names(body.get("tools") or ())
    messages = body.get("messages") or []
    seen: set[str] = set()
    open_calls: list[str] = []
    uses_tools = False
    for index, message in enumerate(messages):
        role, blocks = message.get("role"), message.get("content") or []
        where = f"message {index} ({role})"
        if role != ("assistant" if index % 2 else "user"):
            found.append(f"{where}: user and assistant must speak by turns")
        if not blocks:
            found.append(f"{where}: no content")
        open_calls = _answered(blocks, where, open_calls, found)
        if blocks and blocks[-1].get("type") in ("thinking", "redacted_thinking"):
            found.append(f"{where}: a reply may not end in a thought")
        for place, block in enumerate(blocks):
            kind = block.get("type")
            uses_tools = uses_tools or kind in ("tool_use", "tool_result")
            found += _block(block, f"{where}, block {place}", seen)
            if kind == "tool_use":
                open_calls.append(str(block.get("id")))
    if open_calls:
        found.append(f"the end: calls without a result: {', '.join(open_calls)}")
    if not messages or messages[-1].get("role") != "user":
        found.append("the last message must be of the user: an assistant's would be a prefill")
    if uses_tools and not body.get("tools"):
        found.append("calls in the history, and no tools declared")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        found.append("max_tokens must be a whole number above 0")
    return found


def _answered(blocks: Sequence[Any], where: str, open_calls: list[str], found: list[str]) -> list[str]:
    """Check that results come first in a message, one for each call of the previous message."""
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if results != list(blocks[: len(results)]):
        found.append(f"{where}: results must come before anything else")
    answered = [str(block.get("tool_use_id")) for block in results]
    if sorted(answered) != sorted(open_calls):
        found.append(f"{where}: calls {open_calls} have results {answered}")
    return []


def _block(block: Mapping[str, Any], where: str, seen: set[str]) -> list[str]:
    match block.get("type"):
        case "text":
            return [] if str(block.get("text") or "").strip() else [f"{where}: a text without words"]
        case "thinking":
            return [] if block.get("signature") else [f"{where}: a thought without its signature"]
        case "redacted_thinking":
            return [] if block.get("data") else [f"{where}: a redacted thought without its data"]
        case "tool_use":
            found = [*_new_id(str(block.get("id") or ""), where, seen), *_tool_names([block])]
            return found + ([] if isinstance(block.get("input"), dict) else [f"{where}: the input is no object"])
        case "tool_result" | "image" | "document":
            return []
    return [f"{where}: a block of kind {block.get('type')!r}"]


def problems_in_responses(body: Mapping[str, Any]) -> list[str]:
    """Return all problems for which OpenAI's responses API would refuse this body."""
    found = _tool_names(body.get("tools") or ())
    items = body.get("input") or []
    seen: set[str] = set()
    open_calls: list[str] = []
    for index, item in enumerate(items):
        kind = item.get("type") or "message"
        where = f"item {index} ({kind})"
        if kind == "function_call":
            id = str(item.get("call_id") or "")
            found += _call(id, item, where, seen)
            open_calls.append(id)
        elif kind == "function_call_output":
            found += _result(item.get("call_id"), where, open_calls)
        elif kind == "message":
            if open_calls:
                found.append(f"{where}: calls without a result: {', '.join(open_calls)}")
            if not any(str(part.get("text") or "").strip() for part in item.get("content") or ()):
                found.append(f"{where}: no text")
        elif kind == "reasoning":
            after = items[index + 1] if index + 1 < len(items) else {}
            if not item.get("encrypted_content"):
                found.append(f"{where}: a thought that is neither stored nor sealed")
            if after.get("role") == "user" or after.get("type") == "function_call_output" or not after:
                found.append(f"{where}: a thought that leads to nothing")
    last = items[-1] if items else {}
    if open_calls or not (last.get("type") == "function_call_output" or last.get("role") == "user"):
        found.append("the last item must be of the user or a result")
    return found


def _new_id(id: str, where: str, seen: set[str]) -> list[str]:
    fits = TOOL_NAME.fullmatch(id) is not None and id not in seen
    seen.add(id)
    return [] if fits else [f"{where}: call id {id!r} is missing, was used before or has other letters"]


def _tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    names = [str(tool.get("name") or "") for tool in tools]
    return [f"tool {name!r}: the name is invalid" for name in names if not TOOL_NAME.fullmatch(name)]


def _is_object(text: Any) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except (msgspec.DecodeError, TypeError):
        return False
