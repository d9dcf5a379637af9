"""Where a model is asked, how, and in what its server differs from the others; unset fields mean the usual."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

WireName = Literal["chat", "responses", "messages"]


class Quirks(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, kw_only=True):
    """In what a server or a model differs from what most of them do."""

    max_tokens: str = "max_tokens"
    """Chat: the name of the limit on the output."""
    ends_without_done: bool = False
    """Chat: no terminator is ever sent; the end of the body after a finish word will do."""
    thoughts: Literal["", "reasoning_content", "reasoning", "reasoning_details"] = ""
    """Chat: the field in which it wants its own thoughts back."""
    cache_key: bool = False
    """Chat: the cache is found faster by the session's name."""
    usage: bool = True
    """Chat: it knows the option that asks for usage at the end of a stream."""
    caches_requests: bool = True
    """Messages: one mark for the whole request, and the last block to cache is found there."""
    text_calls: bool = False
    """It has no calls of its own: tools are told in words, and calls are read from what it writes."""
    constrained: bool = False
    """Its replies can be held to a JSON schema, which is done to calls in words."""
    small: bool = False
    """It is lost in long prompts: a short one, and few tools."""


class Provider(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One provider; a user's settings lie over what is known of it."""

    wire: WireName | Literal[""] = ""
    base_url: str = ""
    key_env: str = ""
    """The variable of the environment that holds its key."""
    auth: Literal["", "bearer", "x-api-key", "none"] = ""
    headers: dict[str, str] = {}
    ca_bundle: str = ""
    """A file with certificates to trust besides none other; without it, the system's or SSL_CERT_FILE's."""
    proxy: str = ""
    """The proxy for this provider; without it, the environment's."""
    connect_seconds: float = 15.0
    header: str = ""
    """Words at the beginning of every system prompt for it."""
    first_event_seconds: float | None = None
    idle_seconds: float | None = None
    request_seconds: float | None = None
    """Deadlines for this provider, in place of those for all."""
    options: dict[str, Any] = {}
    quirks: dict[str, Any] = {}
    key: str = ""
    """A key that was found in a file of another program; `{env:NAME}` and `{file:PATH}` in it are filled in."""
