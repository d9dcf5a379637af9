"""`Provider`: settings of a model provider (address, API format, authentication, quirks); unset means the default."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bridle.values.secrets import shown, shown_fields

FORBID_REQUESTS = "BRIDLE_FORBID_REQUESTS"
"""The environment variable that forbids requests to models; see `bridle.forbid_requests`."""
WireName = Literal["chat", "responses", "messages"]


class Quirks(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """The differences of a server or a model from the usual behavior."""

    max_tokens: str = "max_tokens"
    """Chat: the name of the field that limits the output."""
    ends_without_done: bool = False
    """Chat: the server never sends `[DONE]`; the end of the body after a finish reason is accepted."""
    thoughts: Literal["", "reasoning_content", "reasoning", "reasoning_details"] = ""
    """Chat: the field in which the model expects its own reasoning back."""
    cache_key: bool = False
    """Chat: send the session id as `prompt_cache_key`, for faster cache lookups."""
    usage: bool = True
    """Chat: the server supports the option that asks for usage at the end of a stream."""
    caches_requests: bool = True
    """Messages: the server accepts one cache mark for the whole request and finds the last block to cache itself."""
    text_calls: bool = False
    """No native tool calls: tools are described in the prompt, and calls are parsed from the text of the reply."""
    constrained: bool = False
    """Replies can be constrained to a JSON schema; used for tool calls in text."""
    small: bool = False
    """A small model that fails with long prompts: it gets a short prompt and few tools."""


class Provider(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One provider; a user's settings lie over what is known of it."""

    wire: WireName | Literal[""] = ""
    base_url: str = ""
    key_env: str = ""
    """The environment variable that holds its key."""
    auth: Literal["", "bearer", "x-api-key", "none"] = ""
    headers: dict[str, str] = {}
    ca_bundle: str = ""
    """CA bundle to use instead of the system's or SSL_CERT_FILE's."""
    proxy: str = ""
    """The proxy for this provider; empty means the environment's."""
    connect_seconds: float = 15.0
    header: str = ""
    """Text at the beginning of every system prompt for this provider."""
    first_event_seconds: float | None = None
    idle_seconds: float | None = None
    request_seconds: float | None = None
    """Timeouts for this provider, instead of the general ones."""
    options: dict[str, Any] = {}
    quirks: dict[str, Any] = {}
    key: str = ""
    """A key imported from another program's file; `{env:NAME}` and `{file:PATH}` in it are substituted."""

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return shown_fields(self, ("key", "headers", "options"))

    def __repr__(self) -> str:
        return shown(self)
