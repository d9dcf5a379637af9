"""`AgentProgram`: makes the dependencies and `Context` of a turn; calls a program's instructions and output checks."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncContextDecorator,
    AsyncExitStack,
    ContextDecorator,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec

from bridle.core.inbox import PromptItem
from bridle.core.parts import File, Prompt, TurnStart
from bridle.core.session import Session
from bridle.errors import ConfigError, NoOutput, TurnLeft, error_text
from bridle.library.context import MISSING, Context
from bridle.library.hooks import Hooks, function_hooks
from bridle.seams import in_thread
from bridle.turn.caller import Caller, NestedRunner
from bridle.turn.scope import cancelled_by_us
from bridle.values.argument_kinds import check_argument, fits, in_words, shown, takes
from bridle.values.type_adapter import TypeAdapter

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class OutputType:
    """The type of an answer, and the program's own check of it."""

    adapter: TypeAdapter
    check: Callable[..., Any] | None = None

    def load(self, recorded: Any) -> Any:
        """Return a recorded answer in its type; raises `NoOutput` if the type has changed since then."""
        try:
            return self.adapter.load(recorded)
        except msgspec.ValidationError as error:
            raise NoOutput(f"the recorded answer does not fit the type of the output: {error}") from error


@dataclass(frozen=True, kw_only=True)
class AgentFunctions:
    """The Python functions of one agent."""

    instructions: Callable[..., Any] | None = None
    factory: Callable[..., Any] | None = None
    """Makes the dependencies of a turn from the metadata of its prompt."""
    takes_deps: tuple[Any, ...] = ()
    """The types of the dependencies that its tools and functions take."""
    output: OutputType | None = None
    hooks: tuple[Hooks[Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    """The JSON schema of its answers; None for plain text."""


@dataclass(slots=True)
class _Opened:
    """The dependencies of a session's drive."""

    origin: str
    deps: Any
    closing: AsyncExitStack


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """The turn that a context is made for."""

    session: str
    agent: str
    number: int
    origin: str
    opener: str
    """The agent with which the turn began: its factory makes the dependencies, also after a handoff."""
    metadata: Mapping[str, Any]
    files: tuple[File, ...]


class AgentProgram:
    """Implements `Program` for an agent and its subagents."""

    def __init__(self, root: str) -> None:
        self._root = root
        self.agents: dict[str, AgentFunctions] = {}
        """The functions of every agent, by name."""
        self._opened: dict[str, _Opened] = {}
        self.given: dict[str, object] = {}
        """Dependencies that were passed to a run, by the id of its prompt."""
        self.outputs: dict[str, OutputType] = {}
        """Output types that were passed to a run, by the id of its prompt."""

    async def instructions(self, session: Session, agent: str, item: PromptItem, number: int) -> str | None:
        functions = self.agents.get(agent)
        if functions is None or functions.instructions is None:
            return None
        assert session.info is not None
        delegation = item.options.delegation if item.options is not None else None
        turn = _Turn(
            session=session.info.id,
            agent=agent,
            number=number,
            origin=delegation.origin if delegation is not None else item.id,
            opener=agent,
            metadata=item.metadata,
            files=item.files,
        )
        context = await self.context(turn)
        try:
            told = await called(functions.instructions, context)
            check_argument(f"the instructions of agent {agent}", str, told)
            return str(told)
        except ConfigError:
            raise
        except Exception as error:
            # Foreign code: the turn ends with its error, as with a model that fails.
            LOG.exception("the instructions of agent %s failed", agent)
            raise ConfigError(f"the instructions of agent {agent} failed: {error_text(error)}") from error

    async def attach(self, session: Session, start: TurnStart) -> None:
        await self._deps(_turn_of(session, start))

    def caller(self, session: Session, start: TurnStart) -> Caller:
        return _TurnCaller(self, _turn_of(session, start))

    async def release(self, session: str) -> None:
        opened = self._opened.pop(session, None)
        if opened is not None:
            await opened.closing.aclose()

    def output_of(self, agent: str, origin: str) -> OutputType | None:
        """Return the output type of a turn: the one passed to its run, or the agent's."""
        functions = self.agents.get(agent)
        return self.outputs.get(origin) or (functions.output if functions is not None else None)

    @property
    def has_hooks(self) -> bool:
        """Whether one of the agents has hooks."""
        return any(functions.hooks for functions in self.agents.values())

    def hooks_of(self, agent: str) -> tuple[Hooks[Any], ...]:
        """Return the hooks of an agent."""
        functions = self.agents.get(agent)
        return functions.hooks if functions is not None else ()

    def schema_of(self, agent: str) -> Mapping[str, Any] | None:
        """Return the JSON schema of an agent's answers; None for plain text."""
        functions = self.agents.get(agent)
        return functions.schema if functions is not None else None

    async def context(
        self,
        turn: _Turn,
        *,
        call: str = "",
        epoch: int = 0,
        show: Callable[[str], None] | None = None,
        runner: NestedRunner | None = None,
    ) -> Context[Any]:
        """Return the context of a turn, for a function of the program."""
        return Context(
            deps=await self._deps(turn),
            session=turn.session,
            agent=turn.agent,
            turn=turn.number,
            metadata=turn.metadata,
            files=turn.files,
            call=call,
            epoch=epoch,
            show=_from_any_thread(show) if show is not None else None,
            runner=runner,
        )

    async def _deps(self, turn: _Turn) -> Any:
        """Return the dependencies of a turn, made once in a drive; raises `TurnLeft` if this process has none."""
        opened = self._opened.get(turn.session)
        if opened is not None and opened.origin == turn.origin:
            return opened.deps
        await self.release(turn.session)
        closing = AsyncExitStack()
        opened = _Opened(turn.origin, await self._made(turn, closing), closing)
        self._opened[turn.session] = opened
        return opened.deps

    async def _made(self, turn: _Turn, closing: AsyncExitStack) -> Any:
        functions = self.agents.get(turn.opener) or AgentFunctions()
        root = self.agents[self._root]
        given = self.given.get(turn.origin, MISSING)
        own = functions.factory if turn.opener != self._root else None
        if own is None and given is not MISSING:
            return given
        factory = own or root.factory
        if factory is not None:
            made = await _opened(factory, turn.metadata, closing)
            for kind in functions.takes_deps:
                if not fits(kind, made):
                    await closing.aclose()
                    takes = f"agent {turn.opener}: deps: it takes {in_words(kind)}"
                    raise ConfigError(f"{takes}, and the factory returned {shown(made)}")
            return made
        if functions.takes_deps:
            raise TurnLeft(
                f"session {turn.session}: agent {turn.opener} needs its deps, and this process has none: "
                "give the agent a factory, Agent(deps=…), to continue its turns in any process"
            )
        return None


class _TurnCaller:
    """Implements `Caller` for one turn."""

    def __init__(self, program: AgentProgram, turn: _Turn) -> None:
        self._program = program
        self._turn = turn
        self.context = partial(program.context, turn)
        self.hooks = function_hooks(program.hooks_of(turn.agent), self)

    async def accepted(self, answer: Any) -> Any:
        wanted = self._program.output_of(self._turn.agent, self._turn.origin)
        if wanted is None:
            return answer
        value = wanted.adapter.load(answer)
        if wanted.check is not None:
            context = () if takes(wanted.check, 1) else (await self.context(),)
            checked = await _answered(wanted.check, *context, value)
            if checked is not None and checked is not value:
                return wanted.adapter.dump(checked)
        return _recorded(wanted.adapter, value, answer)


def _turn_of(session: Session, start: TurnStart) -> _Turn:
    assert session.info is not None
    prompts = session.turn.prompts if session.turn is not None else []
    first = session.parts.get(prompts[0]) if prompts else None
    prompt = first if isinstance(first, Prompt) else Prompt("", "")
    began = session.parts.get(start.id)
    return _Turn(
        session=session.info.id,
        agent=start.agent,
        number=start.number,
        origin=start.delegation.origin if start.delegation is not None else prompt.id,
        opener=began.agent if isinstance(began, TurnStart) else start.agent,
        metadata=prompt.metadata,
        files=prompt.files,
    )


def _recorded(adapter: TypeAdapter, value: Any, given: Any) -> Any:
    """Return the JSON data of an answer: with its defaults, or as the model gave it if that is lost by writing it."""
    data = adapter.dump(value)
    try:
        return data if adapter.load(data) == value else given
    except msgspec.ValidationError:
        return given


async def _answered(check: Callable[..., Any], *arguments: Any) -> Any:
    """Call a check; a plain function may block, so it runs in a thread."""
    if inspect.iscoroutinefunction(check):
        return await check(*arguments)
    value = await in_thread(lambda: check(*arguments))
    return await value if isinstance(value, Awaitable) else value


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the program, which may be a coroutine function."""
    with _contained():
        value = function(*arguments)
        return await value if isinstance(value, Awaitable) else value


@contextmanager
def _contained() -> Iterator[None]:
    """Raise a `SystemExit` and a foreign cancellation as an error that ends neither the event loop nor its task."""
    try:
        yield
    except (SystemExit, asyncio.CancelledError) as error:
        if cancelled_by_us(error):
            raise
        raise RuntimeError(error_text(error)) from error


async def _opened(factory: Callable[..., Any], metadata: Mapping[str, Any], closing: AsyncExitStack) -> Any:
    """Make dependencies. Generators, their context managers and connections of a pool are closed with the drive.

    Other objects are not entered: they may be shared, like a client with connections.
    """
    if inspect.isasyncgenfunction(factory):
        factory = asynccontextmanager(factory)
    elif inspect.isgeneratorfunction(factory):
        factory = contextmanager(factory)
    with _contained():
        made = factory(metadata)
        # Pools return objects that may be awaited or entered, and only the latter gives the connection back.
        if isinstance(made, AbstractAsyncContextManager) and isinstance(made, AsyncContextDecorator | Awaitable):
            return await closing.enter_async_context(made)
        if isinstance(made, AbstractContextManager) and isinstance(made, ContextDecorator):
            return closing.enter_context(made)
        return await made if isinstance(made, Awaitable) else made


def _from_any_thread(show: Callable[[str], None]) -> Callable[[str], None]:
    """Return the function for tools that run in threads: output is shown in the loop of the turn."""
    loop = asyncio.get_running_loop()

    def tell(text: str) -> None:
        try:
            here = asyncio.get_running_loop() is loop
        except RuntimeError:
            here = False
        if here:
            show(text)
        else:
            loop.call_soon_threadsafe(show, text)

    return tell
