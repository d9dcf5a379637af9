"""The library: define an agent with Python functions as tools, and run it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.limits import check_limits, check_tree
from bridle.config.settings import Settings, TreeSettings
from bridle.core.agent import Agent as Definition
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
from bridle.runtime import Runtime
from bridle.seams import Seams
from bridle.tools.tool import Tool, tool

DEFAULT_TREE = TreeLimits(steps=1_000)


class Agent:
    """An agent with a model and tools; every run is counted, recorded and ends well.

    `model` is PROVIDER/MODEL, or anything that meets the contract of `Model`.
    `subagents` are agents that this one may start with the tool `task`, each with its own model, tools and limits;
    `tree` bounds all of them together. Their rights are never above this one's. `settings` are for everything else.
    `journal` is a file in which sessions are kept, so that they survive a crash; without one they live as long as the
    agent.
    `output` is what the answer must be, as a type (a dataclass, a struct, a pydantic model, `list[str]`, …) or a JSON
    schema: then `result.output` holds it.
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
        models, others, definitions = _gathered(subagents)
        ref = model if isinstance(model, str) else _named(model, models, name)
        own = {made.spec.name: made for made in (given if hasattr(given, "spec") else tool(given) for given in tools)}
        self._on_ask = on_ask
        self._definition: Definition = Definition(
            name,
            description,
            prompt,
            ref,
            steps,
            limits,
            permission=tuple(permission),
            output=_schema(output),
            offers=frozenset([*own, "task"] if definitions else own),
        )
        bounds = {field: value for field, value in msgspec.structs.asdict(tree).items() if field != "seconds"}
        self._arguments: dict[str, Any] = {
            "journal": journal if journal is not None else MemoryJournal(),
            "settings": msgspec.structs.replace(settings or Settings(), agent=name, tree=TreeSettings(**bounds)),
            "models": models,
            "tools": [*{**others, **own}.values()],
            "agents": [self._definition, *definitions.values()],
            "directory": directory,
            "subagents": list(definitions),
            "seams": seams,
        }

    def runtime(self) -> Runtime:
        """A runtime that knows this agent; the caller closes it."""
        return Runtime(**self._arguments)

    async def run(self, prompt: str, *, session: str | None = None) -> Result:
        """Answer a prompt in a new session, or in one of this agent's journal."""
        async with self.runtime() as runtime:
            where = session or await runtime.create()
            id = await runtime.prompt(where, prompt, options=self._options())
            return self._typed(await runtime.wait(where, id))

    async def stream(self, prompt: str, *, session: str | None = None) -> AsyncIterator[Entry | Live | Result]:
        """The events of a turn as they come, and last of all its `Result`."""
        async with self.runtime() as runtime:
            where = session or await runtime.create()
            before = (await runtime.load(where)).sequence
            id = await runtime.prompt(where, prompt, options=self._options())
            async for event in runtime.stream(where, id, before):
                yield event
            yield self._typed(await runtime.wait(where, id))

    def run_sync(self, prompt: str, *, session: str | None = None) -> Result:
        """`run` for programs without an event loop."""
        return asyncio.run(self.run(prompt, session=session))

    def _typed(self, result: Result) -> Result:
        """The result with its output as the type that was asked for."""
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


def _named(model: Model, models: dict[str, Model], name: str) -> str:
    """The reference by which a model is known from now on."""
    ref = getattr(getattr(model, "info", None), "ref", None) or f"model/{name}"
    ref = ref if models.get(ref, model) is model else f"{ref}#{name}"
    models[ref] = model
    return ref


def _schema(output: type[Any] | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if output is None or isinstance(output, Mapping):
        return output
    made = getattr(output, "model_json_schema", None)
    schema: dict[str, Any] = made() if made is not None else msgspec.json.schema(output)
    # What is defined apart is put where it is used, as far as that is one place at the top.
    reference = schema.get("$ref", "")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        definitions = dict(schema.get("$defs", {}))
        top = definitions.pop(reference.removeprefix("#/$defs/"))
        return {**top, **({"$defs": schema["$defs"]} if definitions else {})}
    return schema


def _gathered(
    agents: Iterable[Agent],
) -> tuple[dict[str, Model], dict[str, Tool], dict[str, Definition]]:
    """The models, tools and definitions of subagents and of theirs."""
    models: dict[str, Model] = {}
    tools: dict[str, Tool] = {}
    definitions: dict[str, Definition] = {}
    for agent in agents:
        models.update(agent._arguments["models"])
        tools.update({made.spec.name: made for made in agent._arguments["tools"]})
        definitions.update({definition.name: definition for definition in agent._arguments["agents"]})
    return models, tools, definitions
