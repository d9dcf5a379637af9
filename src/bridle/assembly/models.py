"""From a reference to a model: what was given, a script to play, a provider; and which one where nobody named any."""

from __future__ import annotations

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
from bridle.model.model import Model
from bridle.seams import in_thread

if TYPE_CHECKING:
    from bridle.model.availability import Reach
    from bridle.model.providers import Providers


class Models:
    """Every model of a runtime, found once and kept."""

    def __init__(
        self, given: Mapping[str, Model], settings: Settings, environment: Mapping[str, str], directory: Path
    ) -> None:
        self._given = given
        self._settings = settings
        self._environment = environment
        self._directory = directory
        self._providers: Providers | None = None
        self._found: dict[str, tuple[Model, ModelInfo]] = {}
        self._choice: tuple[str, str] | None = None
        self.wanted: tuple[str, ...] = ()

    def find(self, ref: str) -> tuple[Model, ModelInfo]:
        """The model behind a reference; raises `ConfigError` that says what is missing."""
        if ref not in self._found:
            with pointing_to_trust(self.wanted, ref):
                self._found[ref] = self._find(ref)
        return self._found[ref]

    def _find(self, ref: str) -> tuple[Model, ModelInfo]:
        model = self._given.get(ref)
        if model is None and ref.startswith("scripted:"):
            # Loaded only when it is asked for: most runtimes never play a script.
            from bridle.testing.scripted import ScriptedModel

            model = ScriptedModel.load(self._directory / ref.removeprefix("scripted:"))
        if model is None:
            found, info = self.providers.model(self._named(ref))
            return found, msgspec.structs.replace(info, ref=ref)
        return model, getattr(model, "info", None) or ModelInfo(ref)

    def _named(self, ref: str) -> str:
        """The reference by which the provider knows a model."""
        given = self._settings.models.get(ref)
        return f"{ref.partition('/')[0]}/{given.id}" if given is not None and given.id else ref

    @property
    def providers(self) -> Providers:
        """Everybody who can be asked for a model; loaded when somebody asks, since most of it is network."""
        if self._providers is None:
            from bridle.config.load import data_home
            from bridle.model.providers import Providers

            settings, home = self._settings, data_home(self._environment)
            quirks = {self._named(ref): given.quirks for ref, given in settings.models.items() if given.quirks}
            self._providers = Providers(settings.providers, self._environment, home, self._directory, quirks)
        return self._providers

    async def prepare(self, ref: str | None) -> None:
        """Find a model, or choose one, beside the event loop: servers may have to be asked, and take their time.

        What is wrong is not said here but when the model is needed.
        """
        if ref is not None and (ref in self._found or ref in self._given or ref.startswith("scripted:")):
            return
        if ref is None and (self._choice is not None or self._settings.model):
            return
        with suppress(ConfigError):
            await in_thread(lambda: self.find(ref if ref is not None else self.choose()[0]))

    def choose(self) -> tuple[str, str]:
        """A model that nobody named, and why; chosen once, so that two turns do not ask different ones by accident."""
        if self._settings.model:
            return self._settings.model, "it is set in the configuration"
        if self._choice is None:
            from bridle.model.choose import choose

            with pointing_to_trust(self.wanted):
                choice = choose(self.providers, embedded=self._settings.behavior.embedded)
            self._choice = choice.ref, choice.why
        return self._choice

    def alias(self, name: str) -> str | None:
        """The newest model of a family whose provider has a key; None if there is none."""
        from bridle.model.choose import newest

        return newest(self.providers, name)

    def reachable(self) -> list[Reach]:
        """Everybody who can be asked right now."""
        from bridle.model.availability import reachable

        mine = [*filter(None, [self._settings.model]), *self._settings.models]
        return reachable(self.providers, mine)

    def logins(self) -> list[tuple[str, str]]:
        """The providers that have a key, and where it is."""
        from bridle.model.choose import keyed

        return keyed(self.providers)

    async def login(self, name: str, key: str) -> tuple[str, str]:
        """Try a key and store it: where it is now, and why it could not be tried, if so; raises `ConfigError`."""
        from bridle.model.availability import known_providers, try_key

        key = key.strip()
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError("that is no key: it is empty, or has letters that no key has; nothing was stored")
        known = known_providers(self.providers)
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f" (known: {', '.join(list(known)[:12])}, …)"
            raise ConfigError(f"there is no provider {name!r} that takes a key{hint}")
        provider = self.providers.provider(name)
        untried = await try_key(name, provider, key) if provider is not None else "Bridle does not know how"
        return self.providers.keys.store(name, key), untried

    def logout(self, name: str) -> bool:
        """Forget a stored key; False if there was none."""
        return self.providers.keys.forget(name)

    def fetch(self) -> Path:
        """Get the weights of the embedded model; raises `ConfigError`."""
        from bridle.model.availability import fetch_weights

        return fetch_weights(self.providers.weights)

    async def close(self) -> None:
        """Let go of all connections. May be called twice."""
        if self._providers is not None:
            await self._providers.close()
