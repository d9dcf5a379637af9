"""The front door: the only place where journal, engine, models and tools are wired together."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from bridle.assembly.models import Models
from bridle.assembly.turns import SettingsTurns, UserSetup
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.context import sound
from bridle.core.events import Entry, Live, PartDelta, SessionInfo
from bridle.core.inbox import AbortItem, AnswerItem, CompactItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from bridle.core.limits import LimitName, Limits, wrong_limit
from bridle.core.parts import Delegation, Extension, File, Notice, TurnStart
from bridle.core.permission import Rule
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.core.status import Status, status_of
from bridle.engine.bus import Bus
from bridle.engine.engine import Parked
from bridle.engine.local import LocalEngine
from bridle.errors import ConfigError
from bridle.journal.journal import Journal, SessionRow, folded
from bridle.journal.open import open_journal
from bridle.model.model import Model
from bridle.runtime import argument_checks
from bridle.runtime.duplicate_prompts import refuse_other
from bridle.runtime.mcp_servers import servers_for
from bridle.seams import Seams, begin
from bridle.tools.tool import Tool
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn

LOOK_SECONDS = 0.2


class AgentRow(NamedTuple):
    """An agent, and its limits as they are in force: the cap on its steps, the others, and those as a subagent."""

    agent: AgentDefinition
    cap: int
    limits: Limits
    below: Limits


class Runtime:
    """Sessions, driven. Use it as an async context manager, or call `close`.

    Without a journal, sessions are kept in memory; a path keeps them in SQLite; a journal that is given as an object is
    closed by the caller. `subagents` are the agents that a `task` call may start; None means all whose mode allows it.
    `tools` are for all agents, `private_tools` for single ones, by the agent's name.
    """

    def __init__(
        self,
        *,
        journal: Journal | str | Path | None = None,
        settings: Settings | None = None,
        origins: Mapping[str, str] | None = None,
        models: Mapping[str, Model] | None = None,
        tools: Iterable[Tool] = (),
        agents: Iterable[AgentDefinition] = (),
        directory: str | Path = ".",
        restrictions: Sequence[tuple[Rule, ...]] = (),
        outputs: Path | None = None,
        subagents: Sequence[str] | None = (),
        seams: Seams | None = None,
        environment: Mapping[str, str] | None = None,
        user: UserSetup | None = None,
        private_tools: Mapping[str, Iterable[Tool]] | None = None,
    ) -> None:
        self.settings = argument_checks.fitting("settings", settings or Settings(), Settings)
        self.seams = seams or Seams()
        self.directory = Path(directory).absolute()
        environment = os.environ if environment is None else environment
        self.models = Models(dict(models or {}), self.settings, environment, self.directory)
        self.bus = Bus()
        self.turns = SettingsTurns(
            self.settings,
            origins or {},
            self.models.find,
            argument_checks.named_tools("tools", tools),
            self.seams,
            argument_checks.definitions(agents),
            argument_checks.layers("restrictions", restrictions),
            outputs,
            subagents,
            self.models.choose,
            self.models.alias,
            environment,
            self.directory,
            user or UserSetup(),
            argument_checks.tools_of_agents(private_tools or {}),
        )
        self.servers = servers_for(self.turns, self.directory, environment)
        self.notices: tuple[str, ...] = ()
        self.journal = open_journal(journal, self.settings.journal.durability, self.seams)
        self._opened_journal = self.journal is not journal
        self.file_notices: tuple[str, ...] = ()
        """The notices about configuration files: shown again only when the files change."""
        self.engine = LocalEngine(self.journal, self.turns, self.bus, self.seams, _actions(self.settings))

    @classmethod
    def open(
        cls,
        directory: str | Path = ".",
        *,
        flags: Mapping[str, Any] | None = None,
        trusted: bool = False,
        environment: Mapping[str, str] | None = None,
        in_memory: bool = False,
    ) -> Runtime:
        """The user's runtime for a project: settings from every layer, the built-in tools, the user's journal.

        With `in_memory` nothing is opened or written: for whoever only wants to look.
        """
        # Loaded only here: a library that brings its own tools and settings never needs them.
        from bridle.assembly.project_setup import set_up_project
        from bridle.engine.step_log import StepLog

        environment = os.environ if environment is None else environment
        found = set_up_project(Path(directory).absolute(), environment, flags=flags, trusted=trusted)
        runtime = cls(**{**found.arguments, **({"journal": None} if in_memory else {})})
        runtime.notices = runtime.file_notices = found.notices
        runtime.models.wanted = found.wanted
        if not in_memory:
            runtime.bus.listen(StepLog(found.log, runtime.seams.clock))
            runtime.file_notices += found.problems
            more = (getattr(runtime.journal, "notice", ""), runtime.turns.commands.warning())
            runtime.notices += (*found.problems, *filter(None, more))
        return runtime

    async def __aenter__(self) -> Runtime:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Abort what runs here, wait until it is recorded, and close the journal that was opened here. Idempotent."""
        self.engine.stop_starting()
        try:
            tops = {await self._top(session) for session in self.engine.active()}
            for session in sorted(tops):
                item = AbortItem(self.seams.new_id("abt"), detail="the runtime was closed")
                await self.journal.submit(session, item)
                self.engine.wake(session)
            await self.engine.close()
        finally:
            if self.servers is not None:
                await self.servers.close()
            await self.turns.commands.close()
            if self.turns.user.files is not None:
                await self.turns.user.files.close()
            await self.models.close()
            if self._opened_journal:
                # Another runtime may write to a journal that was given.
                await self.journal.close()

    async def _top(self, session: str) -> str:
        """The highest turn of a session's tree that is driven here."""
        while (parent := await self._parent(session)) and self.engine.drives(parent):
            session = parent
        return session

    async def _parent(self, session: str) -> str:
        """The session whose open turn started this one's open turn; empty if there is none."""
        state = self.engine.session(session) or await self.load(session)
        turn = state.running
        return turn.start.delegation.parent if turn is not None and turn.start.delegation is not None else ""

    def drives(self, session: str) -> bool:
        """Whether this runtime drives the session at this moment."""
        return session in self.engine.active()

    async def root(self, session: str) -> str:
        """The session at the top of the tree that a session works in; itself, if nobody started it."""
        while parent := await self._parent(session):
            session = parent
        return session

    async def create(self, id: str | None = None) -> str:
        """A new session in this runtime's directory."""
        named = argument_checks.session_id(id) if id is not None else self.seams.new_id("ses")
        info = SessionInfo(named, str(self.directory), created=self.seams.clock.wall())
        await self.journal.create(info)
        return info.id

    async def prompt(
        self,
        session: str,
        text: str,
        *,
        id: str | None = None,
        files: Sequence[File] = (),
        queue: bool = False,
        reply: bool = True,
        options: TurnOptions | None = None,
        wants: Sequence[str] = (),
        subtask: str = "",
    ) -> str:
        """Submit a prompt and wake its session; safe once this returns. The same id twice is one prompt.

        `wants` are subagents that the turn may start without an ask; `subtask` is the one that works on the prompt.
        Raises `ConfigError` if the turn that it asks for cannot be had (no such agent or model, nonsense limits), or if
        the id stands for another prompt. An id begins with a letter.
        """
        id = self.seams.new_id("prm") if id is None else id
        item = argument_checks.prompt_item(
            id, text, files, options, self.turns.subagents or (), queue=queue, reply=reply
        )
        item = msgspec.structs.replace(item, wants=tuple(wants), subtask=subtask)
        if reply:
            await self.check(self.engine.session(session) or await self.load(session), item)
        if not await self._submit(session, item):
            await refuse_other(self.journal, session, item)
        return item.id

    async def check(self, state: Session, item: PromptItem) -> None:
        """Refuse a prompt whose turn could not begin, while there is still somebody to tell."""
        if self.servers is not None:
            await self.servers.prepare()
        await self.turns.user.prepare()
        await self.models.prepare(self.turns.model_ref(state, item.options))
        opening = self.turns.open(state, item, state.turns + 1)
        if opening.problem:
            raise ConfigError(opening.problem)

    def agents(self) -> list[AgentRow]:
        """Everybody who may run, with what bounds them."""
        turns, child = self.turns, Delegation("", "", "", 1)
        return [
            AgentRow(each, *turns.bounds_of(each), turns.bounds_of(each, child)[1]) for each in turns.agents.values()
        ]

    def preview(self, options: TurnOptions | None = None) -> TurnStart:
        """The turn that a first prompt would open now, with its system prompt; raises `ConfigError`."""
        session = Session()
        session.info = SessionInfo("preview", str(self.directory), created=self.seams.clock.wall())
        opening = self.turns.open(session, PromptItem("preview", "", options=options), 1)
        if opening.problem:
            raise ConfigError(opening.problem)
        return opening.start

    async def answer(
        self, session: str, ask: str, choice: Literal["once", "always", "reject"], feedback: str = ""
    ) -> None:
        """Answer an ask of this session or of one below it; the turn goes on with the same counters."""
        words = sound(feedback) if isinstance(feedback, str) else feedback
        item = argument_checks.recordable(AnswerItem(self.seams.new_id("ans"), ask, choice, words))
        owner, _, id = item.ask.rpartition(":")
        await self._submit(owner or session, msgspec.structs.replace(item, ask=id))
        if owner:
            self.engine.wake(session)

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn; whoever drives it sees this within a second."""
        await self._submit(session, argument_checks.recordable(AbortItem(self.seams.new_id("abt"), turn, detail)))

    async def compact(self, session: str) -> None:
        """Make the session's context smaller: in the running turn before its next step, else in a turn of its own."""
        await self._submit(session, CompactItem(self.seams.new_id("cmp")))

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        """Raise a limit of the running turn, by whoever drives it; returns the id by which `extended` knows it."""
        problem = wrong_limit(limit, by) or (None if by else "must be more than 0")
        if problem is not None:
            raise ConfigError(f"extend: {limit} {problem}")
        item = argument_checks.recordable(ExtendItem(self.seams.new_id("ext"), limit, by))
        await self.journal.submit(session, item)
        # A turn that awaits a person or its subagents takes it and goes on waiting; one that was interrupted stays so.
        if self.drives(session) or (await self.status(session)).state == "paused":
            self.engine.wake(session)
        return item.id

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        """What became of an extension: the part that raised the limit, the notice that refused it, or nothing yet."""
        for part in (await self.load(session)).parts.values():
            if isinstance(part, (Extension, Notice)) and part.id.endswith(f".extension.{extension}"):
                return part
        return None

    async def _submit(self, session: str, item: InboxItem) -> bool:
        fresh = await self.journal.submit(session, item)
        self.engine.wake(session)
        return fresh

    def resume(self, session: str) -> None:
        """Go on with an interrupted turn, and with prompts that a failed one left for the person."""
        self.engine.wake(session, held_prompts=True)

    async def waiting_prompts(self, session: str) -> list[str]:
        """The ids of prompts that no turn has taken."""
        return [item.id for item in await self.journal.inbox(session) if isinstance(item, PromptItem)]

    async def parked(self, session: str) -> Parked:
        """Return once nothing can go on, here or in the process that holds the lease."""
        while True:
            parked = await self.engine.parked(session)
            if parked == "idle" or not await self._goes_on(session, parked):
                return parked

    async def _goes_on(self, session: str, parked: Parked | None) -> bool:
        """Wait a moment for whoever drives the session or its subagents; False if none of them can go on."""
        if parked == "elsewhere":
            await self.seams.sleep(LOOK_SECONDS)
            # If the holder has died, or let go of the session, this process takes over.
            self.engine.wake(session)
        elif parked in ("waiting", "paused"):
            if not await self.engine.tend(session):
                return False
            await self.engine.any_ended(session, LOOK_SECONDS)
        return True

    async def wait(self, session: str, prompt: str) -> Result:
        """What became of a prompt, once its turn has finished or nothing can go on."""
        while True:
            parked = await self.engine.turn_ended(session)
            kept = self.engine.session(session) if parked != "elsewhere" else None
            result = result_of(kept or await self.load(session), prompt)
            if result.ended or parked == "idle" or not await self._goes_on(session, parked):
                return result

    async def stream(self, session: str, prompt: str, after: int = 0) -> AsyncGenerator[Entry | Live, None]:
        """Every entry after a sequence number, in order, and deltas as they come, until `wait` would return.

        It does not matter which process drives the session; deltas come only from this one.
        """
        subscription = self.bus.subscribe(session)
        waiting = begin(self.wait(session, prompt))
        try:
            while True:
                event = subscription.waiting()
                if isinstance(event, PartDelta) or (event is not None and event.sequence == after + 1):
                    after += isinstance(event, Entry)
                    yield event
                elif event is None and not waiting.done() and await subscription.come(LOOK_SECONDS, waiting):
                    continue
                elif event is None or event.sequence > after:
                    # Another process has written, or it is the end: whatever is missing is in the journal.
                    over = event is None and waiting.done()
                    for entry in await self.journal.load(session, after):
                        after = entry.sequence
                        yield entry
                    if over:
                        break
            waiting.result()
        finally:
            waiting.cancel()
            self.bus.unsubscribe(session, subscription)

    async def load(self, session: str) -> Session:
        """The session as the journal has it now; raises `JournalRefused` if its entries make no sense."""
        return folded(session, await self.journal.load(session), Session())

    async def status(self, session: str) -> Status:
        """What the session is doing, derived from its record and its lease."""
        state = await self.load(session)
        status = status_of(state, held=await self.journal.held(session))
        if status.state == "interrupted" and state.running is not None:
            below = [await self.status(child) for child in state.running.children.values()]
            if any(child.state in ("busy", "retry") for child in below):
                return Status("busy")
        return status

    async def allowances(self) -> list[tuple[str, float, float | None]]:
        """What this user has spent today and this month, in US dollars, and the limits that are set."""
        now = datetime.fromtimestamp(self.seams.clock.wall(), UTC)
        given = self.settings.limits
        found: list[tuple[str, float, float | None]] = []
        for words, id, limit in (
            ("today", f"day/{now:%Y-%m-%d}", given.daily.cost),
            ("this month", f"month/{now:%Y-%m}", given.monthly.cost),
        ):
            account = await self.journal.account(id)
            found.append((words, account.spent.cost if account is not None else 0.0, limit))
        return found

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the one that changed last first."""
        return await self.journal.sessions()


def _actions(settings: Settings) -> Callable[[ActiveTurn], Actions]:
    if not settings.hooks:
        return TurnActions
    # Loaded only where there are hooks.
    from bridle.turn.hook_actions import HookedActions

    return lambda active: HookedActions(TurnActions(active), active)
