"""`Agent`: defines an agent in Python (model, tools, dependencies, type of answers); runs, streams and resumes it."""

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
from bridle.core.parts import Delegation, OnAsk
from bridle.core.permission import Rule
from bridle.core.result import Result
from bridle.core.states import Report
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.journal.memory import MemoryJournal
from bridle.library import definition as define
from bridle.library.agent_arguments import AgentArguments, AnyTool, Check, CheckInContext, Factory, Instructions, Models
from bridle.library.coding_tools import place_of, project_of, told_environment
from bridle.library.context import MISSING, Missing
from bridle.library.hooks import Hooks, checked_hooks, functions_of
from bridle.library.program import AgentFunctions, AgentProgram
from bridle.library.run_arguments import RunArguments, request_of
from bridle.library.runs import AgentRun, RunRequest, report_of
from bridle.library.shared_runtime import SharedRuntimes
from bridle.library.stream import Stream
from bridle.runtime import Runtime, RuntimeConfig
from bridle.seams import Seams, run_in_background
from bridle.tools.tool import Tool
from bridle.values.argument_kinds import checked

if TYPE_CHECKING:
    from typing_extensions import TypeForm

    from bridle.config.settings import McpServer, Settings

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

    `model` is PROVIDER/MODEL, or an object that implements `Model`; or a list of these: the next one is asked when one
    fails for good.
    `instructions` tell the model its task: a text, or a function of the `Context` that returns one.
    `output` is the type of the answer: a dataclass, a struct, a TypedDict, a pydantic model, a union, `list[str]`, …;
    or a JSON schema. `check` receives each answer, optionally after the `Context`, and returns it, changed or not, or
    raises `Retry` to have the model try again.
    `deps` makes the dependencies of a turn from the metadata of its prompt, in any process that drives the turn: a
    function, an async function, or a context manager, which is closed when the turn parks. `deps_type` names their type
    for the type checker.
    `mcp` are servers whose tools this agent has, by name. `directory` is where built-in tools work, see `coding_tools`.
    `describe_machine` says whether the system prompt names directory, platform and date; by default, it does so for
    agents with built-in tools for files or commands, and the others read the date only.
    `subagents` are agents that this one may start with the tool `task`, each with its own model, tools and limits.
    `handoffs` are agents that may continue a turn of this one in its place: the model gets a tool for each of them.
    `tree` limits all of them together. Their permissions never exceed this agent's. `settings` hold all other options.
    `hooks` are called around the calls and requests of this agent's turns, not of its subagents'.
    `account` pays for runs that name none. `app` is the name under which `bridle worker` offers this agent.
    `journal` is a file or a `postgresql://` address for the sessions, so that they survive a crash; without it the last
    256 are kept in memory.
    """

    _handoffs: tuple[Agent[Deps, Any], ...] = ()
    _configured: tuple[object, RuntimeConfig] | None = None

    # One overload for each shape of `output` and `check`: type checkers then name the one argument that is wrong.
    @overload
    def __init__(self, name: str = "agent", **given: Unpack[AgentArguments[Deps, str]]) -> None: ...
    @overload
    def __init__(
        self, name: str = "agent", *, output: TypeForm[Output], **given: Unpack[AgentArguments[Deps, Output]]
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str = "agent",
        *,
        output: TypeForm[Output],
        check: Check[Output],
        **given: Unpack[AgentArguments[Deps, Output]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str = "agent",
        *,
        output: TypeForm[Output],
        check: CheckInContext[Deps, Output],
        **given: Unpack[AgentArguments[Deps, Output]],
    ) -> None: ...
    @overload
    def __init__(
        self: Agent[Deps, Any],
        name: str = "agent",
        *,
        output: Mapping[str, Any],
        **given: Unpack[AgentArguments[Deps, Any]],
    ) -> None: ...
    @checked(define.kinds_of_arguments, where="agent {name}", but=("model",))
    def __init__(
        self,
        name: str = "agent",
        *,
        model: Models,
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
        handoffs: Iterable[Agent[Deps, Any]] = (),
        tree: TreeLimits = DEFAULT_TREE,
        permission: Iterable[Rule] = (),
        on_ask: OnAsk = "deny",
        options: Mapping[str, Any] | None = None,
        mcp: Mapping[str, McpServer] | None = None,
        directory: str | Path | None = None,
        describe_machine: bool | None = None,
        journal: Journal | str | Path | None = None,
        account: str = "",
        app: str = "",
        settings: Settings | None = None,
        hooks: Iterable[Hooks[Deps]] = (),
        seams: Seams | None = None,
        prompt: None = None,
    ) -> None:
        define.check_names(name, account, app)
        define.check_arguments(name, prompt, steps, limits, tree)
        define.check_functions(name, instructions, deps, check)
        self._model, self._on_ask = model, on_ask
        self._subagents, given = tuple(subagents), list(tools)
        self._tools = define.own_tools(name, given, starts=bool(self._subagents))
        answer, schema = define.output_type(name, output, check)
        text, own = (instructions, None) if isinstance(instructions, str) else ("", instructions)
        around = checked_hooks(name, hooks)
        taken = define.deps_taken([*given, *functions_of(around), own, check], deps_type)
        self._functions = AgentFunctions(
            instructions=own, factory=deps, takes_deps=taken, hooks=around, output=answer, schema=schema
        )
        rules, told = tuple(permission), told_environment(self._tools.values(), describe_machine)
        definition = Definition(name, description, text, steps=steps, limits=limits, permission=rules, output=schema)
        self._definition = msgspec.structs.replace(definition, options=options or {}, environment=told)
        self._servers, configured = define.servers_of(name, mcp, define.settings_of(name, settings, tree))
        self._begin(RuntimeConfig(settings=configured, account=account, app=app, seams=seams), directory, journal)
        self.add_handoffs(*handoffs)

    def _begin(self, given: RuntimeConfig, directory: str | Path | None, journal: Journal | str | Path | None) -> None:
        """Store the arguments of the configuration, and the state of runs."""
        self._program, self._runtimes, self._given = AgentProgram(self.name), SharedRuntimes(), (directory, journal)
        kept = journal if journal is not None else MemoryJournal(keeps=KEPT_IN_MEMORY)
        self._blank = replace(given, journal=kept, program=self._program)
        self._overridden: ContextVar[RuntimeConfig | None] = ContextVar(f"bridle agent {self.name}", default=None)

    def add_handoffs(self, *agents: Agent[Deps, Output]) -> None:
        """Let turns of this agent be handed over to more agents: also to one that was made later, or names this one.

        Raises `ConfigError`, and changes nothing, if one of them cannot continue its turns.
        """
        define.check_handoffs(self, (*self._handoffs, *agents))
        before = self._handoffs, self._definition
        try:
            self._handoffs += agents
            self._definition = define.wired(self)
            assert self.config
        except ConfigError:
            self._handoffs, self._definition = before
            raise

    @property
    def config(self) -> RuntimeConfig:
        """The configuration of `runtime`: `Runtime(dataclasses.replace(agent.config, …))` is a different one."""
        everyone = [*define.agents_around(self).values(), self]
        wiring = [agent._handoffs for agent in everyone]
        if self._configured is None or self._configured[0] != wiring:
            define.check_definition(self._definition, [made for agent in everyone for made in agent._tools.values()])
            define.check_hooked_tools(self)
            place, user = project_of(everyone, *self._given)
            servers = {agent.name: agent._servers for agent in everyone if agent._servers}
            models, definitions = define.with_models([(agent._definition, agent._model) for agent in everyone])
            self._program.agents.update({agent.name: define.functions_of(agent) for agent in everyone})
            config = replace(
                self._blank,
                models=models,
                private_tools={agent.name: agent.tools for agent in everyone},
                private_servers=servers,
                agents=definitions,
                directory=place,
                place=place_of(everyone, self._given[0], self._blank.settings),
                user=define.with_pins(user) if servers else user,
                subagents=sorted({agent.name for each in everyone for agent in each._subagents}),
            )
            self._configured = wiring, config
        return self._configured[1]

    @property
    def name(self) -> str:
        return self._definition.name

    @property
    def tools(self) -> Sequence[Tool]:
        """The agent's own tools, without those of its MCP servers."""
        return list(self._tools.values())

    @property
    def definition(self) -> Definition:
        """The agent as data: limits, permissions and the reference of its model."""
        return self.config.agents[-1]

    @property
    def turn_options(self) -> TurnOptions:
        """The options with which a prompt to `runtime` opens a turn of this agent."""
        own = self._config.agents[-1]
        return TurnOptions(agent=self.name, model=own.model, fallbacks=own.fallback, on_ask=self._on_ask)

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
    def override(self, *, model: Models) -> Iterator[None]:
        """Use other models for this agent and its subagents inside the `with` block, for example in tests.

        A list replaces the whole list of each agent, a single model too.
        """
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

    @overload
    def run_sync(
        self, prompt: str, *, output: TypeForm[OtherOutput], **given: Unpack[RunArguments[Deps]]
    ) -> Result[OtherOutput]: ...
    @overload
    def run_sync(self, prompt: str, **given: Unpack[RunArguments[Deps]]) -> Result[Output]: ...
    def run_sync(self, prompt: str, *, output: Any = None, **given: Unpack[RunArguments[Deps]]) -> Result[Any]:
        """Call `run` from a program without an event loop, or from any thread; runs in one background event loop."""
        result: Result[Any] = run_in_background(self._start_inside(prompt, output, given))
        return result

    async def _start_inside(self, prompt: str, output: Any, given: RunArguments[Any]) -> Result[Any]:
        return await self._start(prompt, output, given).result()

    @overload
    def stream(
        self, prompt: str, *, output: TypeForm[OtherOutput], **given: Unpack[RunArguments[Deps]]
    ) -> Stream[OtherOutput]: ...
    @overload
    def stream(self, prompt: str, **given: Unpack[RunArguments[Deps]]) -> Stream[Output]: ...
    def stream(self, prompt: str, *, output: Any = None, **given: Unpack[RunArguments[Deps]]) -> Stream[Any]:
        """Run a prompt and iterate over its public events as they happen; see `Stream`."""
        results: list[Result[Any]] = []
        run = self._start(prompt, output, given)
        return Stream(run.events(results), results, run.schema)

    async def resume(self, session: str, *, deps: Deps | Missing = MISSING) -> Result[Output]:
        """Continue the interrupted, paused or held-back turn of a session, and return its result."""
        given: RunArguments[Any] = {"session": session} if deps is MISSING else {"session": session, "deps": deps}
        return await self._start("", None, given).resumed()

    async def begin(self, messages: Iterable[Message], *, session: str | None = None) -> str:
        """Create a session whose model reads these messages before the first prompt, and return its id.

        They come from another session, `from_openai` or `from_anthropic`. Idempotent for the same id and messages.
        """
        runtime = self._runtimes.acquire(self._config)
        try:
            return await runtime.create(session, messages=messages)
        finally:
            await self._runtimes.release(runtime)

    def begin_sync(self, messages: Iterable[Message], *, session: str | None = None) -> str:
        """Call `begin` from a program without an event loop, or from any thread."""
        found: str = run_in_background(self.begin(messages, session=session))
        return found

    async def answer(
        self,
        session: str,
        ask: str,
        answer: str,
        *,
        feedback: str = "",
        arguments: Mapping[str, Any] | None = None,
        deps: Deps | Missing = MISSING,
    ) -> Result[Output]:
        """Answer an open ask of a paused turn, in any process, and continue the turn; return its result.

        A permission is answered with once, always or reject, a question with any text, a deferred call with its result.
        With `arguments` the call runs with these instead of the model's. The model reads the `feedback` of a rejection.
        Raises `ConfigError` if the ask is not open, for example because it was answered before.
        """
        # Imported only here: most programs answer nothing.
        from bridle.library.answers import GivenAnswer

        given: RunArguments[Any] = {"session": session} if deps is MISSING else {"session": session, "deps": deps}
        said = GivenAnswer(ask=ask, text=answer, feedback=feedback, arguments=arguments)
        return await self._start("", None, given).resumed(said)

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
        define.check_deps(self, deps)
        # Driven where the call runs: only this process has its deps.
        config = replace(self._config, journal=journal, settings=define.driven_here(self._config.settings))
        run = self._run(replace(request, delegation=delegation), config)
        result: Result[Output] = await run.result()
        return result, report_of(result)

    def _start(self, prompt: str, output: Any, given: RunArguments[Any]) -> AgentRun:
        request = request_of(self.turn_options, prompt, output, given)
        define.check_switches(self, given.get("tools", ()))
        define.check_deps(self, given.get("deps", MISSING))
        return self._run(request, self._config)

    def _run(self, request: RunRequest, config: RuntimeConfig) -> AgentRun:
        return AgentRun(request, self._program, self.name, self._runtimes, config)
