"""Validation of an agent's arguments: limits, tools, rules, models and the type of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from bridle.config.limits import check_limits, check_tree
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.ledger import TreeLimits
from bridle.core.limits import Limits
from bridle.errors import ConfigError
from bridle.library.program import OutputType
from bridle.library.tool import FunctionTool
from bridle.model.model import Model
from bridle.runtime.argument_checks import fitting, named_tools
from bridle.tools.function_tools import function_tool
from bridle.tools.tool import Tool
from bridle.values.type_adapter import adapter_for

if TYPE_CHECKING:
    from bridle.library.agent import Agent


def check_limits_of(name: str, steps: int | None, limits: Limits, tree: TreeLimits) -> None:
    """Raise `ConfigError` for limits that cannot hold."""
    if steps is not None and limits.steps is not None and steps != limits.steps:
        raise ConfigError(f"agent {name}: steps is {steps} and limits.steps is {limits.steps}; give one of them")
    check_limits(f"agent {name}", limits if steps is None else msgspec.structs.replace(limits, steps=steps))
    check_tree(f"agent {name}", tree)


def settings_of(name: str, settings: Settings | None, tree: TreeLimits) -> Settings:
    """Return the settings with this agent and the limits of its tree; raises `ConfigError`."""
    given = fitting(f"agent {name}: settings", settings or Settings(), Settings)
    return msgspec.structs.replace(given, agent=name, tree=msgspec.convert(tree, TreeSettings, from_attributes=True))


def own_tools(name: str, given: Iterable[Any], *, starts: bool) -> dict[str, Tool]:
    """Return an agent's tools by name; the same tool may be given twice. Raises `ConfigError`."""
    made = {id(each): each if hasattr(each, "spec") else function_tool(each) for each in given}
    own = named_tools(f"agent {name}: tools", made.values())
    if starts and "task" in own:
        raise ConfigError(f"agent {name}: tools: 'task' is the tool that starts subagents: give yours another name")
    return own


def agents_below(name: str, subagents: Iterable[Agent[Any, Any]]) -> dict[str, Agent[Any, Any]]:
    """Return all agents of the tree below this one; raises `ConfigError` if two have the same name."""
    found: dict[str, Agent[Any, Any]] = {}
    for subagent in subagents:
        for agent in (*subagent._below.values(), subagent):
            if agent.name == name or found.setdefault(agent.name, agent) is not agent:
                raise ConfigError(f"agent {name}: subagents: two agents are called {agent.name!r}")
    return found


def output_type(
    name: str, output: Any, check: Callable[..., Any] | None
) -> tuple[OutputType | None, Mapping[str, Any] | None]:
    """Return the type of an agent's answers and its JSON schema; none for plain text. Raises `ConfigError`."""
    if isinstance(output, Mapping):
        if check is not None:
            raise ConfigError(f"agent {name}: check needs an output that is a type, not a JSON schema")
        return None, output
    if output is None or output is str:
        if check is not None:
            raise ConfigError(f"agent {name}: check needs an output: say output=…")
        return None, None
    adapter = adapter_for(output, f"agent {name}: output")
    return OutputType(adapter=adapter, check=check), adapter.schema


def needs_deps(tools: Iterable[Any], deps_type: Any) -> bool:
    """Return whether an agent's tools take dependencies."""
    if deps_type is not None:
        return deps_type is not type(None)
    return any(_taken(each) not in (None, type(None), Any, object) for each in tools)


def _taken(given: Any) -> Any:
    """Return the type of the dependencies that a tool takes; None if it takes none."""
    function = given.function if isinstance(given, FunctionTool) else given
    try:
        hints = list(get_type_hints(function).values())
    except (TypeError, NameError, AttributeError):
        return None
    first = get_args(hints[0]) if hints and getattr(hints[0], "is_call_context", False) else ()
    return first[0] if first else None


def check_definition(definition: AgentDefinition, tools: Sequence[Tool]) -> None:
    """Raise `ConfigError` for an invalid value, or for a rule that names a tool instead of a permission."""
    fitting(f"agent {definition.name}", definition, AgentDefinition)
    permissions = {made.permission for made in tools}
    named = {made.spec.name: made.permission for made in tools}
    for rule in definition.permission:
        if rule.permission in named and rule.permission not in permissions:
            right = f"Rule({named[rule.permission]!r}, {rule.permission!r}, {rule.verdict!r})"
            problem = f"{rule.permission!r} is a tool, not a permission: write {right}"
            raise ConfigError(f"agent {definition.name}: permission: {problem}")


def plain(definition: AgentDefinition) -> AgentDefinition:
    """Return a definition without its model."""
    return msgspec.structs.replace(definition, model=None)


def with_models(
    agents: Sequence[tuple[AgentDefinition, Model | str]],
) -> tuple[dict[str, Model], list[AgentDefinition]]:
    """Return the models given as objects, by reference, and the definitions with the reference of their model."""
    models: dict[str, Model] = {}
    refs = {agent.name: model for agent, model in agents if isinstance(model, str)}
    for agent, model in agents:
        if isinstance(model, str):
            continue
        ref = getattr(getattr(model, "info", None), "ref", None) or f"model/{agent.name}"
        if ref in refs.values() and models.get(ref) is not model:
            ref = f"{ref}#{agent.name}"
        models[ref] = model
        refs[agent.name] = ref
    return models, [msgspec.structs.replace(agent, model=refs[agent.name]) for agent, _ in agents]
