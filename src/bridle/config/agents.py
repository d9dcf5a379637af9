"""Builds the agents (built-in ones, overridden and extended by settings), and the permission rules of a turn."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from bridle.config.merge import as_rules, table_in
from bridle.config.settings import AgentSettings, AnyPermissions, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.limits import limits_in
from bridle.core.permission import DEFAULT_RULES, SANDBOXED_RULES, Rule
from bridle.errors import ConfigError
from bridle.values.options import layered
from bridle.workspace.bounded_read import read_text

_PROMPTS = Path(__file__).with_name("prompts")
OVERRIDDEN = ("description", "model", "mode", "variant", "hidden", "color")
"""Fields whose value in the settings simply replaces that of the agent below."""


@cache
def prompt_file(name: str) -> str:
    """Return a prompt that ships with Bridle."""
    return (_PROMPTS / name).read_text(encoding="utf-8")


@cache
def builtin_agents() -> Mapping[str, AgentDefinition]:
    """Return the agents that need no configuration; a prompt of None selects the prompt for the model family."""
    given = msgspec.toml.decode((_PROMPTS / "agents.toml").read_bytes())
    prompts = {name: None if name == "build" else prompt_file(f"{name}.md") for name in given}
    tables = {name: {**fields, "name": name, "prompt": prompts[name]} for name, fields in given.items()}
    return msgspec.convert(tables, dict[str, AgentDefinition])


def all_agents(settings: Settings, origins: Mapping[str, str]) -> dict[str, AgentDefinition]:
    """Return the built-in agents merged with those of the settings; raises `ConfigError`."""
    agents = dict(builtin_agents())
    for name, given in settings.agents.items():
        if given.disable:
            agents.pop(name, None)
            continue
        _, source = set_key(origins, f"agents.{name}", "settings")
        agents[name] = _agent(name, given, agents.get(name), source)
    return agents


def set_key(origins: Mapping[str, str], key: str, default: str) -> tuple[str, str]:
    """Return the first key that a layer has set at or below this one, and the origin of its value."""
    there = (item for item in origins.items() if item[0] == key or item[0].startswith(f"{key}."))
    return next(there, (key, default))


def _agent(name: str, given: AgentSettings, below: AgentDefinition | None, source: str) -> AgentDefinition:
    below = below or AgentDefinition(name, prompt=None)
    only = given.tools if isinstance(given.tools, list) else given.offers
    spelled = {given.steps, given.max_steps, given.maxSteps, given.maxTurns} - {None}
    if len(spelled) > 1:
        raise ConfigError(f"{source}: agents.{name} has two spellings of steps with different values: {spelled}")
    sampling = {key: value for key in ("temperature", "top_p") if (value := getattr(given, key)) is not None}
    if given.fallback and not (given.model or below.model):
        raise ConfigError(f"{source}: agents.{name}.fallback needs a model that may fail: set agents.{name}.model too")
    return msgspec.structs.replace(
        below,
        **{key: getattr(given, key) or getattr(below, key) for key in OVERRIDDEN},
        prompt=_prompt(name, given) or below.prompt,
        steps=next(iter(spelled), below.steps),
        limits=limits_in(given.limits).over(below.limits),
        tools={**below.tools, **table_in(given.tools)},
        permission=(*below.permission, *rules_of(given.permission)),
        options=layered(below.options, sampling, given.options),
        source=source,
        fallback=tuple(given.fallback) if given.fallback or given.model else below.fallback,
        output=given.output if given.output is not None else below.output,
        bound=only is not None or below.bound,
        offers=frozenset(only) if only is not None else below.offers,
    )


def _prompt(name: str, given: AgentSettings) -> str:
    if not given.prompt_file:
        return given.prompt
    try:
        return read_text(Path(given.prompt_file).expanduser()).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the prompt of agent {name}, {given.prompt_file}, cannot be read: {error}") from error


def rules(permission: AnyPermissions, agent: AgentDefinition, *, sandboxed: bool) -> tuple[Rule, ...]:
    """Return all permission rules, where the last match wins: defaults, settings, agent."""
    shut_in = SANDBOXED_RULES if sandboxed else ()
    return (*DEFAULT_RULES, *shut_in, *rules_of(permission), *agent.permission)


def rules_of(permission: AnyPermissions) -> tuple[Rule, ...]:
    """Return the rules of a settings table, in its order."""
    return tuple(Rule(**rule) for rule in as_rules(msgspec.to_builtins(permission)))
