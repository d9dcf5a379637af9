"""The Python side of agents while their turns run: dependencies, instructions, and checks of the output."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from bridle.core.inbox import PromptItem
from bridle.core.parts import File, Prompt, TurnStart
from bridle.core.session import Session
from bridle.errors import TurnLeft
from bridle.library.context import MISSING, Context
from bridle.turn.caller import Caller, NestedRunner
from bridle.values.type_adapter import TypeAdapter


@dataclass(frozen=True, kw_only=True)
class OutputType:
    """The type of an answer, and the program's own check of it."""

    adapter: TypeAdapter
    check: Callable[..., Any] | None = None


@dataclass(frozen=True, kw_only=True)
class AgentFunctions:
    """The Python functions of one agent."""

    instructions: Callable[..., Any] | None = None
    factory: Callable[..., Any] | None = None
    """Makes the dependencies of a turn from the metadata of its prompt."""
    needs_deps: bool = False
    output: OutputType | None = None
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
    metadata: Mapping[str, Any]
    files: tuple[File, ...]


class AgentProgram:
    """Implements `Program` for an agent and its subagents."""

    def __init__(self, root: str, agents: Mapping[str, AgentFunctions]) -> None:
        self._root = root
        self._agents = agents
        self._opened: dict[str, _Opened] = {}
        self.given: dict[str, object] = {}
        """Dependencies that were passed to a run, by the id of its prompt."""
        self.outputs: dict[str, OutputType] = {}
        """Output types that were passed to a run, by the id of its prompt."""

    async def instructions(self, session: Session, agent: str, item: PromptItem, number: int) -> str | None:
        functions = self._agents.get(agent)
        if functions is None or functions.instructions is None:
            return None
        assert session.info is not None
        delegation = item.options.delegation if item.options is not None else None
        turn = _Turn(
            session=session.info.id,
            agent=agent,
            number=number,
            origin=delegation.origin if delegation is not None else item.id,
            metadata=item.metadata,
            files=item.files,
        )
        text = await called(functions.instructions, await self.context(turn))
        return str(text)

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
        functions = self._agents.get(agent)
        return self.outputs.get(origin) or (functions.output if functions is not None else None)

    def schema_of(self, agent: str) -> Mapping[str, Any] | None:
        """Return the JSON schema of an agent's answers; None for plain text."""
        functions = self._agents.get(agent)
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
        functions = self._agents.get(turn.agent) or AgentFunctions()
        root = self._agents[self._root]
        given = self.given.get(turn.origin, MISSING)
        own = functions.factory if turn.agent != self._root else None
        if own is None and given is not MISSING:
            return given
        factory = own or root.factory
        if factory is not None:
            return await _opened(factory, turn.metadata, closing)
        if functions.needs_deps:
            raise TurnLeft(
                f"session {turn.session}: agent {turn.agent} needs its deps, and this process has none: "
                "give the agent a factory, Agent(deps=…), to continue its turns in any process"
            )
        return None


class _TurnCaller:
    """Implements `Caller` for one turn."""

    def __init__(self, program: AgentProgram, turn: _Turn) -> None:
        self._program = program
        self._turn = turn
        self.context = partial(program.context, turn)

    async def accepted(self, answer: Any) -> Any:
        wanted = self._program.output_of(self._turn.agent, self._turn.origin)
        if wanted is None:
            return answer
        value = wanted.adapter.load(answer)
        if wanted.check is not None:
            context = (await self.context(),) if takes_context(wanted.check) else ()
            checked = await called(wanted.check, *context, value)
            value = value if checked is None else checked
        return wanted.adapter.dump(value)


def _turn_of(session: Session, start: TurnStart) -> _Turn:
    assert session.info is not None
    prompts = session.turn.prompts if session.turn is not None else []
    first = session.parts.get(prompts[0]) if prompts else None
    prompt = first if isinstance(first, Prompt) else Prompt("", "")
    return _Turn(
        session=session.info.id,
        agent=start.agent,
        number=start.number,
        origin=start.delegation.origin if start.delegation is not None else prompt.id,
        metadata=prompt.metadata,
        files=prompt.files,
    )


def takes_context(function: Callable[..., Any]) -> bool:
    """Return whether the first of two parameters is the context."""
    return len(inspect.signature(function).parameters) > 1


async def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of the program, which may be a coroutine function."""
    value = function(*arguments)
    return await value if isinstance(value, Awaitable) else value


async def _opened(factory: Callable[..., Any], metadata: Mapping[str, Any], closing: AsyncExitStack) -> Any:
    """Make dependencies; a generator or context manager is closed with the drive."""
    if inspect.isasyncgenfunction(factory):
        factory = asynccontextmanager(factory)
    made = factory(metadata)
    inner = inspect.unwrap(factory)
    if inspect.isasyncgenfunction(inner):
        return await closing.enter_async_context(made)
    if inspect.isgeneratorfunction(inner):
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
