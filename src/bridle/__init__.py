"""Bridle: an agent runtime whose turns are limited, recorded, and always end with a result."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bridle.errors import unsupported

if TYPE_CHECKING:
    from bridle.config.settings import Settings as Settings
    from bridle.core.agent import Price as Price
    from bridle.core.ledger import TreeLimits as TreeLimits
    from bridle.core.limits import Limits as Limits
    from bridle.core.permission import Rule as Rule
    from bridle.core.result import Result as Result
    from bridle.core.usage import ModelUse as ModelUse
    from bridle.errors import (
        BridleError as BridleError,
        ConfigError as ConfigError,
        NoOutput as NoOutput,
        Retry as Retry,
        ToolFailed as ToolFailed,
        TurnLeft as TurnLeft,
    )
    from bridle.library.agent import Agent as Agent
    from bridle.library.context import Context as Context
    from bridle.library.message_shapes import to_anthropic as to_anthropic, to_openai as to_openai
    from bridle.library.stream import Stream as Stream
    from bridle.library.tool import tool as tool
    from bridle.runtime import Runtime as Runtime, RuntimeConfig as RuntimeConfig
    from bridle.testing.scripted import (
        Reply as Reply,
        ScriptedCall as ScriptedCall,
        ScriptedModel as ScriptedModel,
        call as call,
    )
    from bridle.tools.attachments import Media as Media
    from bridle.tools.tool import Output as Output

    __version__: str

_PLACES = {
    "Agent": "bridle.library.agent",
    "BridleError": "bridle.errors",
    "ConfigError": "bridle.errors",
    "Context": "bridle.library.context",
    "Limits": "bridle.core.limits",
    "Media": "bridle.tools.attachments",
    "ModelUse": "bridle.core.usage",
    "NoOutput": "bridle.errors",
    "Output": "bridle.tools.tool",
    "Price": "bridle.core.agent",
    "Reply": "bridle.testing.scripted",
    "Result": "bridle.core.result",
    "Retry": "bridle.errors",
    "Rule": "bridle.core.permission",
    "Runtime": "bridle.runtime",
    "RuntimeConfig": "bridle.runtime",
    "ScriptedCall": "bridle.testing.scripted",
    "ScriptedModel": "bridle.testing.scripted",
    "Settings": "bridle.config.settings",
    "Stream": "bridle.library.stream",
    "ToolFailed": "bridle.errors",
    "TreeLimits": "bridle.core.ledger",
    "TurnLeft": "bridle.errors",
    "call": "bridle.testing.scripted",
    "to_anthropic": "bridle.library.message_shapes",
    "to_openai": "bridle.library.message_shapes",
    "tool": "bridle.library.tool",
}

__all__ = list(_PLACES)


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that importing Bridle is cheap."""
    if name == "__version__":
        return _version()
    if name not in _PLACES:
        raise AttributeError(f"module 'bridle' has no attribute {name!r}")
    if refusal := unsupported():
        raise ImportError(refusal)
    return getattr(import_module(_PLACES[name]), name)


def _version() -> str:
    """Return the version of the installed package, whose only source is pyproject.toml."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("bridle")
    except PackageNotFoundError:
        # A source tree on the path that was never installed.
        return "unknown"
