"""`Agent`: define an agent with Python functions as tools, and run it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from bridle.config.limits import check_limits, check_tree
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import AgentDefinition as Definition
from bridle.core.events import Entry, Live
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import TreeLimits
from bridle.core.limits import UNLIMITED, Limits
from bridle.core.parts import OnAsk
from bridle.core.permission import Rule
from bridle.core.result import Result
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.model.model import Model
from bridle.runtime import Runtime, RuntimeConfig
from bridle.runtime.argument_checks import fitting, named_tools
from bridle.seams import Seams
from bridle.tools.tool import Tool, tool

DEFAULT_TREE = TreeLimits(steps=1_000)


class Agent:
    """An agent with a model and tools. Every run is limited and recorded, and ends with a result.

    `model` is PROVIDER/MODEL, or an object that implements `Model`.
    `subagents` are agents that this one may start with the tool `task`, each with its own model, tools and limits.
    `tree` limits all of them together. Their permissions never exceed this agent's. `settings` hold all other options.
    `journal` is a file for the sessions, so that they survive a crash; without it they live as long as the agent.
    Any number of runs may be active at once, also in different threads.
    Tools belong to one agent: a subagent may have different tools of the same names.
    `output` is the type of the answer (a dataclass, a struct, a pydantic model, `list[str]`, …) or a JSON schema;
    `result.output` then holds the answer.
    """

    def __init__(
        self,
        name: str = "agent",
        *,
        model: Model | str,
        prompt: str = "",
        tools: Iterable[Tool | Callable[..., Any]] = (),
        steps: int | None = None,
        limits: Limits = UNLIMITED,
        description: str = "",
        subagents: Iterable[Agent] = (),
        tree: TreeLimits = DEFAULT_TREE,
        permission: Iterable[Rule] = (),
        on_ask: OnAsk = "deny",
        directory: str | Path = ".",
        journal: Journal | str | Path | None = None,
        output: type[Any] | Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        seams: Seams | None = None,
    ) -> None:
        _check(name, steps, limits, tree)
        self._output = output if not isinstance(output, Mapping) else None
        self._on_ask = fitting(f"agent {name}: on_ask", on_ask, OnAsk)
        self._model = model
        self._below = _below(name, subagents)
        self._tools = _own_tools(name, tools, starts=bool(self._below))
        offers = frozenset([*self._tools, "task"] if self._below else self._tools)
        rules, schema = tuple(permission), _schema(output)
        definition = Definition(
            name, description, prompt, steps=steps, limits=limits, permission=rules, output=schema, offers=offers
        )
        self._definition = fitting(f"agent {name}", definition, Definition)
        everyone = [*self._below.values(), self]
        _check_rules(self._definition, [made for agent in everyone for made in agent._tools.values()])
        models, definitions = _with_models(everyone)
        self._definition = definitions[-1]
        self.config = RuntimeConfig(
            journal=journal if journal is not None else MemoryJournal(),
            settings=_settings(name, settings or Settings(), tree),
            models=models,
            private_tools={agent._name: list(agent._tools.values()) for agent in everyone},
            agents=definitions,
            directory=directory,
            subagents=list(self._below),
            seams=seams,
        )
        """The configuration of `runtime`. Replace a field of it to create a different runtime."""

    @property
    def _name(self) -> str:
        return self._definition.name

    def runtime(self) -> Runtime:
        """Return a new runtime with this agent; the caller closes it."""
        return Runtime(self.config)

    async def run(self, prompt: str, *, session: str | None = None) -> Result:
        """Run a prompt in a new session, or in an existing one of this agent's journal, and return its result."""
        async with self.runtime() as runtime:
            where = session or await runtime.create()
            id = await runtime.prompt(where, prompt, options=self._options())
            return self._typed(await runtime.wait(where, id))

    async def stream(self, prompt: str, *, session: str | None = None) -> AsyncIterator[Entry | Live | Result]:
        """Yield the events of a turn as they arrive, and finally its `Result`."""
        async with self.runtime() as runtime:
            where = session or await runtime.create()
            before = (await runtime.load(where)).sequence
            id = await runtime.prompt(where, prompt, options=self._options())
            async for event in runtime.stream(where, id, before):
                yield event
            yield self._typed(await runtime.wait(where, id))

    def run_sync(self, prompt: str, *, session: str | None = None) -> Result:
        """Call `run` from a program without an event loop."""
        return asyncio.run(self.run(prompt, session=session))

    def _typed(self, result: Result) -> Result:
        """Return the result with its output converted to the requested type."""
        if self._output is None or result.output is None:
            return result
        made = getattr(self._output, "model_validate", None)
        value = made(result.output) if made is not None else msgspec.convert(result.output, self._output, strict=False)
        return msgspec.structs.replace(result, output=value)

    def _options(self) -> TurnOptions:
        return TurnOptions(agent=self._definition.name, model=self._definition.model, on_ask=self._on_ask)


