"""`forbid_requests`: switches model requests over the network off in tests; `assembly` then refuses the models."""

from __future__ import annotations

import os
from types import TracebackType

from bridle.values.provider import FORBID_REQUESTS


class Forbidden:
    """Requests are forbidden until `allow`, or until the end of the `with` block."""

    def __init__(self) -> None:
        self._before = os.environ.get(FORBID_REQUESTS)
        os.environ[FORBID_REQUESTS] = "1"

    def allow(self) -> None:
        """Restore the state from before. May be called twice."""
        if self._before is None:
            os.environ.pop(FORBID_REQUESTS, None)
        else:
            os.environ[FORBID_REQUESTS] = self._before

    def __enter__(self) -> Forbidden:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.allow()


def forbid_requests() -> Forbidden:
    """Forbid requests to models of providers and servers, in this process and in the processes that it starts.

    It takes effect at once, for example in conftest.py; as a context manager it ends with the `with` block. A prompt
    for such a model raises `ConfigError`. Models given as objects, scripted models, embedded models and every
    `ScriptedServer` of this process are allowed.
    """
    return Forbidden()
