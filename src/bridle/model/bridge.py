"""Every other provider, through the model layer of pydantic-ai."""

from __future__ import annotations

from bridle.core.agent import ModelInfo
from bridle.errors import ConfigError
from bridle.model.model import Model


def bridged(ref: str) -> tuple[Model, ModelInfo]:
    """A model of a provider that none of our wires speaks to; raises `ConfigError`."""
    raise ConfigError(f"there is no provider for {ref}")
