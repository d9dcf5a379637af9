"""`Runtime`: the front door, the only place that wires journal, engine, models and tools; takes prompts and answers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bridle.assembly.command_environment import command_environment_for
from bridle.assembly.limits import budget_in
from bridle.assembly.models import Models
from bridle.assembly.toolset import Toolset, described_subagents, handoffs, subagent_tools
from bridle.assembly.turns import SettingsTurns
from bridle.config.agents import all_agents
from bridle.config.settings import Settings
from bridle.core.context import sound
from bridle.core.events import SessionInfo
from bridle.core.ids import read_ask_address
from bridle.core.inbox import (
    AbortItem,
    AnswerItem,
    AtOnceItem,
    CompactItem,
    ExtendItem,
    InboxItem,
    PromptItem,
    SupplyItem,
    TurnOptions,
)
from bridle.core.limits import LimitName, wrong_limit
from bridle.core.messages import Message
from bridle.core.parts import File, TurnStart
from bridle.core.permission import Rule
from bridle.core.session import Session
from bridle.engine.bus import Bus
from bridle.engine.drive import DriveSetup, Others, settle, settle_abandoned, submit
from bridle.engine.engine import Engine
from bridle.engine.local import LocalEngine
from bridle.errors import ConfigError
from bridle.journal.journal import Journal, Lease, SharesDeltas
from bridle.journal.open import open_journal
from bridle.runtime import argument_checks
from bridle.runtime.config import RuntimeConfig
from bridle.runtime.mcp_servers import RuntimeServers
from bridle.runtime.observe import Observation
from bridle.runtime.project import Backend
from bridle.runtime.rare_methods import RareMethods
from bridle.runtime.session_reader import SessionReader
from bridle.runtime.sessions import Sessions
from bridle.seams import Seams
from bridle.tools.output_buffer import OutputFolder
from bridle.turn.actions import Actions, TurnActions
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.caller import Program
from bridle.values.argument_kinds import checked_methods

if TYPE_CHECKING:
    from bridle.runtime.listen import Listen, Listening

MakesEngine = Callable[[DriveSetup], Engine]


@checked_methods(Sessions, but=("messages",))
class Runtime(SessionReader, RareMethods):
    """Runs the sessions of a journal; implements `Sessions`. Use it as an async context manager, or call `close`.

    `engine` creates the engine that drives the sessions; None means one in this process.
    """

    def __init__(self, config: RuntimeConfig | None = None, *, engine: MakesEngine | None = None) -> None:
        config = argument_checks.fitting_config(config)
        self.settings = config.settings
        self.origins = config.origins
        self.seams = config.seams or Seams()
        self.directory = Path(config.directory).absolute()
        environment = os.environ if config.environment is None else config.environment
        self.models = Models(config.models, self.settings, environment, self.directory, windows=config.windows)
        self.outputs = config.outputs
        self.snapshots = config.user.files
        self.commands = command_environment_for(
            self.settings,
            environment,
            config.user.guarded,
            config.outputs,
            self.directory,
            caches=config.user.caches,
            journal=config.journal,
            servers=config.private_servers,
        )
        self._servers = RuntimeServers(config, self.commands, self.directory, self.seams)
        self.servers = self._servers.shared
        given = self.settings.journal
        self.journal = open_journal(
            config.journal, given.durability, self.seams, listen_url=given.listen_url, schema=given.schema
        )
        self._opened_journal = self.journal is not config.journal
        self.bus = Bus(self.journal.deltas if isinstance(self.journal, SharesDeltas) else None)
        self._observation = Observation(self.settings.telemetry, environment, self.bus, self.journal)
        self.models.request_headers = self._observation.request_headers
        # Only leases that can run out have lifelines.
        self.commands.lifelines = getattr(self.journal, "lifelines", self.commands.lifelines)
        self.turns = self._turns(config)
        self.notices: tuple[str, ...] = ()
        self.file_notices: tuple[str, ...] = ()
        """Notices about configuration files; they are shown again only when the files change."""
        self._drives = DriveSetup(
            journal=self.journal,
            turns=self.turns,
            publish=self.bus.publish,
            seams=self.seams,
            actions=_actions(self.settings, config.program),
        )
        self.engine = (engine or _engine_of(self.settings))(self._drives)
        self._app = argument_checks.plain_name("app", config.app)
        self.place = argument_checks.plain_name("workers.place", config.place)
        self._listening: list[Listening] = []

    def _turns(self, config: RuntimeConfig) -> SettingsTurns:
        user = config.user
        agents = {**all_agents(self.settings, config.origins), **argument_checks.definitions(config.agents)}
        subagents = described_subagents(agents, config.subagents)
        named = argument_checks.named_tools
        tools = {**named("tools", config.tools), **user.skill_tools(), **subagent_tools(subagents)}
        private = {agent: named(f"agent {agent}: tools", own) for agent, own in config.private_tools.items()}
        handing = [agent.name for agent in agents.values() if agent.handoffs]
        private |= {name: {**private.get(name, {}), **handoffs(agents, name)} for name in handing}
        layers = argument_checks.fitting("restrictions", tuple(config.restrictions), tuple[tuple[Rule, ...], ...])
        return SettingsTurns(
            settings=self.settings,
            models=self.models,
            agents=agents,
            subagents=subagents,
            toolset=Toolset(tools, user.built_in, self.servers, private, self._servers.private),
            restrictions=(*layers, user.stricter),
            commands=self.commands,
            user=user,
            seams=self.seams,
            directory=self.directory,
            outputs=OutputFolder(config.outputs) if config.outputs is not None else None,
            journal=self.journal,
            account=argument_checks.plain_name("account", config.account),
            program=config.program,
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
        journal: Journal | None = None,
        engine: MakesEngine | None = None,
    ) -> Runtime:
        """Return a runtime for a project with settings from every layer, the built-in tools and the user's journal.

        With `in_memory` no journal is opened and nothing is written, for read-only callers. A given `journal` takes the
        place of the user's; its caller closes it.
        """
        # Imported here because library users with their own tools and settings never need them.
        from bridle.engine.step_log import StepLog
        from bridle.runtime.project_setup import set_up_project

        environment = os.environ if environment is None else environment
        found = set_up_project(Path(directory).absolute(), environment, flags=flags, trusted=trusted)
        config = found.config
        if in_memory or journal is not None:
            config = replace(config, journal=journal)
        runtime = cls(config, engine=engine)
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
        """Abort running turns, wait until that is recorded, and close the journal if it was opened here. Idempotent."""
        try:
            await self.engine.close()
        finally:
            for listening in self._listening:
                await listening.end()
            await self._observation.close()
            await self._servers.close()
            await self.commands.close()
            if self.snapshots is not None:
                await self.snapshots.close()
            await self.models.close()
            if self._opened_journal:
                # A journal passed in by the caller may be in use by another runtime.
                await self.journal.close()

    def listen(self, listener: Listen) -> None:
        """Call a function with every public event of every session that this runtime drives, subagents included.

        Deltas are left out; usage and cost stand in the events `step_finish` and `turn_finish`. Events of a session
        come in order, after they are recorded, and all of them before `close` returns. The function is called in the
        event loop and must be quick; its exceptions are logged and change nothing.
        """
        # Imported only if a program listens.
        from bridle.runtime.listen import Listening

        self._listening.append(Listening(self.bus, self.journal, listener))

    async def create(
        self,
        id: str | None = None,
        *,
        messages: Iterable[Message] = (),
        title: str = "",
        agent: str = "",
        model: str = "",
        denied: Sequence[str] = (),
    ) -> str:
        """Create a session in this runtime's directory and return its id. Idempotent for the same id and messages.

        The model reads `messages` before the first prompt: those of another session, `from_openai` or `from_anthropic`.
        `agent` and `model` are those of the first turn, unless its prompt names others. No turn offers `denied` tools.
        Raises `ConfigError` for an invalid id, agent or model, for messages that no model can read, and if the session
        exists without these messages.
        """
        history = argument_checks.history(messages)
        named = self.new_id() if id is None else argument_checks.session_id(id)
        given = {"title": sound(title), "agent": agent, "model": model, "denied": tuple(denied)}
        info = msgspec.structs.replace(self._new_info(named), **given)
        if agent or model:
            await self.check(Session(info), PromptItem("first", ""))
        await self.journal.create(info)
        if history is not None:
            # Imported only for a session that begins with a conversation.
            from bridle.runtime.given_history import begin_with

            await begin_with(self, info.id, history)
        return info.id

    def _new_info(self, id: str) -> SessionInfo:
        return SessionInfo(id, str(self.directory), "", self.seams.clock.wall(), app=self._app, place=self.place)

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        """Create a session for a first prompt; raises `ConfigError`, and creates none, if the prompt would be refused.

        Without options the prompt starts no turn, so it cannot be refused.
        """
        if options is not None:
            await self.check(Session(self._new_info(id)), PromptItem("first", text, options=options))
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
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Submit a prompt and wake its session; durable once this returns. Idempotent for the same id.

        `wants` are subagents that the turn may start without asking; `subtask` is the one that works on the prompt.
        Raises `ConfigError` if the turn cannot begin (unknown agent or model, invalid limits), or if the id was used
        for another prompt. An id begins with a letter.
        """
        id = self.seams.new_id("prm") if id is None else id
        item = PromptItem(id, text, tuple(files), queue=queue, reply=reply, options=options)
        placed = self._observation.placed(metadata or {})
        item = msgspec.structs.replace(item, wants=tuple(wants), subtask=subtask, metadata=placed)
        item = argument_checks.sound_prompt(item, self.turns.subagents)
        if reply:
            await self.check(await self._current(session), item)
        if not await self._submit(session, item):
            await self._refuse_other(session, item)
        return item.id

    async def delegate(self, session: str, item: PromptItem) -> None:
        """Submit the prompt of a turn above this session, with its terms, and wake the session."""
        await self.check(await self._current(session), item)
        await self._submit(session, item)

    async def supply(self, session: str, call: str, output: str, *, failed: bool = False) -> None:
        """Give the result of a deferred call, in any process; the turn continues when it is driven."""
        item = SupplyItem(self.seams.new_id("sup"), call, sound(output), failed)
        await self._submit(session, argument_checks.recordable(item))

    async def check(self, state: Session, item: PromptItem) -> None:
        """Raise `ConfigError` for a prompt whose turn could not begin, before the prompt is submitted."""
        await self.turns.check(state, item)

    def preview(self, options: TurnOptions | None = None) -> TurnStart:
        """Return the turn that a first prompt would open now, with its system prompt; raises `ConfigError`."""
        session = Session(self._new_info("preview"))
        paid = budget_in(self.settings).limits_cost
        return self.turns.opening(session, PromptItem("preview", "", options=options), 1, paid=paid).start

    async def answer(
        self,
        session: str,
        ask: str,
        choice: Literal["once", "always", "reject"],
        feedback: str = "",
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        """Answer a permission request of this session or its subagents; the turn continues with the same counters.

        With `arguments`, the call runs with these instead of the model's, if they fit its tool and no rule denies them.
        """
        words = sound(feedback) if isinstance(feedback, str) else feedback
        changed = dict(arguments) if arguments is not None else None
        item = argument_checks.recordable(AnswerItem(self.seams.new_id("ans"), ask, choice, words, changed))
        owner, id = read_ask_address(item.ask)
        await self._submit(owner or session, msgspec.structs.replace(item, ask=id))
        if owner:
            await self.engine.wake(session)

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn; the process that drives it notices within a second."""
        await self._submit(session, argument_checks.recordable(AbortItem(self.seams.new_id("abt"), turn, detail)))

    async def compact(self, session: str) -> None:
        """Compact the session's context: in the running turn before its next step, or else in a separate turn."""
        await self._submit(session, CompactItem(self.seams.new_id("cmp")))

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        """Raise a limit of the running turn, in any process; return the id to pass to `extended`.

        Raises `ConfigError` for an invalid limit.
        """
        problem = wrong_limit(limit, by) or (None if by else "must be more than 0")
        if problem is not None:
            raise ConfigError(f"extend: {limit} {problem}")
        item = argument_checks.recordable(ExtendItem(self.seams.new_id("ext"), limit, by))
        await self.journal.submit(session, item)
        # A turn that waits for the user or its subagents takes the item and waits on; an interrupted one is not woken.
        if self.drives(session) or (await self.status(session)).state == "paused":
            await self.engine.wake(session)
        return item.id

    async def _submit(self, session: str, item: InboxItem) -> bool:
        return await submit(session, item, self.journal, self.engine)

    async def settle(self, session: str, item: AtOnceItem) -> None:
        """Submit an item that changes no turn; return once it is recorded, in whichever process."""
        await settle(session, item, self._drives, self.engine)

    async def settle_abandoned(self, lease: Lease) -> None:
        """Settle what a dead process left open in a session that is leased here."""
        await settle_abandoned(lease, self._drives, Others(lease.session, self._drives, self.engine))

    async def resume(self, session: str) -> None:
        """Continue an interrupted turn, and prompts that were held back after a failed turn."""
        await self.engine.wake(session, held_prompts=True)


def _is_backend(runtime: Runtime) -> Backend:
    """Make the type checker verify that `Runtime` implements `Backend`."""
    return runtime


def _engine_of(settings: Settings) -> MakesEngine:
    if not settings.workers.drive:
        return LocalEngine
    # Imported only if workers drive: it needs the client of a database.
    try:
        from bridle.engine.workers import WorkersEngine
    except ImportError as error:
        raise ConfigError(f"workers.drive needs an extra: pip install 'bridle[postgres]' ({error})") from error

    return WorkersEngine


def _actions(settings: Settings, program: Program | None) -> Callable[[ActiveTurn], Actions]:
    if not settings.hooks and (program is None or not program.has_hooks):
        return TurnActions
    # Imported only if there are hooks.
    from bridle.turn.hook_actions import HookedActions

    return HookedActions
