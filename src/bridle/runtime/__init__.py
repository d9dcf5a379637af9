"""The entry point for every surface: the runtime, and functions that work without one."""

from bridle.assembly.models import Models as Models
from bridle.runtime.config import RuntimeConfig as RuntimeConfig
from bridle.runtime.offline import (
    add_mcp_server as add_mcp_server,
    config_faults as config_faults,
    config_schema as config_schema,
    config_values as config_values,
    open_models as open_models,
    open_project as open_project,
    write_agent as write_agent,
    write_starter as write_starter,
)
from bridle.runtime.project import AgentRow as AgentRow
from bridle.runtime.runtime import Runtime as Runtime
from bridle.seams import leave as leave
