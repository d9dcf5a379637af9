"""`TaggedModel`: adds headers to the requests of a model, such as their place in a trace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

import msgspec

from bridle.core.stream import ModelRequest, StreamEvent
from bridle.model.model import Model

RequestHeaders = Callable[[str, str], Mapping[str, str]]
"""Returns the headers of a request, by its session and its id."""


class TaggedModel:
    """A model whose requests get more headers. Meets the contract of `Model`."""

    def __init__(self, inner: Model, headers: RequestHeaders) -> None:
        self._inner = inner
        self._headers = headers

    def stream(self, request: ModelRequest) -> AsyncIterator[StreamEvent]:
        headers = self._headers(request.session, request.id)
        return self._inner.stream(msgspec.structs.replace(request, headers=headers))
