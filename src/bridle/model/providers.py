"""`Providers`: makes the model adapter for a reference like `anthropic/NAME`, with address, key and connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from bridle.core.agent import ModelInfo
from bridle.errors import ConfigError
from bridle.model.catalog import known_provider, listed, model_info, model_quirks
from bridle.model.http import LOOPBACK, Lane
from bridle.model.keys import Keys
from bridle.model.known_windows import KnownWindows
from bridle.model.local_servers import SERVERS
from bridle.model.model import Model
from bridle.values.known_providers import BUILT_IN as BUILT_IN
from bridle.values.model_size import is_small_by_name, is_smallest_by_name
from bridle.values.options import layered
from bridle.values.provider import Provider, Quirks
from bridle.workspace.substitution import filled

if TYPE_CHECKING:
    from bridle.model.bridge import BridgeModel
    from bridle.model.wire_model import WireModel

OTHER_KEYS = {"zai": ("ZHIPU_API_KEY",), "google": ("GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY")}
ADDRESSES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL", "ollama": "OLLAMA_HOST"}
PLACE = re.compile(r"\$\{(\w+)\}")
"""A variable in an address, with a value specific to each user."""
ANTHROPIC_VERSION = "2023-06-01"
WHO = "bridle"
OLLAMA_WINDOW = 4_096


class Providers:
    """All available providers with their connections. Call `close` after the last request."""

    def __init__(
        self,
        given: Mapping[str, Provider],
        environment: Mapping[str, str],
        home: Path,
        directory: Path,
        quirks: Mapping[str, dict[str, Any]] | None = None,
        *,
        windows: KnownWindows | None = None,
    ) -> None:
        """`home` is the folder of keys and weights; `quirks` are the user's, by model reference."""
        self.given = given
        self._windows = windows or KnownWindows()
        self._quirks = quirks or {}
        self._environment = environment
        self._directory = directory
        self.keys = Keys(environment, home / "keys.json")
        self.weights = home / "models"
        self._lanes: dict[str, Lane] = {}
        self._bridges: list[BridgeModel] = []

    def provider(self, name: str) -> Provider | None:
        """Return a known provider with the user's settings over it; None if unknown. Raises `ConfigError`."""
        known, given = BUILT_IN.get(name) or known_provider(name), self.given.get(name)
        if known is not None and given is not None:
            known = msgspec.convert(layered(msgspec.to_builtins(known), msgspec.to_builtins(given)), Provider)
        found = known or given
        if found is None:
            return None
        base_url = found.base_url
        address = self._environment.get(ADDRESSES[name], "") if name in ADDRESSES else ""
        if address and (given is None or not given.base_url):
            base_url = _address(name, address)
        if "{env:" in base_url:
            base_url = filled(base_url, self._environment, self._directory)
        _check_address(f"[providers.{name}] base_url", base_url)
        base_url = PLACE.sub(lambda place: self._environment.get(place[1], place[0]), base_url)
        return msgspec.structs.replace(found, base_url=base_url)

    def variables(self, name: str, provider: Provider) -> tuple[str, ...]:
        """Return the environment variables that may hold its key."""
        return tuple(variable for variable in (provider.key_env, *OTHER_KEYS.get(name, ())) if variable)

    def model(self, ref: str) -> tuple[Model, ModelInfo]:
        """Return the model for a reference; raises `ConfigError` with what is missing."""
        if ref.startswith(("embedded/", "gguf:")):
            from bridle.model.embedded import embedded

            return embedded(ref, self.weights, self._directory)
        name, _, model = ref.partition("/")
        if not model:
            raise ConfigError(f"there is no model {ref!r}: write PROVIDER/MODEL, as in anthropic/claude-opus-4-7")
        provider = self.provider(name)
        if provider is None:
            return self._bridged(name, ref)
        if "${" in provider.base_url:
            raise ConfigError(f"{name} needs {', '.join(PLACE.findall(provider.base_url))} in the environment")
        if not provider.base_url or not provider.wire:
            raise ConfigError(f"[providers.{name}] needs base_url and wire (chat, responses or messages)")
        lane = self.lane(name, provider)
        try:
            layers = {**model_quirks(name, model), **provider.quirks, **self._quirks.get(ref, {})}
            guessed = "small" not in layers and is_local(name, provider) and is_small_by_name(model)
            if guessed and is_smallest_by_name(model):
                layers = {"text_calls": True, "constrained": name in SERVERS, **layers}
            quirks = msgspec.convert(layers, Quirks)
        except msgspec.ValidationError as error:
            raise ConfigError(f"the quirks of {ref} ([providers.{name}] or its own): {error}") from error
        info = self._info(name, model, provider)
        adapter: Model = _wire(provider.wire)(lane, model, info, quirks)
        if quirks.text_calls:
            from bridle.model.prompted_tools import TextCalls

            adapter = TextCalls(adapter, info, constrained=quirks.constrained)
            info = msgspec.structs.replace(info, calls="text")
        constrained = quirks.constrained or name in SERVERS
        small = quirks.small or guessed
        return adapter, msgspec.structs.replace(info, small=small, small_by_name=guessed, constrained=constrained)

    def _bridged(self, name: str, ref: str) -> tuple[Model, ModelInfo]:
        """Return a model of a provider that no native wire supports."""
        if find_spec("pydantic_ai") is None:
            raise ConfigError(
                f"there is no provider {name!r} here: set [providers.{name}] base_url and wire, "
                "or install the others with: pip install 'bridle[providers]'"
            )
        from bridle.model.bridge import bridged

        known = listed().get(name)
        variables = tuple(known.env) if known is not None else ()
        in_use = tuple(value for variable in variables if (value := self._environment.get(variable, "")))
        stored = self.keys.stored(name) if not in_use else None
        model, info = bridged(ref, stored.value if stored is not None else None, secrets=in_use)
        self._bridges.append(model)
        return model, info

    def _info(self, name: str, model: str, provider: Provider) -> ModelInfo:
        info = model_info(name, model, provider.wire, local=is_local(name, provider))
        held = self._windows.find(name, provider.base_url, model) if is_local(name, provider) else None
        if held is None and name == "ollama":
            # Ollama's default until a model is loaded; it silently truncates longer prompts.
            held = OLLAMA_WINDOW
        if held is not None:
            info = msgspec.structs.replace(info, context_window=held, max_output_tokens=held // 4, source="the server")
        return msgspec.structs.replace(info, options=provider.options)

    def lane(self, name: str, provider: Provider) -> Lane:
        """Return the connections to a provider; raises `ConfigError` if a required key is missing."""
        if provider.auth != "none" and not is_local(name, provider) and self._key(name, provider) is None:
            raise ConfigError(no_key(name, self.variables(name, provider)))
        if name not in self._lanes:
            self._lanes[name] = Lane(
                provider.base_url,
                self._headers(name, provider),
                provider.ca_bundle,
                provider.proxy,
                provider.connect_seconds,
            )
        return self._lanes[name]

    def _key(self, name: str, provider: Provider) -> str | None:
        found = self.keys.find(name, self.variables(name, provider))
        if found is None and provider.key:
            return filled(provider.key, self._environment, self._directory) or None
        return found.value if found is not None else None

    def _headers(self, name: str, provider: Provider) -> Callable[[], Mapping[str, str]]:
        given = {key: filled(value, self._environment, self._directory) for key, value in provider.headers.items()}
        provider = msgspec.structs.replace(provider, headers=given)
        return lambda: headers_of(provider, self._key(name, provider) if provider.auth != "none" else None)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        for lane in self._lanes.values():
            await lane.close()
        for bridge in self._bridges:
            await bridge.close()


def headers_of(provider: Provider, key: str | None) -> Mapping[str, str]:
    """Return the headers of every request to a provider."""
    made = {"user-agent": WHO, **provider.headers}
    if provider.wire == "messages":
        made.setdefault("anthropic-version", ANTHROPIC_VERSION)
    if key is not None:
        as_token = provider.auth == "bearer" or (not provider.auth and provider.wire != "messages")
        made.update({"authorization": f"Bearer {key}"} if as_token else {"x-api-key": key})
    return made


def is_local(name: str, provider: Provider) -> bool:
    """Return whether it is a local server, which needs no key. A hosted provider behind a local proxy is not."""
    hosted = name in BUILT_IN or name in listed()
    return name in SERVERS or (urlsplit(provider.base_url).hostname in LOOPBACK and not hosted)


def no_key(name: str, variables: tuple[str, ...]) -> str:
    """Return the error message for a missing key, with the fix."""
    where = f"set {variables[0]}, or run: " if variables else "run: "
    return f"there is no key for {name}: {where}bridle auth login {name}"


def _wire(name: str) -> type[WireModel]:
    # Each wire is imported on first use.
    match name:
        case "messages":
            from bridle.model.anthropic import AnthropicModel

            return AnthropicModel
        case "responses":
            from bridle.model.openai_responses import ResponsesModel

            return ResponsesModel
    from bridle.model.openai_chat import ChatModel

    return ChatModel


def _check_address(whose: str, address: str) -> None:
    try:
        _ = urlsplit(address).port
    except ValueError as error:
        if "${" not in address:
            raise ConfigError(f"{whose} {address!r}: {error}") from error


def _address(name: str, given: str) -> str:
    """Return an address from the environment, interpreted as the provider's own tools do; raises `ConfigError`."""
    address = (given if "://" in given else f"http://{given}").rstrip("/")
    _check_address(f"{ADDRESSES[name]} in the environment:", given if "://" in given else address)
    if name == "ollama":
        port = urlsplit(address).port
        address = address.replace("://0.0.0.0", "://127.0.0.1")
        return f"{address}/v1" if port is not None else f"{address}:11434/v1"
    return f"{address}/v1" if name == "anthropic" and not address.endswith("/v1") else address
