"""Validates the arguments of `Agent(…)` and makes its definition: limits, tools, models, MCP, handoffs, output type."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from re import fullmatch
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import msgspec

from bridle.assembly.user_setup import UserSetup
from bridle.config.limits import check_limits, check_tree
from bridle.config.settings import McpServer, Settings, TreeSettings
from bridle.core.agent import AgentDefinition
from bridle.core.ledger import TreeLimits
from bridle.core.limits import Limits
from bridle.core.permission import matches
from bridle.errors import ConfigError
from bridle.library.agent_arguments import AgentArguments, Models
from bridle.library.context import MISSING
from bridle.library.program import AgentFunctions, OutputType
from bridle.library.tool import FunctionTool
from bridle.model.model import Model
from bridle.runtime.argument_checks import fitting, named_tools, plain_name
from bridle.tools.function_tools import function_tool
from bridle.tools.tool import Tool
from bridle.values.argument_kinds import Kinds, fits, hints_of, in_words, shown, takes
from bridle.values.type_adapter import adapter_for

if TYPE_CHECKING:
    from bridle.library.agent import Agent


def kinds_of_arguments() -> Kinds:
    """Return the annotations of the arguments of `Agent`."""
    # Imported here because it imports this module.
    from bridle.library.agent import Agent

    kinds = hints_of(AgentArguments, McpServer=McpServer, Settings=Settings, Agent=Agent)
    return {**kinds, "name": str, "check": Callable[..., Any] | None}


def check_functions(name: str, instructions: object, deps: object, check: object) -> None:
    """Raise `ConfigError` for a function of an agent that cannot be called with what it gets."""
    for argument, function, given in (
        ("instructions", instructions, "the context"),
        ("deps", deps, "the metadata"),
        ("check", check, "the answer, optionally after the context"),
    ):
        most = 2 if argument == "check" else 1
        if callable(function) and not any(takes(function, count) for count in range(1, most + 1)):
            raise ConfigError(f"agent {name}: {argument} must be a function of {given}")


def check_names(name: str, account: str, app: str) -> None:
    """Raise `ConfigError` for a name that cannot be recorded."""
    if not name or not name.isprintable():
        raise ConfigError(f"agent: name must be a text on one line that is not empty, not {name!r}")
    plain_name(f"agent {name}: account", account)
    plain_name(f"agent {name}: app", app)


def check_arguments(name: str, prompt: object, steps: int | None, limits: Limits, tree: TreeLimits) -> None:
    """Raise `ConfigError` for limits that cannot hold, and for `prompt`, which is an argument of runs."""
    if prompt is not None:
        raise ConfigError(f"agent {name}: prompt is the user's text, given to run: use instructions=… instead")
    if steps is not None and limits.steps is not None and steps != limits.steps:
        raise ConfigError(f"agent {name}: steps is {steps} and limits.steps is {limits.steps}; give one of them")
    check_limits(f"agent {name}", limits if steps is None else msgspec.structs.replace(limits, steps=steps))
    check_tree(f"agent {name}", tree)


def settings_of(name: str, settings: Settings | None, tree: TreeLimits) -> Settings:
    """Return the settings with this agent and the limits of its tree; raises `ConfigError`."""
    given = fitting(f"agent {name}: settings", settings or Settings(), Settings)
    return msgspec.structs.replace(given, agent=name, tree=msgspec.convert(tree, TreeSettings, from_attributes=True))


def driven_here(settings: Settings) -> Settings:
    """Return the settings of a runtime that drives its turns itself."""
    return msgspec.structs.replace(settings, workers=msgspec.structs.replace(settings.workers, drive=False))


def own_tools(name: str, given: Iterable[Any], *, starts: bool) -> dict[str, Tool]:
    """Return an agent's tools by name; the same tool may be given twice. Raises `ConfigError`."""
    made = {id(each): each if hasattr(each, "spec") else function_tool(each) for each in given}
    own = named_tools(f"agent {name}: tools", made.values())
    if starts and "task" in own:
        raise ConfigError(f"agent {name}: tools: 'task' is the tool that starts subagents: give yours another name")
    return own


