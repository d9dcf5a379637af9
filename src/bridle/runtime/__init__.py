"""The entry point for every surface: the runtime, and functions that work without one."""

from bridle.assembly.models import Models as Models
from bridle.runtime.config import RuntimeConfig as RuntimeConfig
from bridle.runtime.offline import add_mcp_server as add_mcp_server
from bridle.runtime.offline import config_faults as config_faults
from bridle.runtime.offline import config_schema as config_schema
from bridle.runtime.offline import config_values as config_values
from bridle.runtime.offline import open_models as open_models
from bridle.runtime.offline import open_project as open_project
from bridle.runtime.offline import write_agent as write_agent
from bridle.runtime.offline import write_starter as write_starter
from bridle.runtime.project import AgentRow as AgentRow
from bridle.runtime.runtime import Runtime as Runtime
from bridle.seams import leave as leave
