"""Attributes of spans by OpenTelemetry's conventions for generative AI; those of our own begin with `bridle.`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from bridle.core.parts import Call, Request, TurnFinish, TurnStart
from bridle.core.states import Broken, Cut, Failed, Refused, Replied, Returned, Usage
from bridle.values.secrets import redacted

Attributes = dict[str, str | int | float | bool | Sequence[str]]
MAX_CONTENT = 8_000
"""Characters of a text in an attribute; what is longer is cut."""


def agent_attributes(agent: str, model: str, session: str, start: TurnStart) -> Attributes:
    """Return the attributes that say which agent works where."""
    found: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": session,
        **model_attributes(model),
        "bridle.turn": start.number,
        "bridle.steps.cap": start.cap,
    }
    if start.owner:
        found["bridle.account"] = start.owner
    return found


def model_attributes(model: str) -> Attributes:
    """Return provider and name of a model, from its reference."""
    # A model that a program gives as an object is named with its agent.
    provider, slash, name = model.partition("#")[0].partition("/")
    return {"gen_ai.provider.name": provider if slash else "bridle", "gen_ai.request.model": name if slash else model}


def turn_attributes(finish: TurnFinish) -> Attributes:
    """Return how a turn ended and what it used, without its subagents."""
    found: Attributes = {
        "bridle.reason": finish.reason,
        "bridle.steps": finish.spent.steps,
        "bridle.tool_calls": finish.spent.tool_calls,
        "bridle.cost": finish.spent.cost,
        **usage_attributes(finish.usage),
    }
    if finish.limit is not None:
        found["bridle.limit"] = finish.limit.name
        found["bridle.limit.scope"] = finish.limit.scope
    return found


def usage_attributes(usage: Usage) -> Attributes:
    """Return tokens: the conventions count cached ones as input, and thoughts as output."""
    found: Attributes = {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output + usage.reasoning,
    }
    if usage.cache_read:
        found["gen_ai.usage.cache_read.input_tokens"] = usage.cache_read
    if usage.cache_write:
        found["gen_ai.usage.cache_creation.input_tokens"] = usage.cache_write
    if usage.reasoning:
        found["gen_ai.usage.reasoning.output_tokens"] = usage.reasoning
    return found


def request_attributes(request: Request, session: str) -> Attributes:
    """Return the attributes of a request that has ended."""
    found: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.conversation.id": session,
        **model_attributes(request.model),
        "bridle.purpose": request.purpose,
        "bridle.attempt": request.attempt,
    }
    match request.state:
        case Replied(usage=usage, cost=cost, finish=finish):
            found |= {**usage_attributes(usage), "bridle.cost": cost, "gen_ai.response.finish_reasons": (finish,)}
        case Cut(usage=usage, cost=cost) | Broken(usage=usage, cost=cost):
            found |= {**usage_attributes(usage), "bridle.cost": cost}
    return found


def call_attributes(call: Call, session: str) -> Attributes:
    """Return the attributes of a call that has ended, without its content."""
    found: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": session,
    }
    if isinstance(call.state, Refused):
        found["bridle.refusal"] = call.state.refusal.name
    if call.child:
        found["bridle.subagent.session"] = call.child
    return found


def call_error(call: Call) -> str:
    """Return the kind of a call's failure; empty if it ended well."""
    match call.state:
        case Refused(refusal=refusal):
            return refusal.name
        case Failed():
            return "failed"
    return ""


def call_content(call: Call) -> Attributes:
    """Return arguments and result of a call, without secrets."""
    output = call.state.output if isinstance(call.state, (Returned, Refused)) else ""
    return {"gen_ai.tool.call.arguments": _clean(call.given), "gen_ai.tool.call.result": _clean(output)}


def message_content(side: Literal["input", "output"], texts: Sequence[str]) -> Attributes:
    """Return messages as the JSON of the conventions, without secrets."""
    role = "user" if side == "input" else "assistant"
    messages = [{"role": role, "parts": [{"type": "text", "content": _clean(text)}]} for text in texts]
    return {f"gen_ai.{side}.messages": msgspec.json.encode(messages).decode()}


def _clean(text: str) -> str:
    # Cut after secrets are replaced: a cut secret would not be recognized.
    clean = redacted(text)
    return clean if len(clean) <= MAX_CONTENT else f"{clean[:MAX_CONTENT]}…"
