"""Merges settings into a turn's models: references by precedence, window, price, options, timeouts, compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from bridle.config.settings import ModelSettings, Settings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.compaction import compact_at
from bridle.core.inbox import TurnOptions
from bridle.core.limits import LOWEST_OUTPUT_TOKENS
from bridle.core.parts import Delegation, Fallback
from bridle.core.session import Session
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.turn.setup import Deadlines, SmallModel
from bridle.values.options import RESERVED_OPTIONS, layered
from bridle.values.provider import Provider


def adjusted(info: ModelInfo, given: ModelSettings | None) -> ModelInfo:
    """Return the description of a model, overridden by its settings."""
    if given is None:
        return info
    return msgspec.structs.replace(
        info,
        context_window=given.context_window or info.context_window,
        max_output_tokens=given.max_output_tokens or info.max_output_tokens,
        price=given.price or info.price,
        options=layered(info.options, given.options),
        variants={**info.variants, **given.variants},
        closing_tools=given.closing_tools or info.closing_tools,
        takes=frozenset(given.takes) if given.takes is not None else info.takes,
    )


def model_options(info: ModelInfo, agent: AgentDefinition, variant: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a request: model, agent, variant and turn, where later ones win; raises `ConfigError`."""
    if variant and variant not in info.variants:
        known = ", ".join(info.variants) or "none"
        raise ConfigError(f"{info.ref} has no variant {variant!r} (known: {known})")
    merged = layered(info.options, agent.options, info.variants.get(variant, {}), options)
    for key in RESERVED_OPTIONS:
        if key in merged:
            raise ConfigError(f"the options of {info.ref} or of agent {agent.name} may not set {key!r}: Bridle sets it")
    return merged


def compaction_threshold(settings: Settings, info: ModelInfo) -> int:
    """Return the context size in tokens at which a turn compacts; 0 means never."""
    if not settings.compaction.auto:
        return 0
    kept = min(settings.compaction.reserved, info.context_window // 2)
    return compact_at(info.context_window, max(kept, min(LOWEST_OUTPUT_TOKENS, info.max_output_tokens)))


ModelChoice = tuple[str | None, Sequence[str]]
"""The reference of a model, if one is given, and of the fallbacks given with it."""


def references(
    options: TurnOptions, session: Session, own: ModelChoice, default: ModelChoice
) -> tuple[str | None, ...]:
    """Return the references of a turn's model, None if one has to be chosen, and of the fallbacks given with it.

    A model comes from the prompt, the turn before, the creation of the session, the agent, the turn above, or the
    settings, in this order.
    """
    before = session.turn.start if session.turn is not None else None
    terms = options.delegation or Delegation("", "", "", 0)
    kept = [each.model for each in before.fallbacks] if before is not None else []
    given: Sequence[ModelChoice] = (
        (options.model, options.fallbacks),
        (before.model if before is not None else None, kept),
        (session.info.model if session.info is not None else None, ()),
        own,
        (terms.model, terms.fallbacks),
    )
    model, fallbacks = next((each for each in given if each[0]), default)
    return model or None, *fallbacks


def fallbacks(settings: Settings, infos: Mapping[str, ModelInfo]) -> tuple[Fallback, ...]:
    """Return the fallbacks of a turn with their windows, from their facts by reference."""
    return tuple(
        Fallback(ref, info.context_window, compaction_threshold(settings, info)) for ref, info in infos.items()
    )


def provider_of(settings: Settings, ref: str) -> Provider:
    """Return the settings of the provider of a model."""
    return settings.providers.get(ref.partition("/")[0]) or Provider()


def deadlines(settings: Settings, ref: str) -> Deadlines:
    """Return the timeouts of requests: those of the provider, or else the general ones."""
    given, own = settings.deadlines, provider_of(settings, ref)
    return Deadlines(
        own.first_event_seconds or given.first_event_seconds,
        own.idle_seconds or given.idle_seconds,
        own.request_seconds or given.request_seconds,
    )


def small_news(info: ModelInfo) -> tuple[str, ...]:
    """Return the words about a model that is treated as small because of its name."""
    calls = "; its calls are read from text" if info.calls == "text" else ""
    told = (
        f"{info.ref} is a small model by its name, so it gets a short prompt and four tools{calls}. To change that, "
        f'set in the configuration: [models."{info.ref}"] quirks = {{ small = false }}'
    )
    return (told,) if info.small_by_name else ()


def small_model(ref: str | None, find: Callable[[str], tuple[Model, ModelInfo]]) -> SmallModel | None:
    """Return the model for small requests, or None if it is not set or not available."""
    if ref is None:
        return None
    try:
        return SmallModel(*find(ref))
    except ConfigError:
        return None
