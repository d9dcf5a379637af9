"""The front door: the only place where journal, engine, models and tools are wired together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.assembly.command_environment import command_environment_for
from bridle.assembly.models import Models
from bridle.assembly.permissions import PermissionRules
from bridle.assembly.toolset import Toolset, described_subagents, subagent_tools
from bridle.assembly.turns import SettingsTurns
from bridle.config.agents import all_agents
from bridle.config.settings import Settings
from bridle.core.context import sound
from bridle.core.events import SessionInfo
from bridle.core.ids import read_ask_address
from bridle.core.inbox import AbortItem, AnswerItem, CompactItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from bridle.core.limits import LimitName, wrong_limit
from bridle.core.parts import File, TurnStart
from bridle.core.session import Session
from bridle.engine.bus import Bus
from bridle.engine.drive import DriveSetup, submit
from bridle.engine.engine import Engine
from bridle.engine.local import LocalEngine
from bridle.errors import ConfigError
from bridle.journal.open import open_journal
from bridle.runtime import argument_checks
from bridle.runtime.config import RuntimeConfig
from bridle.runtime.duplicate_prompts import refuse_other
from bridle.runtime.local_project import LocalProject
from bridle.runtime.mcp_servers import servers_for
from bridle.runtime.project import Backend
from bridle.runtime.session_changes import SessionChanges
from bridle.runtime.session_reader import SessionReader
from bridle.seams import Seams
from bridle.tools.output_buffer import OutputFolder
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn


class Runtime(SessionReader, SessionChanges, LocalProject):
    """Sessions, driven. Use it as an async context manager, or call `close`.

    `engine` makes the engine that drives the sessions; None means one in this process.
    """

    def __init__(
        self, config: RuntimeConfig | None = None, *, engine: Callable[[DriveSetup], Engine] | None = None
    ) -> None:
        config = config or RuntimeConfig()
        self.settings = argument_checks.fitting("settings", config.settings, Settings)
        self.seams = config.seams or Seams()
        self.directory = Path(config.directory).absolute()
        environment = os.environ if config.environment is None else config.environment
        self.models = Models(config.models, self.settings, environment, self.directory)
        self.bus = Bus()
        self.outputs = config.outputs
        self.snapshots = config.user.files
        self.commands = command_environment_for(
            self.settings, environment, config.user.guarded, config.outputs, self.directory
        )
        self.servers = servers_for(self.settings, self.commands, self.directory, self.seams)
        self.turns = self._turns(config)
        self.notices: tuple[str, ...] = ()
        self.journal = open_journal(config.journal, self.settings.journal.durability, self.seams)
        self._opened_journal = self.journal is not config.journal
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

    def _turns(self, config: RuntimeConfig) -> SettingsTurns:
        user = config.user
        agents = {**all_agents(self.settings, config.origins), **argument_checks.definitions(config.agents)}
        subagents = described_subagents(agents, config.subagents)
        tools = argument_checks.named_tools("tools", config.tools)
        restrictions = argument_checks.layers("restrictions", config.restrictions)
        return SettingsTurns(
            settings=self.settings,
            models=self.models,
            agents=agents,
            subagents=subagents,
            toolset=Toolset(
                {**tools, **user.skill_tools(), **subagent_tools(subagents)},
                user.built_in,
                self.servers,
                argument_checks.tools_of_agents(config.private_tools),
            ),
            rules=PermissionRules(
                self.settings.permission, (*restrictions, user.stricter), user.approvals, self.commands
            ),
            commands=self.commands,
            user=user,
            seams=self.seams,
            directory=self.directory,
            outputs=OutputFolder(config.outputs) if config.outputs is not None else None,
        )

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
        config = RuntimeConfig(
            journal=None if in_memory else found.journal,
            settings=found.settings,
            origins=found.origins,
            tools=found.tools,
            subagents=None,
            directory=directory,
            restrictions=found.restrictions,
            outputs=found.outputs,
            environment=environment,
            user=found.user,
        )
        runtime = cls(config)
        runtime.notices = runtime.file_notices = found.notices
        runtime.models.wanted = found.wanted
        if not in_memory:
            runtime.bus.listen(StepLog(found.log, runtime.seams.clock))
            runtime.file_notices += found.problems
            more = (getattr(runtime.journal, "notice", ""), runtime.commands.warning())
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
            await self.commands.close()
            if self.snapshots is not None:
                await self.snapshots.close()
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
        item = argument_checks.prompt_item(id, text, files, options, self.turns.subagents, queue=queue, reply=reply)
        item = msgspec.structs.replace(item, wants=tuple(wants), subtask=subtask)
        if reply:
            await self.check(await self._current(session), item)
        if not await self._submit(session, item):
            await refuse_other(self.journal, session, item)
        return item.id

    async def check(self, state: Session, item: PromptItem) -> None:
        """Raise `ConfigError` for a prompt whose turn could not begin, while its caller can still be told."""
        await self.turns.check(state, item)

    def preview(self, options: TurnOptions | None = None) -> TurnStart:
        """The turn that a first prompt would open now, with its system prompt; raises `ConfigError`."""
        session = Session()
        session.info = SessionInfo("preview", str(self.directory), created=self.seams.clock.wall())
        return self.turns.opening(session, PromptItem("preview", "", options=options), 1).start

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