def servers_of(
    name: str, given: Mapping[str, McpServer] | None, settings: Settings
) -> tuple[dict[str, McpServer], Settings]:
    """Return an agent's MCP servers, its settings' included, and the settings without them; raises `ConfigError`."""
    shared = {each: server for each, server in settings.mcp.items() if isinstance(server, McpServer)}
    servers = {**shared, **(given or {})}
    for each, server in servers.items():
        named = f"agent {name}: mcp: {each}"
        if given is not None and each in given and each in shared:
            raise ConfigError(f"{named}: settings.mcp has a server of this name: rename one of them")
        if not fullmatch(r"[A-Za-z0-9_-]{1,40}", each):
            raise ConfigError(f"{named}: the name must have up to 40 letters, digits, '_' or '-'")
        fitting(named, server, McpServer)
        if bool(server.command) == bool(server.url):
            raise ConfigError(f"{named}: give it a command or a url, and not both")
        if not server.seconds > 0:
            raise ConfigError(f"{named}: seconds must be more than 0, not {server.seconds:g}")
    mcp = {each: value for each, value in settings.mcp.items() if each not in shared}
    return servers, msgspec.structs.replace(settings, mcp=mcp)


def with_pins(user: UserSetup) -> UserSetup:
    """Return a setup in which the first offer of an MCP server counts for all runtimes of an agent."""
    # Imported only if there are servers.
    from bridle.mcp.accepted_tools import AcceptedTools

    return replace(user, pins=AcceptedTools())


def offered_by(servers: Mapping[str, McpServer]) -> list[str]:
    """Return patterns for the names of all tools of some MCP servers."""
    return [f"{name}_*" for name in servers] + (["resource"] if servers else [])


def agents_around(root: Agent[Any, Any]) -> dict[str, Agent[Any, Any]]:
    """Return all agents that turns of this one may start or be handed over to, directly or not.

    Raises `ConfigError` if two have the same name.
    """
    found: dict[str, Agent[Any, Any]] = {}
    waiting = [root]
    for agent in waiting:
        for argument, others in (("subagents", agent._subagents), ("handoffs", agent._handoffs)):
            for other in others:
                known = root if other.name == root.name else found.get(other.name)
                if known not in (None, other):
                    raise ConfigError(f"agent {root.name}: {argument}: two agents are called {other.name!r}")
                if known is None:
                    found[other.name] = other
                    waiting.append(other)
    return found


def _tool_for(target: str) -> str:
    """Return the name of the tool that hands over to an agent."""
    # Imported here because most programs have no such agent.
    from bridle.tools.handoff import handoff_name

    return handoff_name(target)


def check_handoffs(agent: Agent[Any, Any], targets: Sequence[Agent[Any, Any]]) -> None:
    """Raise `ConfigError` for agents that cannot continue a turn of this one."""
    names: dict[str, Agent[Any, Any]] = {}
    for target in targets:
        problem, tool = "", _tool_for(target.name)
        if target is agent:
            problem = "an agent cannot hand over to itself"
        elif tool in agent._tools:
            problem = f"{tool!r} is the tool that hands over to {target.name}: give yours another name"
        elif names.setdefault(tool, target) is not target:
            problem = f"two agents would have the tool {tool!r}: give one of them another name"
        elif target._functions.schema != agent._functions.schema:
            problem = f"{target.name} has another output: an agent that continues a turn answers with the same type"
        elif 0 in (target._definition.steps, target._definition.limits.steps):
            problem = f"{target.name} has 0 steps and could not continue a turn"
        if problem:
            raise ConfigError(f"agent {agent.name}: handoffs: {problem}")


