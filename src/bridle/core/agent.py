"""Data types `AgentDefinition` (prompt, model, limits, tools, rules) and `ModelInfo` (window, price, capabilities)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bridle.core.limits import UNLIMITED, Limits
from bridle.core.permission import Rule


class Price(msgspec.Struct, frozen=True, omit_defaults=True):
    """US dollars for a million tokens of each kind; a request that reads more than `above` pays the `beyond` price."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    above: int = 0
    beyond: Price | None = None


class ModelInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Facts about a model; the defaults apply to a model without a description."""

    ref: str
    context_window: int = 128_000
    max_output_tokens: int = 8_192
    price: Price | None = None
    closing_tools: Literal["omit", "none"] = "omit"
    options: Mapping[str, Any] = {}
    variants: Mapping[str, Mapping[str, Any]] = {}
    """Named sets of options."""
    reasons: bool = False
    """Whether it thinks before it answers."""
    takes: frozenset[str] = frozenset()
    """Inputs that it accepts besides text: `image`, `pdf`."""
    calls: Literal["native", "text", "unknown"] = "unknown"
    """Whether it has native tool calls, needs its tools described in the prompt, or is not known."""
    constrained: bool = False
    """Whether its server can constrain replies to a JSON schema."""
    small: bool = False
    """It gets a short prompt and few tools, because it loses track in long prompts."""
    small_by_name: bool = False
    """Its name says that it is small, and no setting says anything."""
    source: str = "defaults"
    """Where these facts come from."""


class AgentDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """An agent: its prompt, model, limits, tools and permissions."""

    name: str
    description: str = ""
    prompt: str | None = ""
    """Its own prompt; None selects the prompt for its model family."""
    model: str | None = None
    steps: int | None = None
    limits: Limits = UNLIMITED
    tools: Mapping[str, bool] = {}
    permission: tuple[Rule, ...] = ()
    options: Mapping[str, Any] = {}
    """Model options, including temperature."""
    source: str = "built-in"
    mode: Literal["primary", "subagent", "all"] = "all"
    """Whether a person, a `task` call, or both may choose it."""
    variant: str = ""
    output: Mapping[str, Any] | None = None
    """JSON schema of its answer."""
    hidden: bool = False
    """Not listed, and not offered to other agents."""
    color: str = ""
    reads_only: bool = False
    """Its commands see the project read-only."""
    bound: bool = False
    """Whether `tools` also binds every subagent that it starts."""
    environment: Literal["machine", "date", "nothing"] = "machine"
    """What its system prompt tells: directory, platform and date of the machine, the date only, or none of them."""
    offers: frozenset[str] | None = None
    """The tools offered to its model, as a choice and not a ban; None offers all that it may use."""
    subagents: frozenset[str] | None = None
    """The agents that its `task` calls may start; None means all that the runtime offers."""
    handoffs: tuple[str, ...] = ()
    """The agents that it may hand its turn over to."""
    fallback: tuple[str, ...] = ()
    """The models to ask, in this order, when `model` has failed for good."""
