"""The entry point for every surface: the runtime, and functions that work without one."""

from bridle.assembly.models import Models
from bridle.runtime.config import RuntimeConfig
from bridle.runtime.offline import (
    add_mcp_server,
    config_faults,
    config_schema,
    config_values,
    open_models,
    open_project,
    write_agent,
    write_starter,
)
from bridle.runtime.project import AgentRow
from bridle.runtime.runtime import Runtime
from bridle.seams import leave

__all__ = [
    "AgentRow",
    "Models",
    "Runtime",
    "RuntimeConfig",
    "add_mcp_server",
    "config_faults",
    "config_schema",
    "config_values",
    "leave",
    "open_models",
    "open_project",
    "write_agent",
    "write_starter",
]
