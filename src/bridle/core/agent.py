"""Who runs, with which model, how far and with what rights."""

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
    """What is known of a model. The defaults hold for one that nobody described."""

    ref: str
    context_window: int = 128_000
    max_output_tokens: int = 8_192
    price: Price | None = None
    closing_tools: Literal["omit", "none"] = "omit"
    options: Mapping[str, Any] = {}
    variants: Mapping[str, Mapping[str, Any]] = {}
    """Named sets of options."""
    reasons: bool = False
    """Whether it thinks before it speaks."""
    takes: frozenset[str] = frozenset()
    """What it can look at besides text: `image`, `pdf`."""
    calls: Literal["native", "text", "unknown"] = "unknown"
    """Whether it has tool calls of its own, is told its tools in words, or nobody knows."""
    constrained: bool = False
    """Whether its server can hold replies to a JSON schema."""
    small: bool = False
    """It is lost in long prompts: a short one, and few tools."""
    source: str = "defaults"
    """Who says so."""


class AgentDefinition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A definition: what a prompt needs besides its words."""

    name: str
    description: str = ""
    prompt: str | None = ""
    """Its own words; None means those for the family of its model."""
    model: str | None = None
    steps: int | None = None
    limits: Limits = UNLIMITED
    tools: Mapping[str, bool] = {}
    permission: tuple[Rule, ...] = ()
    options: Mapping[str, Any] = {}
    """Also temperature and the like."""
    source: str = "built-in"
    mode: Literal["primary", "subagent", "all"] = "all"
    """Whether a person may choose it, a `task` call, or both."""
    variant: str = ""
    output: Mapping[str, Any] | None = None
    """A JSON schema for its answer."""
    hidden: bool = False
    """Not listed, and not offered to other agents."""
    color: str = ""
    reads_only: bool = False
    """Its commands find the project read-only."""
    bound: bool = False
    """Whether that list of tools holds also for everything that it starts."""
    offers: frozenset[str] | None = None
    """The tools that its model is told of, where that is a choice and no ban; none means all that it may have."""
