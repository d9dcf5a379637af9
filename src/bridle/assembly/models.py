"""`Models`: resolves a runtime's model references, picks a default, lists reachable models, and stores API keys."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.config.model_checks import pointing_to_trust
from bridle.config.settings import Settings
from bridle.core.agent import ModelInfo
from bridle.errors import ConfigError
from bridle.model.known_windows import KnownWindows
from bridle.model.model import Model
from bridle.seams import in_thread

if TYPE_CHECKING:
    from bridle.model.availability import Reach
    from bridle.model.providers import Providers
    from bridle.model.tagged import RequestHeaders


class Models:
    """The models of a runtime; each reference is resolved once and cached."""

    def __init__(
        self,
        given: Mapping[str, Model],
        settings: Settings,
        environment: Mapping[str, str],
        directory: Path,
        *,
        windows: KnownWindows | None = None,
    ) -> None:
        self._windows = windows
        self._preparing = asyncio.Lock()
        self._given = given
        self._settings = settings
        self._environment = environment
        self._directory = directory
        self._providers: Providers | None = None
        self._found: dict[str, tuple[Model, ModelInfo]] = {}
        self._choice: tuple[str, str] | None = None
        self.wanted: tuple[str, ...] = ()
        self.request_headers: RequestHeaders | None = None

    def find(self, ref: str) -> tuple[Model, ModelInfo]:
        """Return the model of a reference; raises `ConfigError` that says what is missing."""
        if ref not in self._given:
            self._check_allowed(ref)
        if ref not in self._found:
            with pointing_to_trust(self.wanted, ref):
                self._found[ref] = self._find(ref)
        return self._found[ref]

    def _check_allowed(self, what: str) -> None:
        """Raise `ConfigError` if requests to a model, or for another purpose, are forbidden."""
        # Imported on first use: programs that give their models as objects send none.
        from bridle.assembly.forbidden_requests import check_allowed

        check_allowed(what, self._environment, lambda name: self.providers.provider(name))

    def _find(self, ref: str) -> tuple[Model, ModelInfo]:
        model = self._given.get(ref)
        if model is None and ref.startswith("scripted:"):
            # Imported here because most runtimes use no scripted model.
            from bridle.testing.scripted import ScriptedModel

            model = ScriptedModel.load(self._directory / ref.removeprefix("scripted:"))
        if model is None:
            found, info = self.providers.model(self._named(ref))
            if self.request_headers is not None:
                from bridle.model.tagged import TaggedModel

                found = TaggedModel(found, self.request_headers)
            return found, msgspec.structs.replace(info, ref=ref)
        return model, getattr(model, "info", None) or ModelInfo(ref)

    def _named(self, ref: str) -> str:
        """Return the reference under which the provider knows a model."""
        given = self._settings.models.get(ref)
        return f"{ref.partition('/')[0]}/{given.id}" if given is not None and given.id else ref

    @property
    def providers(self) -> Providers:
        """The model providers; imported on first use, because that loads the network code."""
        if self._providers is None:
            from bridle.config.load import data_home
            from bridle.model.providers import Providers

            settings, home = self._settings, data_home(self._environment)
            quirks = {self._named(ref): given.quirks for ref, given in settings.models.items() if given.quirks}
            self._providers = Providers(
                settings.providers, self._environment, home, self._directory, quirks, windows=self._windows
            )
        return self._providers

    async def prepare(self, ref: str | None) -> None:
        """Resolve or choose a model in a thread, because servers may have to be queried, which can be slow.

        Errors are suppressed here and raised when the model is needed.
        """
        if ref is not None and (ref in self._found or ref in self._given or ref.startswith("scripted:")):
            return
        if ref is None and (self._choice is not None or self._settings.model):
            return
        async with self._preparing:
            # One of several prompts at once asks the server.
            if ref is not None and ref in self._found:
                return
            with suppress(ConfigError):
                await in_thread(lambda: self.find(ref if ref is not None else self.choose()[0]))

    def choose(self) -> tuple[str, str]:
        """Return the default model and why it was chosen, once for all turns; raises `ConfigError` if there is none."""
        if self._settings.model:
            return self._settings.model, "it is set in the configuration"
        self._check_allowed("the choice of a default model")
        if self._choice is None:
            from bridle.model.choose import choose

            with pointing_to_trust(self.wanted):
                choice = choose(self.providers, embedded=self._settings.behavior.embedded)
            self._choice = choice.ref, choice.why
        return self._choice

    def alias(self, name: str) -> str | None:
        """Return the newest model of a family whose provider has a key; None if there is none."""
        from bridle.model.choose import newest

        return newest(self.providers, name)

    def reachable(self) -> list[Reach]:
        """Return the providers that are reachable now, with their models."""
        self._check_allowed("the list of models")
        from bridle.model.availability import reachable

        mine = [*filter(None, [self._settings.model]), *self._settings.models]
        return reachable(self.providers, mine)

    def logins(self) -> list[tuple[str, str]]:
        """Return the providers that have a key, and where it is stored."""
        from bridle.model.choose import keyed

        return keyed(self.providers)

    async def login(self, name: str, key: str) -> tuple[str, str]:
        """Test and store a key; return where it is stored, and why it was not tested, if so; raises `ConfigError`."""
        from bridle.model.availability import known_providers, try_key

        self._check_allowed(f"the check of a key for {name}")
        key = key.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(
                "this is not an API key: it is empty, or has characters that no key has; nothing was stored"
            )
        known = known_providers(self.providers)
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(list(known)[:12])}, …)"
            raise ConfigError(f"there is no provider {name!r} that takes a key{hint}")
        provider = self.providers.provider(name)
        untried = await try_key(name, provider, key) if provider is not None else "Bridle does not know how"
        return self.providers.keys.store(name, key), untried

    def logout(self, name: str) -> bool:
        """Delete a stored key; return False if there was none."""
        return self.providers.keys.forget(name)

    def fetch(self) -> Path:
        """Download the weights of the embedded model and return their path; raises `ConfigError`."""
        from bridle.model.availability import fetch_weights

        return fetch_weights(self.providers.weights)

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        if self._providers is not None:
            await self._providers.close()