def wired(agent: Agent[Any, Any]) -> AgentDefinition:
    """Return the definition of an agent with its tools, subagents and handoffs."""
    handoffs = tuple(dict.fromkeys(target.name for target in agent._handoffs))
    tools = [*agent._tools, *map(_tool_for, handoffs), *offered_by(agent._servers)]
    tools += ["task"] if agent._subagents else []
    below = frozenset(other.name for other in agent._subagents)
    return msgspec.structs.replace(agent._definition, offers=frozenset(tools), subagents=below, handoffs=handoffs)


def check_switches(agent: Agent[Any, Any], tools: Iterable[str]) -> None:
    """Raise `ConfigError` for the name of a tool that no agent of the tree has; a pattern may match none."""
    made = [agent, *agents_around(agent).values()]
    for name in tools:
        _check_offered("run: tools", name, {each for one in made for each in one._definition.offers or ()})


def check_hooked_tools(agent: Agent[Any, Any]) -> None:
    """Raise `ConfigError` for hooks of a tool that the agent does not have: they would guard nothing."""
    for place, hooks in enumerate(agent._functions.hooks):
        _check_offered(f"agent {agent.name}: hooks[{place}]: tool", hooks.tool, agent._definition.offers or ())


def _check_offered(where: str, name: str, offers: Iterable[str]) -> None:
    known = sorted(offers)
    if not any(mark in name for mark in "*?") and not any(matches(each, name) for each in known):
        raise ConfigError(f"{where}: there is no tool {name!r} (known: {', '.join(known) or 'none'})")


def functions_of(agent: Agent[Any, Any]) -> AgentFunctions:
    """Return the functions of an agent; it needs dependencies if any agent that may continue its turns does."""
    heirs = [agent]
    for each in heirs:
        heirs += [heir for heir in each._handoffs if heir not in heirs]
    return replace(agent._functions, takes_deps=tuple(kind for heir in heirs for kind in heir._functions.takes_deps))


def output_type(
    name: str, output: Any, check: Callable[..., Any] | None
) -> tuple[OutputType | None, Mapping[str, Any] | None]:
    """Return the type of an agent's answers and its JSON schema; none for plain text. Raises `ConfigError`."""
    if isinstance(output, Mapping):
        if check is not None:
            raise ConfigError(f"agent {name}: check needs an output that is a type, not a JSON schema")
        return None, fitting(f"agent {name}: output", output, dict[str, Any])
    if output is None or output is str:
        if check is not None:
            raise ConfigError(f"agent {name}: check needs an output: say output=…")
        return None, None
    adapter = adapter_for(output, f"agent {name}: output")
    return OutputType(adapter=adapter, check=check), adapter.schema


def deps_taken(functions: Iterable[Any], deps_type: Any) -> tuple[Any, ...]:
    """Return the types of the dependencies that an agent's tools and functions take; empty if they take none."""
    taken = [deps_type] if deps_type is not None else map(_taken, functions)
    return tuple(kind for kind in taken if kind not in (None, type(None), Any, object))


def _taken(given: Any) -> Any:
    """Return the type of the dependencies that a tool or function takes; None if it takes none."""
    function = given.function if isinstance(given, FunctionTool) else given
    try:
        hints = list(get_type_hints(function).values())
    except (TypeError, NameError, AttributeError):
        return None
    first = get_args(hints[0]) if hints and getattr(hints[0], "is_call_context", False) else ()
    return first[0] if first else None


def check_deps(agent: Agent[Any, Any], given: object) -> None:
    """Raise `ConfigError` if a run gets no dependencies, or others than its agents take."""
    root = agent._functions
    for other in _sharing_deps(agent):
        for kind in other._functions.takes_deps:
            takes = f"{'it' if other is agent else f'agent {other.name}'} takes {in_words(kind)}"
            if given is MISSING and root.factory is None:
                raise ConfigError(f"agent {agent.name}: run: deps are missing: {takes}")
            if given is not MISSING and not fits(kind, given):
                raise ConfigError(f"agent {agent.name}: run: deps: {takes}, not {shown(given)}")


