"""The models of a project with their windows, prices and inputs, in the shapes of OpenCode's lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from bridle.core.agent import ModelInfo, Price
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.surfaces.server.opencode.session_facts import model_of

INPUTS = ("text", "audio", "image", "video", "pdf")
FREE = Price(0, 0)


class ListedModel(NamedTuple):
    """A model as clients name it, and what is known of it."""

    provider: str
    name: str
    info: ModelInfo


async def listed_models(backend: Backend) -> list[ListedModel]:
    """Return the models that may be chosen; the default one is first."""
    try:
        chosen = (await backend.chosen_model())[0]
        known = {row.info.ref: row.info for row in await backend.model_rows()}
    except BridleError:
        # Without a model, a client still starts, and its first prompt tells what is missing.
        chosen, known = "", {}
    agents = (row.agent.model for row in backend.agents())
    named = [chosen, *backend.preferences().models, *(model for model in agents if model), *known]
    return [ListedModel(*model_of(ref), known.get(ref) or ModelInfo(ref)) for ref in dict.fromkeys(filter(None, named))]


def providers_of(models: Collection[ListedModel]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the providers with their models, and the first model of each."""
    found: dict[str, dict[str, Any]] = {}
    for model in models:
        id = model.provider
        made: dict[str, Any] = {"id": id, "name": id, "source": "config", "env": [], "options": {}, "models": {}}
        found.setdefault(id, made)["models"][model.name] = _shown(model)
    return list(found.values()), {id: next(iter(each["models"])) for id, each in found.items()}


def _shown(model: ListedModel) -> dict[str, Any]:
    info = model.info
    return {
        "id": model.name,
        "providerID": model.provider,
        "name": model.name,
        "api": {"id": model.name, "url": "", "npm": ""},
        "capabilities": {
            "temperature": True,
            "reasoning": info.reasons,
            "attachment": bool(info.takes),
            "toolcall": True,
            "input": dict.fromkeys(INPUTS, False) | dict.fromkeys(("text", *info.takes), True),
            "output": dict.fromkeys(INPUTS, False) | {"text": True},
            "interleaved": False,
        },
        "cost": _cost(info.price or FREE),
        "limit": _limit(info),
        "status": "active",
        "options": {},
        "headers": {},
        "release_date": "",
        "variants": {name: {} for name in info.variants},
    }


def next_shape(model: ListedModel) -> dict[str, Any]:
    """Return a model as paths below `/api` have it."""
    info = model.info
    return {
        "id": model.name,
        "providerID": model.provider,
        "name": model.name,
        "api": {"id": model.name, "type": "native", "settings": {}},
        "capabilities": {"tools": True, "input": ["text", *sorted(info.takes)], "output": ["text"]},
        "request": {"headers": {}, "body": {}},
        "variants": [{"id": name, "headers": {}, "body": {}} for name in info.variants],
        "time": {"released": 0},
        "cost": [_cost(info.price)] if info.price is not None else [],
        "status": "active",
        "enabled": True,
        "limit": _limit(info),
    }


def _cost(price: Price) -> dict[str, Any]:
    """Return a price; what the cache costs is the price of the input where it is not known."""
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    return {"input": price.input, "output": price.output, "cache": {"read": read, "write": write}}


def _limit(info: ModelInfo) -> dict[str, int]:
    return {"context": info.context_window, "output": info.max_output_tokens}
