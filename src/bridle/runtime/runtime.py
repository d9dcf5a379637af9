"""The front door: the only place where journal, engine, models and tools are wired together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.assembly.models import Models
from bridle.assembly.turns import SettingsTurns, UserSetup
from bridle.config.settings import Settings
from bridle.core.agent import AgentDefinition
from bridle.core.context import sound
from bridle.core.events import SessionInfo
from bridle.core.ids import read_ask_address
from bridle.core.inbox import AbortItem, AnswerItem, CompactItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from bridle.core.limits import LimitName, wrong_limit
from bridle.core.parts import File, TurnStart
from bridle.core.permission import Rule
from bridle.core.session import Session
from bridle.engine.bus import Bus
from bridle.engine.drive import DriveSetup, submit
from bridle.engine.engine import Engine
from bridle.engine.local import LocalEngine
from bridle.errors import ConfigError
from bridle.journal.journal import Journal
from bridle.journal.open import open_journal
from bridle.model.model import Model
from bridle.runtime import argument_checks
from bridle.runtime.duplicate_prompts import refuse_other
from bridle.runtime.local_project import LocalProject
from bridle.runtime.mcp_servers import servers_for
from bridle.runtime.project import Backend
from bridle.runtime.session_changes import SessionChanges
from bridle.runtime.session_reader import SessionReader
from bridle.seams import Seams
from bridle.tools.tool import Tool
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn


class Runtime(SessionReader, SessionChanges, LocalProject):
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
        engine: Callable[[DriveSetup], Engine] | None = None,
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
        self._drives = DriveSetup(
            journal=self.journal,
            turns=self.turns,
            publish=self.bus.publish,
            seams=self.seams,
            actions=_actions(self.settings),
        )
        self.engine = (engine or LocalEngine)(self._drives)

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
        try:
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

    async def create(self, id: str | None = None) -> str:
        """A new session in this runtime's directory."""
        named = argument_checks.session_id(id) if id is not None else self.new_id()
        info = SessionInfo(named, str(self.directory), created=self.seams.clock.wall())
        await self.journal.create(info)
        return info.id

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        """Make a session for a first prompt; raises `ConfigError`, and makes none, if that prompt would be refused.

        Without options the prompt wants no turn, and nothing can refuse it.
        """
        if options is not None:
            state = Session()
            state.info = SessionInfo(id, str(self.directory), created=self.seams.clock.wall())
            await self.check(state, PromptItem("first", text, options=options))
        return await self.create(id)

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
            await self.check(await self._current(session), item)
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
        owner, id = read_ask_address(item.ask)
        await self._submit(owner or session, msgspec.structs.replace(item, ask=id))
        if owner:
            await self.engine.wake(session)

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
            await self.engine.wake(session)
        return item.id

    async def _submit(self, session: str, item: InboxItem) -> bool:
        return await submit(session, item, self.journal, self.engine)

    async def resume(self, session: str) -> None:
        """Go on with an interrupted turn, and with prompts that a failed one left for the person."""
        await self.engine.wake(session, held_prompts=True)


def _is_backend(runtime: Runtime) -> Backend:
    """Have the type checker compare a runtime with the protocols of surfaces."""
    return runtime


def _actions(settings: Settings) -> Callable[[ActiveTurn], Actions]:
    if not settings.hooks:
        return TurnActions
    # Loaded only where there are hooks.
    from bridle.turn.hook_actions import HookedActions

    return lambda active: HookedActions(TurnActions(active), active)
