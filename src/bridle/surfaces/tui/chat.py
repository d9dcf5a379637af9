"""`Chat`, the session screen: transcript, limits and editor. It submits, answers and follows; the engine decides."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Footer

from bridle.core.ledger import Account
from bridle.core.limits import LIMITS, LimitName
from bridle.core.parts import Prompt
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask
from bridle.core.status import status_of
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.surfaces.shared.limit_levels import NEAR, nearest, reason_words
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.asks import AskReply, AskScreen
from bridle.surfaces.tui.commands import CommandTable
from bridle.surfaces.tui.completion import Completer, Completion, Completions
from bridle.surfaces.tui.editor import Editor
from bridle.surfaces.tui.history import PromptHistory
from bridle.surfaces.tui.host import NOTHING_CHOSEN, StartChoices
from bridle.surfaces.tui.keys import KeyMap
from bridle.surfaces.tui.mode_line import APPROVALS
from bridle.surfaces.tui.prompting import Prompting
from bridle.surfaces.tui.session_screen import TurnFacts
from bridle.surfaces.tui.widgets import Static

TICK_SECONDS = 0.5
DOUBT_SECONDS = 1.0


class Setting(NamedTuple):
    """The settings of a session screen, given by its application."""

    keys: KeyMap
    commands: CommandTable
    history: PromptHistory
    choices: StartChoices = NOTHING_CHOSEN


class Chat(Prompting):
    """The screen of one session."""

    @dataclass
    class Told(Message):
        """A notification for a person who looks elsewhere; `rests` means that the session is no longer running."""

        words: str
        rests: bool

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "escape", show=False)]

    headline: reactive[str] = reactive("bridle")
    """The title of the terminal window."""

    def __init__(
        self,
        runtime: Backend,
        session: str | None,
        setting: Setting,
    ) -> None:
        super().__init__(runtime, session)
        self.commands = setting.commands
        self.agent, self.model = setting.choices.agent, setting.choices.model
        self._first = setting.choices.prompt
        # Held, since it is updated once more after the application has been left and finds no widgets.
        self._head = Static("", id="head")
        self._completions = Completions()
        self._completer = Completer(setting.commands)
        project = Path(runtime.directory)
        self.editor = Editor(self._completions, self._complete, setting.keys, setting.history, project)
        self._asking = False
        self._put: AskScreen | None = None
        self._near: tuple[str, str] = ("", "")
        self._doubted: float | None = None
        self._tree: Account | None = None
        self._clock = (0.0, 0.0)

    def compose(self) -> ComposeResult:
        yield self._head
        yield from self.middle()
        yield self.gauge
        yield self.waiting
        yield self.mode_line
        yield self._completions
        yield self.editor
        yield self.status_line
        yield Footer()

    async def _complete(self, word: str) -> list[Completion]:
        return await self._completer.find(self.runtime, word)

    async def on_mount(self) -> None:
        self._completions.display = False
        self.editor.focus()
        self.set_interval(TICK_SECONDS, self._tick)
        await (self.open(self.id_of_session) if self.begun else self.fresh())
        if not self.transcript.session.parts:
            self._welcome()
        if self._first:
            self.editor.put(self._first)
            self.editor.send()

    @work
    async def _welcome(self) -> None:
        """Show the model that would be used, or how to get one."""
        try:
            ref, why = await self.runtime.chosen_model() if self.model is None else (self.model, "as you asked")
            words = f"{ref} answers here ({why})."
        except BridleError as error:
            words = str(error)
        await self.transcript.greet(words)

    async def fresh(self) -> None:
        """Show a new session, which is created with its first prompt."""
        self.begun = False
        await self._show(self.runtime.new_id(), Session())

    async def open(self, session: str) -> None:
        """Show a session and follow its events."""
        state = await self.runtime.load(session)
        self.begun = True
        await self._show(session, state)
        self.follow(session, state.sequence)

    async def _show(self, session: str, state: Session) -> None:
        # Before anything else: no event of the session that is left may reach the other one.
        self.workers.cancel_group(self, "follow")
        self.id_of_session = session
        self._asking = False
        self.status = ""
        await self.transcript.open(state)
        self.editor.prompts.opened([part.text for part in state.parts.values() if isinstance(part, Prompt)])
        await self.look()
        await self.look_at_waiting()

    async def on_transcript_view_undone(self) -> None:
        await self.open(self.id_of_session)

    async def look(self) -> None:
        """Refresh the head and the gauge from the session's state, and show its first open ask."""
        session = self.transcript.session
        # Between an answer and the next lease there is no lease holder, but the session continues.
        held = self.id_of_session in self._driving or await self.runtime.is_driven(self.id_of_session)
        state: str = status_of(session, held=held).state
        if state == "interrupted" and (await self.runtime.load(self.id_of_session)).sequence > session.sequence:
            # The screen lags behind the record, which may have ended the turn; the missing entries are on their way.
            state = self.status
        if state != self.status and not self._may_go_on(state):
            self.status, before = state, self.status
            if before in ("busy", "retry") and state in ("idle", "paused", "interrupted"):
                self.post_message(self.Told(self._ended(), rests=True))
        self._clock = (asyncio.get_running_loop().time(), session.elapsed)
        self._warn(session.running)
        self._tree = await self.runtime.tree_account(session)
        self.look_at_subagents()
        self.show_state()
        await self.transcript.show_interrupted(self.status == "interrupted")
        if self.waiting.items:
            await self.look_at_waiting()
        asks = session.running.asks if session.running is not None else ()
        if not asks:
            self.mode_line.say("asks", "")
        if self._put is not None and all(ask.id != self._put.ask.id for ask in asks):
            self._put.withdraw()
        elif asks and not self._asking:
            self._asking = True
            self._ask(asks[0])

    def _may_go_on(self, state: str) -> bool:
        """Return whether an apparent interruption may be a mere delay: it is believed after `DOUBT_SECONDS`."""
        now = asyncio.get_running_loop().time()
        if state != "interrupted" or self.status not in ("busy", "retry"):
            self._doubted = None
            return False
        self._doubted = self._doubted if self._doubted is not None else now
        return now - self._doubted < DOUBT_SECONDS

    def _warn(self, turn: OpenTurn | None) -> None:
        """Warn once when a limit is near."""
        level = nearest(turn, self._elapsed()) if turn is not None else None
        if turn is None or level is None or (level.share or 0.0) < NEAR:
            return
        near = (turn.start.id, level.limit.name)
        if near != self._near:
            self._near = near
            self.post_message(self.Told(f"bridle nears a limit: {level.limit.label} {level.words}", rests=False))

    def _ended(self) -> str:
        """Return how the turn ended, in one line."""
        turn = self.transcript.session.turn
        asks = turn.asks if turn is not None else ()
        if asks:
            return f"bridle asks: {asks[0].text}"
        finish = turn.finish if turn is not None else None
        return f"bridle: {reason_words(finish.reason) if finish is not None else self.status}"

    def show_state(self) -> None:
        """Update the head, the gauge and the window title."""
        session = self.transcript.session
        info, turn = session.info, session.turn
        self.mode_line.say("approvals", APPROVALS[self.approvals])
        first = next((part.text for part in session.parts.values() if isinstance(part, Prompt)), "new session")
        title = info.title if info is not None and info.title else first
        self._head.update(line(title))
        self.show_facts(TurnFacts(self._elapsed(), self.status, self._tree, self.agent_now, self.model_now))
        step = f" · step {turn.used.steps}/{turn.cap}" if turn is not None and self.status != "idle" else ""
        self.headline = f"bridle: {self.status or 'idle'}{step}"

    def _elapsed(self) -> float:
        at, elapsed = self._clock
        if self.status in ("busy", "retry"):
            return elapsed + asyncio.get_running_loop().time() - at
        return self.transcript.session.elapsed

    async def _tick(self) -> None:
        if self._doubted is not None:
            await self.look()
        elif self.status in ("busy", "retry"):
            self.look_at_subagents()
            self.show_state()

    @work
    async def _ask(self, ask: Ask) -> None:
        session, self._put = self.id_of_session, AskScreen(ask, self.editor)
        reply: AskReply | None = await self.app.push_screen_wait(self._put)
        over, self._put = self._put.over, None
        if reply is not None:
            await self._answer(session, ask, reply)
        # A postponed ask stays open; a prompt or an abort rejects it.
        self._asking = reply is None and not over
        self.mode_line.say("asks", "a request waits for your answer: /asks shows it" if self._asking else "")
        if over:
            await self.look()

    async def _answer(self, session: str, ask: Ask, reply: AskReply) -> None:
        try:
            await self.runtime.answer(session, ask.id, *reply)
            await self.runtime.resume(session)
        except BridleError as error:
            # Another person may have answered at the same time, or may not be allowed to.
            self.notify(line(str(error)), severity="error", timeout=20)

    def postpone_no_ask(self) -> None:
        self._asking = False
        self.mode_line.say("asks", "")

    async def ask_again(self) -> None:
        """Show a postponed ask again."""
        self.postpone_no_ask()
        await self.look()

    async def extend(self) -> str:
        """Raise the limit with the highest share used by half; return the outcome as text."""
        turn = self.transcript.session.running
        level = nearest(turn, self._elapsed()) if turn is not None else None
        if turn is None or level is None:
            return "no turn is running, so there is no limit to raise"
        return await self.raise_limit(level.limit.name)

    async def raise_limit(self, name: LimitName) -> str:
        """Raise a limit of the running turn by half; return the outcome as text."""
        turn = self.transcript.session.running
        if turn is None:
            return "no turn is running, so there is no limit to raise"
        by = max(LIMITS[name].extension, round((turn.limits.of(name) or 0) / 2))
        await self.runtime.extend(self.id_of_session, name, by)
        return f"{name} raised by {by:g}"