def _check(name: str, steps: int | None, limits: Limits, tree: TreeLimits) -> None:
    if steps is not None and limits.steps is not None and steps != limits.steps:
        raise ConfigError(f"agent {name}: steps is {steps} and limits.steps is {limits.steps}; give one of them")
    check_limits(f"agent {name}", limits if steps is None else msgspec.structs.replace(limits, steps=steps))
    check_tree(f"agent {name}", tree)


def _settings(name: str, settings: Settings, tree: TreeLimits) -> Settings:
    """Return the settings with this agent and the limits of its tree; raises `ConfigError`."""
    given = fitting(f"agent {name}: settings", settings, Settings)
    return msgspec.structs.replace(given, agent=name, tree=msgspec.convert(tree, TreeSettings, from_attributes=True))


def _own_tools(name: str, given: Iterable[Tool | Callable[..., Any]], *, starts: bool) -> dict[str, Tool]:
    """Return an agent's tools by name; the same tool may be given twice. Raises `ConfigError`."""
    made: dict[int, Tool] = {id(each): cast(Tool, each if hasattr(each, "spec") else tool(each)) for each in given}
    own = named_tools(f"agent {name}: tools", made.values())
    if starts and "task" in own:
        raise ConfigError(f"agent {name}: tools: 'task' is the tool that starts subagents: give yours another name")
    return own


def _below(name: str, subagents: Iterable[Agent]) -> dict[str, Agent]:
    """Return all agents of the tree below this one; raises `ConfigError` if two have the same name."""
    found: dict[str, Agent] = {}
    for subagent in subagents:
        for agent in (*subagent._below.values(), subagent):
            if agent._name == name or found.setdefault(agent._name, agent) is not agent:
                raise ConfigError(f"agent {name}: subagents: two agents are called {agent._name!r}")
    return found


def _check_rules(definition: Definition, tools: Sequence[Tool]) -> None:
    """Raise `ConfigError` for a rule that names a tool instead of a permission, and so has no effect."""
    permissions = {made.permission for made in tools}
    named = {made.spec.name: made.permission for made in tools}
    for rule in definition.permission:
        if rule.permission in named and rule.permission not in permissions:
            right = f"Rule({named[rule.permission]!r}, {rule.permission!r}, {rule.verdict!r})"
            problem = f"{rule.permission!r} is a tool, not a permission: write {right}"
            raise ConfigError(f"agent {definition.name}: permission: {problem}")


def _with_models(agents: Sequence[Agent]) -> tuple[dict[str, Model], list[Definition]]:
    """Return the models given as objects, by reference, and the definitions with the reference of their model."""
    models: dict[str, Model] = {}
    refs = {agent._name: agent._model for agent in agents if isinstance(agent._model, str)}
    for agent in agents:
        model = agent._model
        if isinstance(model, str):
            continue
        ref = getattr(getattr(model, "info", None), "ref", None) or f"model/{agent._name}"
        if ref in refs.values() and models.get(ref) is not model:
            ref = f"{ref}#{agent._name}"
        models[ref] = model
        refs[agent._name] = ref
    return models, [msgspec.structs.replace(agent._definition, model=refs[agent._name]) for agent in agents]


def _schema(output: type[Any] | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if output is None or isinstance(output, Mapping):
        return output
    made = getattr(output, "model_json_schema", None)
    schema: dict[str, Any] = made() if made is not None else msgspec.json.schema(output)
    # A reference at the top level is replaced by its definition.
    reference = schema.get("$ref", "")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = dict(schema.get("$defs", {}))
        top = definitions.pop(reference.removeprefix("#/$defs/"))
        return {**top, **({"$defs": schema["$defs"]} if definitions else {})}
    return schema
