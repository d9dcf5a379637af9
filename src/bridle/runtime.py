"""The front door: the only place where journal, engine, models and tools are wired together."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bridle.config.settings import Settings
from bridle.core.agent import Agent, ModelInfo
from bridle.core.events import (
    AbortItem,
    AnswerItem,
    Entry,
    ExtendItem,
    InboxItem,
    Live,
    PromptItem,
    SessionInfo,
    TurnOptions,
)
from bridle.core.fold import load as load_session
from bridle.core.limits import LimitName
from bridle.core.parts import File
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.core.status import Status, status_of
from bridle.engine.bus import Bus
from bridle.engine.engine import Parked
from bridle.engine.local import LocalEngine
from bridle.errors import ConfigError
from bridle.journal.journal import Journal, SessionRow
from bridle.journal.memory import MemoryJournal
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tackroom import SettingsTackRoom
from bridle.tools.tool import Tool

LOOK_SECONDS = 0.2


class Runtime:
    """Sessions, driven. Use it as an async context manager, or call `close`."""

    def __init__(
        self,
        *,
        journal: Journal | str | Path | None = None,
        settings: Settings | None = None,
        origins: Mapping[str, str] | None = None,
        models: Mapping[str, Model] | None = None,
        tools: Iterable[Tool] = (),
        agents: Iterable[Agent] = (),
        directory: str | Path = ".",
        outputs: Path | None = None,
        seams: Seams | None = None,
    ) -> None:
        """Without a journal, sessions are kept in memory; a path keeps them in SQLite."""
        self.settings = settings or Settings()
        self.seams = seams or Seams()
        self.directory = Path(directory).absolute()
        self.models = dict(models or {})
        self.journal = _journal(journal, self.settings, self.seams)
        self.bus = Bus()
        room = SettingsTackRoom(
            self.settings,
            origins or {},
            self._find_model,
            {tool.spec.name: tool for tool in tools},
            self.seams,
            {agent.name: agent for agent in agents},
            outputs,
        )
        self.agents = room.agents
        self.notices: tuple[str, ...] = ()
        self.engine = LocalEngine(self.journal, room, self.bus, self.seams)

    @classmethod
    def open(
        cls,
        directory: str | Path = ".",
        *,
        flags: Mapping[str, Any] | None = None,
        trusted: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Runtime:
        """The user's runtime for a project: settings from every layer, the built-in tools, the user's journal."""
        # Loaded only here: a library that brings its own tools and settings never needs them.
        from bridle.config.load import data_home, load, state_home
        from bridle.engine.steplog import StepLog
        from bridle.tools.registry import builtin_tools

        environment = os.environ if environment is None else environment
        folder = Path(directory).absolute()
        loaded = load(folder, environment=environment, flags=flags, trusted=trusted)
        path = loaded.settings.journal.path or data_home(environment) / "journal.db"
        runtime = cls(
            journal=path,
            settings=loaded.settings,
            origins=loaded.origins,
            tools=builtin_tools(),
            directory=folder,
            outputs=state_home(environment) / "outputs",
        )
        runtime.bus.listen(StepLog(state_home(environment) / "bridle.log", runtime.seams.clock))
        notice = getattr(runtime.journal, "notice", "")
        runtime.notices = (*loaded.notices, *((notice,) if notice else ()))
        return runtime

    def _find_model(self, ref: str) -> tuple[Model, ModelInfo]:
        model = self.models.get(ref)
        if model is None and ref.startswith("scripted:"):
            # Loaded only when it is asked for: most runtimes never play a script.
            from bridle.testing.scripted import ScriptedModel

            model = self.models[ref] = ScriptedModel.load(self.directory / ref.removeprefix("scripted:"))
        if model is None:
            known = f" (known: {', '.join(self.models)})" if self.models else ""
            raise ConfigError(f"there is no model {ref!r}{known}; use scripted:FILE to play a script")
        info: ModelInfo = getattr(model, "info", None) or ModelInfo(ref)
        return model, info

    async def __aenter__(self) -> Runtime:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Abort what runs here, wait until it is recorded, and let go of the journal. May be called twice."""
        for session in self.engine.active():
            await self.abort(session, detail="the runtime was closed")
        await self.engine.close()
        await self.journal.close()

    async def create(self, id: str | None = None) -> str:
        """A new session in this runtime's directory."""
        info = SessionInfo(id or self.seams.new_id("ses"), str(self.directory), created=self.seams.clock.wall())
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
    ) -> str:
        """Submit a prompt and wake its session; safe once this returns. The same id twice is one prompt."""
        item = PromptItem(id or self.seams.new_id("prm"), text, tuple(files), queue, reply, options)
        await self._submit(session, item)
        return item.id

    async def answer(
        self, session: str, ask: str, choice: Literal["once", "always", "reject"], feedback: str = ""
    ) -> None:
        """Answer an ask; the turn goes on with the same counters."""
        await self._submit(session, AnswerItem(self.seams.new_id("ans"), ask, choice, feedback))

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        """End the running turn; whoever drives it sees this within a second."""
        await self._submit(session, AbortItem(self.seams.new_id("abt"), turn, detail))

    async def extend(self, session: str, limit: LimitName, by: float) -> None:
        """Raise a limit of the running turn."""
        await self._submit(session, ExtendItem(self.seams.new_id("ext"), limit, by))

    async def _submit(self, session: str, item: InboxItem) -> None:
        await self.journal.submit(session, item)
        self.engine.wake(session)

    def resume(self, session: str) -> None:
        """Go on with an interrupted turn, and with prompts that a failed one left for the person."""
        self.engine.wake(session, held_prompts=True)

    async def parked(self, session: str) -> Parked:
        """Return once nothing can go on, here or in the process that holds the lease."""
        sequence = 0
        while True:
            parked = await self.engine.parked(session)
            if parked != "elsewhere":
                return parked
            if sequence == 0:
                sequence = len(await self.journal.load(session))
            await self.seams.sleep(LOOK_SECONDS)
            for entry in await self.journal.load(session, sequence):
                sequence = entry.sequence
                self.bus.publish(session, entry)
            # If the holder has died, or let go of the session, this process takes over.
            self.engine.wake(session)

    async def wait(self, session: str, prompt: str) -> Result:
        """What became of a prompt, once its turn has finished or a person is awaited."""
        await self.parked(session)
        return result_of(self.engine.session(session) or await self.load(session), prompt)

    async def stream(self, session: str, prompt: str) -> AsyncIterator[Entry | Live]:
        """The events of a session until `wait` would return; subscribe by calling this before anything awaits."""
        subscription = self.bus.subscribe(session)
        waiting = asyncio.ensure_future(self.parked(session))
        try:
            while True:
                event = subscription.waiting()
                if event is not None:
                    yield event
                elif waiting.done():
                    break
                else:
                    coming = asyncio.ensure_future(subscription.next())
                    await asyncio.wait([coming, waiting], return_when=asyncio.FIRST_COMPLETED)
                    if coming.done():
                        yield coming.result()
                    else:
                        coming.cancel()
            waiting.result()
        finally:
            waiting.cancel()
            self.bus.unsubscribe(session, subscription)

    async def load(self, session: str) -> Session:
        """The session as the journal has it now."""
        return load_session(await self.journal.load(session))

    async def status(self, session: str) -> Status:
        """What the session is doing, derived from its record and its lease."""
        return status_of(await self.load(session), held=await self.journal.held(session))

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the one that changed last first."""
        return await self.journal.sessions()


def _journal(given: Journal | str | Path | None, settings: Settings, seams: Seams) -> Journal:
    if given is None:
        return MemoryJournal()
    if isinstance(given, (str, Path)):
        # Loaded only when sessions are kept: a turn in memory needs no database.
        from bridle.journal.sqlite import SqliteJournal

        return SqliteJournal(Path(given).expanduser(), seams=seams, durability=settings.journal.durability)
    return given