def _sharing_deps(root: Agent[Any, Any]) -> list[Agent[Any, Any]]:
    """Return the agents whose turns have the dependencies of a run: this one, and those below without a factory.

    An agent that continues a turn after a handoff has the dependencies of that turn.
    """
    found, waiting = [root], [(root, True)]
    for agent, shares in waiting:
        below = [(each, each._functions.factory is None) for each in agent._subagents]
        for other, takes_over in [*below, *((heir, shares) for heir in agent._handoffs)]:
            if (other, takes_over) not in waiting:
                waiting.append((other, takes_over))
                found += [other] if takes_over and other not in found else []
    return found


def check_definition(definition: AgentDefinition, tools: Collection[Tool]) -> None:
    """Raise `ConfigError` for an invalid value, or for a rule that names a tool instead of a permission."""
    fitting(f"agent {definition.name}", definition, AgentDefinition)
    permissions = {made.permission for made in tools}
    named = {made.spec.name: made.permission for made in tools}
    for rule in definition.permission:
        if rule.permission in named and rule.permission not in permissions:
            pattern = rule.permission if named[rule.permission] == "python" else rule.pattern
            right = f"Rule({named[rule.permission]!r}, {pattern!r}, {rule.verdict!r})"
            problem = f"{rule.permission!r} is a tool, not a permission: write {right}"
            raise ConfigError(f"agent {definition.name}: permission: {problem}")


def plain(definition: AgentDefinition) -> AgentDefinition:
    """Return a definition without its models."""
    return msgspec.structs.replace(definition, model=None, fallback=())


def with_models(agents: Sequence[tuple[AgentDefinition, Models]]) -> tuple[dict[str, Model], list[AgentDefinition]]:
    """Return the models given as objects, by reference, and the definitions with the references of their models.

    Raises `ConfigError` for a list that is empty or has a model twice.
    """
    lists = {agent.name: _listed(f"agent {agent.name}: model", given) for agent, given in agents}
    taken = {model for listed in lists.values() for model in listed if isinstance(model, str)}
    models: dict[str, Model] = {}
    definitions: list[AgentDefinition] = []
    for agent, _ in agents:
        refs = [
            model if isinstance(model, str) else _named(model, f"{agent.name}{place or ''}", taken, models)
            for place, model in enumerate(lists[agent.name])
        ]
        definitions.append(msgspec.structs.replace(agent, model=refs[0], fallback=tuple(refs[1:])))
    return models, definitions


def references(given: str | Sequence[str] | None) -> list[str]:
    """Return the references of the models of a run; none means the agent's. Raises `ConfigError`."""
    listed = _listed("run: model", given) if given is not None else []
    refs = [model for model in listed if isinstance(model, str)]
    if len(refs) < len(listed):
        raise ConfigError("run: model takes PROVIDER/MODEL: give an object to the agent, or use override(model=…)")
    return refs


def _listed(where: str, given: Models) -> list[Model | str]:
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not listed:
        raise ConfigError(f"{where}: the list of models is empty")
    for place, model in enumerate(listed):
        if isinstance(model, type):
            raise ConfigError(f"{where}: {model.__name__} is a class: give an object, {model.__name__}(…)")
        if model == "" or (not isinstance(model, str) and not callable(getattr(model, "stream", None))):
            raise ConfigError(
                f"{where}: {model!r} is no model: give PROVIDER/MODEL, or an object that implements Model"
            )
        if any(model is other or (isinstance(model, str) and model == other) for other in listed[:place]):
            raise ConfigError(f"{where}: {model if isinstance(model, str) else type(model).__name__} is listed twice")
    return listed


def _named(model: Model, own: str, taken: set[str], models: dict[str, Model]) -> str:
    """Register a model under its reference, or under one of its own if another model has that."""
    ref = getattr(getattr(model, "info", None), "ref", None) or f"model/{own}"
    if models.get(ref) is not model:
        ref = f"{ref}#{own}" if ref in taken else ref
        taken.add(ref)
        models[ref] = model
    return ref
