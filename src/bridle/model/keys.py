"""`Keys`: finds and stores providers' API keys (environment, system keyring, or a file only its owner can read)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.errors import ConfigError
from bridle.workspace.json_store import JsonStore

SERVICE = "bridle"


class Key(msgspec.Struct, frozen=True):
    """A key and its source. Its `repr` omits the value."""

    value: str
    source: str

    def __repr__(self) -> str:
        return f"Key(from {self.source})"


class Keys:
    """Looks up keys on demand; stored keys are cached, because a keyring is slow."""

    def __init__(self, environment: Mapping[str, str], file: Path) -> None:
        self._environment = environment
        self._known: dict[str, Key] = {}
        self._kept = JsonStore(file, dict[str, Literal["keyring"] | dict[str, str]])
        self.file = file

    def find(self, provider: str, variables: tuple[str, ...]) -> Key | None:
        """Return the key of a provider, from the environment first; None if there is none."""
        return self.from_environment(variables) or self.stored(provider)

    def from_environment(self, variables: tuple[str, ...]) -> Key | None:
        """Return the key in the first of these variables that is not empty."""
        for name in variables:
            if value := self._environment.get(name, "").strip():
                return Key(value, name)
        return None

    def stored(self, provider: str) -> Key | None:
        """Return the key stored by a login; None if there is none."""
        if provider not in self._known and (found := self._stored(provider)) is not None:
            self._known[provider] = found
        return self._known.get(provider)

    def _stored(self, provider: str) -> Key | None:
        kept = self._kept.read().get(provider)
        if kept == "keyring":
            ring = _ring()
            value = _asked(lambda: ring.get_password(SERVICE, provider)) if ring is not None else None
            return Key(value, "the keyring") if value else None
        return Key(kept["key"], str(self.file)) if isinstance(kept, dict) and kept.get("key") else None

    def store(self, provider: str, value: str) -> Literal["keyring", "file"]:
        """Store a key in the keyring, or in the file if there is no keyring; raises `ConfigError`."""
        self._known.pop(provider, None)
        ring = _ring()
        if ring is not None:
            _asked(lambda: ring.set_password(SERVICE, provider, value))
        self._kept.change(provider, lambda _: "keyring" if ring is not None else {"key": value})
        return "keyring" if ring is not None else "file"

    def forget(self, provider: str) -> bool:
        """Remove a stored key; return False if there was none."""
        self._known.pop(provider, None)
        kept = self._kept.read().get(provider)
        ring = _ring() if kept == "keyring" else None
        if ring is not None and _asked(lambda: ring.get_password(SERVICE, provider)):
            _asked(lambda: ring.delete_password(SERVICE, provider))
        return kept is not None and self._kept.remove(provider)

    def names(self) -> list[str]:
        """Return the providers that have a stored key."""
        return sorted(self._kept.read())


def _asked(ask: Callable[[], Any]) -> Any:
    from keyring.errors import KeyringError

    try:
        return ask()
    except KeyringError as error:
        raise ConfigError(f"the keyring refuses: {error or type(error).__name__}") from error


def _ring() -> Any:
    """Return the system's keyring if it works. Imported only when a key is looked up, because it takes 80 ms."""
    import keyring
    import keyring.errors

    try:
        backend = keyring.get_keyring()
        if backend.priority < 1:
            return None
        backend.get_password(SERVICE, "probe")
    except (keyring.errors.KeyringError, RuntimeError, OSError):
        return None
    return backend
