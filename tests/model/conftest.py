"""Providers without the servers and the keyring of this machine."""

import keyring
import pytest

from bridle.model.providers import Providers
from bridle.values.provider import Provider


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Providers with an environment of their own, and no servers on this machine."""
    silent = {name: Provider(base_url="http://127.0.0.1:1/v1") for name in ("ollama", "lmstudio", "llamacpp", "vllm")}

    def make(environment=None, given=None, quirks=None):
        return Providers({**silent, **(given or {})}, environment or {}, tmp_path, tmp_path, quirks)

    monkeypatch.setattr(keyring, "get_keyring", lambda: keyring.backends.fail.Keyring())
    return make
