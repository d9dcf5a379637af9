"""`AgentRun`: one run of a program's agent; submits the prompt, follows the turn, aborts it if the caller goes away."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from bridle.core.events import Entry, Live
from bridle.core.inbox import PromptItem, TurnOptions
from bridle.core.limits import LimitReason
from bridle.core.messages import Message
from bridle.core.parts import Delegation, File
from bridle.core.result import Result
from bridle.core.session import Session
from bridle.core.states import Report
from bridle.engine.bus import Subscription
from bridle.errors import ConfigError, JournalError
from bridle.library.context import MISSING
from bridle.library.program import AgentProgram, OutputType
from bridle.library.shared_runtime import SharedRuntimes
from bridle.runtime import Runtime, RuntimeConfig
from bridle.seams import begin
from bridle.wire.events import Event, SessionEvent, result_event
from bridle.wire.projection import EventStream

if TYPE_CHECKING:
    from bridle.library.answers import GivenAnswer


WITH_ANSWER = frozenset(("answered", "synthesized", "tree_budget", "doom_loop", *get_args(LimitReason)))
"""Endings with a written answer: a turn that reaches a limit closes with one."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """A prompt with everything that was passed to `run`."""

    text: str
    options: TurnOptions
    session: str | None = None
    id: str | None = None
    files: Sequence[File] = ()
    metadata: Mapping[str, Any] | None = None
    queue: bool = False
    deps: Any = MISSING
    output: OutputType | None = None
    delegation: Delegation | None = None
    """The terms under which a tool of another agent runs it."""


class AgentRun:
    """A run in progress. The turn belongs to the run: if the run is cancelled, the turn is aborted."""

    def __init__(
        self, request: RunRequest, program: AgentProgram, agent: str, runtimes: SharedRuntimes, config: RuntimeConfig
    ) -> None:
        self._request = request
        self._program = program
        self._agent = agent
        self.schema = request.options.output if request.options.output is not None else program.schema_of(agent)
        self._runtimes = runtimes
        self._config = config
        self._session = ""
        self._prompt = ""
        self._over = False
        self._beginning: asyncio.Task[int] | None = None
        self._streams = False
        self._heard: Subscription | None = None

    @cached_property
    def _runtime(self) -> Runtime:
        """The runtime, acquired with its first use: a stream that is never read leaves none open."""
        return self._runtimes.acquire(self._config)

    def _keep_deps(self, prompt: str) -> None:
        """Keep the dependencies of a prompt for its turn; raises `ConfigError` if another process drives that."""
        if self._request.deps is MISSING:
            return
        if self._config.settings.workers.drive:
            raise ConfigError(
                f"agent {self._agent}: deps: workers drive its turns, and make their deps from the metadata: "
                "give a factory, Agent(deps=…), and run(metadata=…)"
            )
        self._program.given[prompt] = self._request.deps

    async def begin(self) -> int:
        """Submit the prompt; return the sequence number of the session before it. Raises `ConfigError`.

        A caller that is cancelled meanwhile leaves no session without its prompt: `end` waits for it.
        """
        return await self._whole(self._begin())

    async def _whole(self, beginning: Coroutine[Any, Any, int]) -> int:
        self._beginning = begin(beginning)
        return await asyncio.shield(self._beginning)

    async def _begin(self) -> int:
        request, runtime = self._request, self._runtime
        before = 0
        if request.session is None:
            self._session = await runtime.begin(request.id or runtime.new_id(), request.text, request.options)
        else:
            self._session = request.session
            state = await runtime.load(self._session)
            before = state.sequence
            self._refuse_other(state)
        prompt = request.id or runtime.seams.new_id("prm")
        self._keep_deps(prompt)
        if request.output is not None:
            self._program.outputs[prompt] = request.output
        self._prompt = prompt
        if self._streams:
            self._heard = runtime.bus.subscribe(self._session)
        if request.delegation is not None:
            await runtime.delegate(self._session, delegated(request, prompt))
            return before
        await runtime.prompt(
            self._session,
            request.text,
            id=prompt,
            files=request.files,
            queue=request.queue,
            options=request.options,
            metadata=_metadata(request),
        )
        return before

    def _refuse_other(self, state: Session) -> None:
        """Raise `ConfigError` for a prompt that joins a running turn with options that differ from it."""
        request, turn = self._request, state.running
        if turn is None or request.queue:
            return
        given = request.deps is not MISSING and request.deps is not self._program.given.get(turn.prompts[0])
        other = {"deps": given, "output": request.output is not None, "limits": bool(request.options.limits)}
        other["account"] = request.options.account not in ("", turn.start.owner)
        for name in (name for name, differs in other.items() if differs):
            raise ConfigError(f"run: a turn of session {self._session} is running with other {name}: pass queue=True")

    async def resumed(self, answer: GivenAnswer | None = None) -> Result[Any]:
        """Continue the last turn of the session, with an answer to an open ask if given, and return its result."""
        assert self._request.session is not None
        self._session = self._request.session
        return await self._ended(self._resume(answer))

    async def _resume(self, answer: GivenAnswer | None) -> Result[Any]:
        await self._whole(self._wake(answer))
        result = await self._finished()
        if answer is not None:
            await answer.check_held(self._runtime, self._session)
        return result

    async def _wake(self, answer: GivenAnswer | None) -> int:
        state = await self._runtime.load(self._session)
        # Refused before the run has a prompt: the turn of a run that has one is aborted with it.
        ask = answer.asked(self._session, state) if answer is not None else None
        waiting = await self._runtime.waiting_prompts(self._session)
        prompts = state.turn.prompts if state.turn is not None else []
        if not prompts and not waiting:
            raise ConfigError(f"resume: session {self._session} has no prompt")
        self._prompt = waiting[0] if waiting and state.running is None else prompts[0]
        self._keep_deps(self._prompt)
        if answer is not None and ask is not None:
            await answer.give(self._runtime, self._session, ask)
        await self._runtime.resume(self._session)
        return state.sequence

    async def result(self) -> Result[Any]:
        """Return the result once the turn has ended or awaits a person."""
        return await self._ended(self._wait())

    async def _ended(self, work: Coroutine[Any, Any, Result[Any]]) -> Result[Any]:
        """Return the result of this work, and end the run; a cancelled caller cancels the work."""
        task = begin(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            await self.end()

    async def _wait(self) -> Result[Any]:
        await self.begin()
        return await self._finished()

    async def _finished(self) -> Result[Any]:
        try:
            found = await self._runtime.wait(self._session, self._prompt)
        except Exception:
            # Nothing drives the turn here any more: it stays interrupted, and `resume` continues it.
            self._over = True
            raise
        self._over = True
        return self.typed(found, (await self._runtime.load(self._session)).messages)

    def typed(self, result: Result[Any], messages: Sequence[Message]) -> Result[Any]:
        """Return the result with its output in its type."""
        wanted = self._program.output_of(self._agent, self._prompt)
        if self.schema is None and wanted is None:
            return _with_output(result, result.text, messages, is_there=result.reason in WITH_ANSWER)
        # An answer may be null; a turn that has to fit a schema is answered only with an answer that fits.
        there = result.data is not None or result.reason == "answered"
        value = wanted.load(result.data) if wanted is not None and there else result.data
        return _with_output(result, value, messages, is_there=there)

    async def events(self, results: list[Result[Any]]) -> AsyncGenerator[Event, None]:
        """Yield the events of the turn, a `ResultEvent` last; put the result into the list before it."""
        self._streams = True
        try:
            before = await self.begin()
            yield SessionEvent(self._session)
            runtime = self._runtime
            state = await runtime.load(self._session)
            shown = EventStream(self._session, state if before else None, self._prompt)
            async for event in self._seen(shown.session.sequence):
                for told in shown.of_entry(event) if isinstance(event, Entry) else shown.of_delta(event):
                    yield told
            found = await self._finished()
            results.append(found)
            yield result_event(msgspec.structs.replace(found, typed="no"), found.reason)
        finally:
            await self.end()

    async def _seen(self, after: int) -> AsyncGenerator[Entry | Live, None]:
        """Yield what is recorded and streamed, until the turn has ended or cannot be driven here."""
        try:
            async with aclosing(self._runtime.stream(self._session, self._prompt, after, self._heard)) as seen:
                async for event in seen:
                    yield event
        except Exception:
            self._over = True
            raise

    async def end(self) -> None:
        """Release the runtime; a turn that has not ended is aborted first, in a task that no cancellation reaches."""
        ending = self._runtimes.detach(self._end)
        await asyncio.shield(ending)

    async def _end(self) -> None:
        try:
            if self._beginning is not None:
                await asyncio.gather(self._beginning, return_exceptions=True)
            if not self._over and self._prompt:
                # A journal that fails here failed the turn as well; the turn stays interrupted and can be resumed.
                with suppress(JournalError):
                    await self._abort()
        finally:
            if self._heard is not None:
                self._runtime.bus.unsubscribe(self._session, self._heard)
            self._program.given.pop(self._prompt, None)
            self._program.outputs.pop(self._prompt, None)
            await self._runtimes.release(self._runtime)

    async def _abort(self) -> None:
        """End the turn of this run, or take back its prompt, which waits behind the turn of another run."""
        runtime, session = self._runtime, self._session
        state = await runtime.load(session)
        if not state.prompts.get(self._prompt) and (self._request.queue or state.running is not None):
            if self._prompt in await runtime.waiting_prompts(session) and await runtime.withdraw(session, self._prompt):
                return
            state = await runtime.load(session)
        turn = state.prompts.get(self._prompt, 0)
        if turn or state.running is None:
            await runtime.abort(session, turn=turn, detail="the caller went away")
            await runtime.parked(session)


def _with_output(result: Result[Any], value: object, messages: Sequence[Message], *, is_there: bool) -> Result[Any]:
    typed: Literal["yes", "missing"] = "yes" if is_there else "missing"
    return msgspec.structs.replace(result, value=value, typed=typed, messages=messages)


def report_of(result: Result[Any]) -> Report:
    """Return the use of a nested run for the call that ran it."""
    reason: Any = result.reason if result.ended else "aborted"
    return Report(result.session, reason, result.spent, result.usage, result.denied, models=dict(result.models))


def delegated(request: RunRequest, id: str) -> PromptItem:
    """Return the prompt of a nested run; the tool of another agent gives its terms."""
    # The dependencies of the nested run belong to its own prompt, not to the one above.
    terms = msgspec.structs.replace(request.delegation, origin=id) if request.delegation is not None else None
    options = msgspec.structs.replace(request.options, delegation=terms)
    return PromptItem(id, request.text, queue=True, options=options, metadata=_metadata(request))


def _metadata(request: RunRequest) -> dict[str, Any]:
    """Return the metadata of a run, with the current span of a program that uses OpenTelemetry."""
    metadata = dict(request.metadata or {})
    if "opentelemetry.trace" not in sys.modules:
        return metadata
    from bridle.library.current_span import from_current_span

    return from_current_span(metadata)
