"""The entry point for every surface: the runtime, and functions that work without one."""

from bridle.assembly.models import Models as Models
from bridle.runtime.config import RuntimeConfig as RuntimeConfig
from bridle.runtime.project import AgentRow as AgentRow
from bridle.runtime.runtime import Runtime as Runtime
from bridle.seams import leave as leave
