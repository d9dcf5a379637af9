"""`Agent`: an agent of a Python program, with its model, tools, dependencies and the type of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, overload

import msgspec
from typing_extensions import TypeVar, Unpack

from bridle.core.agent import AgentDefinition as Definition
from bridle.core.inbox import TurnOptions
from bridle.core.ledger import TreeLimits
from bridle.core.limits import UNLIMITED, Limits
from bridle.core.messages import Message
from bridle.core.parts import OUTPUT, Delegation, OnAsk
from bridle.core.permission import Rule
from bridle.core.result import Result
from bridle.core.states import Report
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.library import definition as define
from bridle.library.agent_arguments import AgentArguments, AnyTool, Check, CheckInContext, Factory, Instructions
from bridle.library.context import MISSING, Missing
from bridle.library.program import AgentFunctions, AgentProgram
from bridle.library.run_arguments import RunArguments, request_of
from bridle.library.runs import AgentRun, RunRequest, report_of
from bridle.library.shared_runtime import SharedRuntimes
from bridle.library.stream import Stream
from bridle.model.model import Model
from bridle.runtime import Runtime, RuntimeConfig
from bridle.runtime.argument_checks import fitting
from bridle.seams import Seams, run_in_background

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from bridle.config.settings import Settings

Deps = TypeVar("Deps", contravariant=True, default=None)
Output = TypeVar("Output", covariant=True, default=str)
OtherOutput = TypeVar("OtherOutput")

DEFAULT_TREE = TreeLimits(steps=1_000)
KEPT_IN_MEMORY = 256
"""Sessions that an agent without a journal keeps; older ones are forgotten."""


class Agent(Generic[Deps, Output]):
    """An agent with a model and tools. Every run is limited and recorded, and ends with a result.

    `Agent[Deps, Output]`: the type of the dependencies that its tools take, and the type of its answers; `Agent` alone
    takes none and answers with text. One agent may run any number of turns at once, from any thread.

    `model` is PROVIDER/MODEL, or an object that implements `Model`.
    `instructions` tell the model its task: a text, or a function of the `Context` that returns one.
    `output` is the type of the answer: a dataclass, a struct, a TypedDict, a pydantic model, a union, `list[str]`, …;
    or a JSON schema. `check` receives each answer, optionally after the `Context`, and returns it, changed or not, or
    raises `Retry` to have the model try again.
    `deps` makes the dependencies of a turn from the metadata of its prompt, in any process that drives the turn: a
    function, an async function, or a context manager, which is closed when the turn parks. `deps_type` names their type
    for the type checker.
    `subagents` are agents that this one may start with the tool `task`, each with its own model, tools and limits.
    `tree` limits all of them together. Their permissions never exceed this agent's. `settings` hold all other options.
    `journal` is a file for the sessions, so that they survive a crash; without it the last 256 are kept in memory.
    """

    # One overload for each shape of `output` and `check`: type checkers then name the one argument that is wrong.
    @overload
    def __init__(self, name: str = "agent", **given: Unpack[AgentArguments[Deps]]) -> None: ...
    @overload
    def __init__(
        self, name: str = "agent", *, output: TypeForm[Output], **given: Unpack[AgentArguments[Deps]]
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str = "agent",
        *,
        output: TypeForm[Output],
        check: Check[Output],
        **given: Unpack[AgentArguments[Deps]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str = "agent",
        *,
        output: TypeForm[Output],
        check: CheckInContext[Deps, Output],
        **given: Unpack[AgentArguments[Deps]],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Deps, Any],
        name: str = "agent",
        *,
        output: Mapping[str, Any],
        **given: Unpack[AgentArguments[Deps]],
    ) -> None: ...
    def __init__(
        self,
        name: str = "agent",
        *,
        model: Model | str,
        instructions: Instructions[Deps] = "",
        tools: Iterable[AnyTool[Deps]] = (),
        output: Any = str,
        check: Callable[..., Any] | None = None,
        deps_type: type[Deps] | None = None,
        deps: Factory[Deps] | None = None,
        steps: int | None = None,
        limits: Limits = UNLIMITED,
        description: str = "",
        subagents: Iterable[Agent[Any, Any]] = (),
        tree: TreeLimits = DEFAULT_TREE,
        permission: Iterable[Rule] = (),
        on_ask: OnAsk = "deny",
        options: Mapping[str, Any] | None = None,
        directory: str | Path = ".",
        journal: Journal | str | Path | None = None,
        settings: Settings | None = None,
        seams: Seams | None = None,
        prompt: None = None,
    ) -> None:
        if prompt is not None:
            raise ConfigError(f"agent {name}: prompt is the user's text, given to run: use instructions=… instead")
        define.check_limits_of(name, steps, limits, tree)
        self._model, self._on_ask = model, fitting(f"agent {name}: on_ask", on_ask, OnAsk)
        self._below = define.agents_below(name, subagents)
        self._tools = define.own_tools(name, tools, starts=bool(self._below))
        answer, schema = define.output_type(name, output, check)
        self._functions = AgentFunctions(
            instructions=instructions if callable(instructions) else None,
            factory=deps,
            needs_deps=define.needs_deps(tools, deps_type),
            output=answer,
            schema=schema,
        )
        text, rules = instructions if not callable(instructions) else "", tuple(permission)
        self._definition = Definition(
            name, description, text, steps=steps, limits=limits, permission=rules, output=schema, options=options or {}
        )
        self.config = self._configured(journal, define.settings_of(name, settings, tree), Path(directory), seams)
        """The configuration of `runtime`. Replace a field of it to create a different runtime."""
        self._runtimes = SharedRuntimes()
        self._overridden: ContextVar[RuntimeConfig | None] = ContextVar(f"bridle agent {name}", default=None)

    def _configured(
        self, journal: Journal | str | Path | None, settings: Settings, directory: Path, seams: Seams | None
    ) -> RuntimeConfig:
        everyone = [*self._below.values(), self]
        offers = frozenset([*self._tools, "task"] if self._below else self._tools)
        self._definition = msgspec.structs.replace(self._definition, offers=offers)
        define.check_definition(self._definition, [made for agent in everyone for made in agent._tools.values()])
        models, definitions = define.with_models([(agent._definition, agent._model) for agent in everyone])
        self._definition = definitions[-1]
        self._program = AgentProgram(self.name, {agent.name: agent._functions for agent in everyone})
        return RuntimeConfig(
            journal=journal if journal is not None else MemoryJournal(keeps=KEPT_IN_MEMORY),
            settings=settings,
            models=models,
            private_tools={agent.name: list(agent._tools.values()) for agent in everyone},
            agents=definitions,
            directory=directory,
            subagents=list(self._below),
            program=self._program,
            seams=seams,
        )

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def definition(self) -> Definition:
        """The agent as data: limits, permissions and the reference of its model."""
        return self._definition

    @property
    def turn_options(self) -> TurnOptions:
        """The options with which a prompt to `runtime` opens a turn of this agent."""
        return TurnOptions(agent=self.name, model=self._config.agents[-1].model, on_ask=self._on_ask)

    def runtime(self) -> Runtime:
        """Return a new runtime with this agent; the caller closes it."""
        return Runtime(self._config)

    @property
    def _config(self) -> RuntimeConfig:
        return self._overridden.get() or self.config

    async def __aenter__(self) -> Agent[Deps, Output]:
        self._runtimes.hold(self._config)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runtimes.drop()

    @contextmanager
    def override(self, *, model: Model | str) -> Iterator[None]:
        """Use another model for this agent and its subagents inside the `with` block, for example in tests."""
        agents = [define.plain(agent) for agent in self.config.agents]
        models, definitions = define.with_models([(agent, model) for agent in agents])
        token = self._overridden.set(replace(self.config, models=models, agents=definitions))
        try:
            yield
        finally:
            self._overridden.reset(token)

    @overload
    async def run(
        self, prompt: str, *, output: TypeForm[OtherOutput], **given: Unpack[RunArguments[Deps]]
    ) -> Result[OtherOutput]: ...
    @overload
    async def run(self, prompt: str, **given: Unpack[RunArguments[Deps]]) -> Result[Output]: ...
    async def run(self, prompt: str, *, output: Any = None, **given: Unpack[RunArguments[Deps]]) -> Result[Any]:
        """Run a prompt in a new session, or in an existing one of this agent's journal, and return its result.

        Cancelling it aborts the turn and records its ending. The same `id` again returns the first result.
        """
        return await self._start(prompt, output, given).result()

    def run_sync(self, prompt: str, **given: Unpack[RunArguments[Deps]]) -> Result[Output]:
        """Call `run` from a program without an event loop, or from any thread; runs in one background event loop."""
        result: Result[Output] = run_in_background(self._start_inside(prompt, given))
        return result

    async def _start_inside(self, prompt: str, given: RunArguments[Any]) -> Result[Any]:
        return await self._start(prompt, None, given).result()

    def stream(self, prompt: str, **given: Unpack[RunArguments[Deps]]) -> Stream[Output]:
        """Run a prompt and iterate over its public events as they happen; see `Stream`."""
        results: list[Result[Output]] = []
        return Stream(self._start(prompt, None, given).events(results), results, OUTPUT)

    async def resume(self, session: str, *, deps: Deps | Missing = MISSING) -> Result[Output]:
        """Continue the interrupted, paused or held-back turn of a session, and return its result."""
        given: RunArguments[Any] = {"session": session} if deps is MISSING else {"session": session, "deps": deps}
        return await self._start("", None, given).resumed()

    async def history(self, session: str) -> Sequence[Message]:
        """Return the conversation of a session of this agent's journal, as the model reads it."""
        runtime = self._runtimes.acquire(self._config)
        try:
            return (await runtime.load(session)).messages
        finally:
            await self._runtimes.release(runtime)

    async def run_below(
        self, prompt: str, *, session: str, delegation: Delegation, journal: Journal, deps: Any
    ) -> tuple[Result[Output], Report]:
        """Run a prompt for a tool of another agent, which pays for it. Called by `Context.run`."""
        request = request_of(self.turn_options, prompt, None, {"session": session, "deps": deps})
        run = self._run(replace(request, delegation=delegation), replace(self._config, journal=journal))
        result: Result[Output] = await run.result()
        return result, report_of(result)

    def _start(self, prompt: str, output: Any, given: RunArguments[Any]) -> AgentRun:
        request = request_of(self.turn_options, prompt, output, given)
        if self._functions.needs_deps and self._functions.factory is None and "deps" not in given:
            raise ConfigError(f"agent {self.name}: run: deps are missing: its tools take them")
        return self._run(request, self._config)

    def _run(self, request: RunRequest, config: RuntimeConfig) -> AgentRun:
        return AgentRun(request, self._program, self.name, self._runtimes, config)
