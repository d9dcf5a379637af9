"""Checks a model reference before it is resolved: where tests forbid requests, only models of this process pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from bridle.errors import ConfigError
from bridle.values.provider import FORBID_REQUESTS, Provider

OWN = ("scripted:", "embedded/", "gguf:")
"""References of models in this process."""


def check_allowed(what: str, environment: Mapping[str, str], find: Callable[[str], Provider | None]) -> None:
    """Raise `ConfigError` if requests are forbidden in this environment or process.

    `what` is the reference of a model, or another purpose. Scripted servers of this process are allowed.
    """
    if not (environment.get(FORBID_REQUESTS) or os.environ.get(FORBID_REQUESTS)) or what.startswith(OWN):
        return
    # Imported only in tests.
    from bridle.testing.server import ScriptedServer

    provider = find(what.partition("/")[0])
    address = f"{provider.base_url}/" if provider is not None else ""
    if not address.startswith(tuple(f"{server.address}/" for server in ScriptedServer.running)):
        raise ConfigError(
            f"{what}: requests to models are forbidden here ({FORBID_REQUESTS}): use a model object, "
            "or agent.override(model=ScriptedModel(…))"
        )
