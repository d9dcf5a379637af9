"""The session screen: transcript, limits and editor. It submits, answers and follows; the engine decides."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from textual import work
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Footer

from bridle.core.inbox import TurnOptions
from bridle.core.ledger import Account
from bridle.core.parts import Prompt
from bridle.core.session import OpenTurn, Session
from bridle.core.states import Ask
from bridle.core.status import status_of
from bridle.errors import BridleError
from bridle.runtime.project import Backend, submit_prompt
from bridle.surfaces.shared.limit_levels import NEAR, nearest
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.asks import AskReply, AskScreen, Confirm
from bridle.surfaces.tui.editor import Completions, Editor
from bridle.surfaces.tui.paste import Pasted
from bridle.surfaces.tui.transcript import SessionScreen
from bridle.surfaces.tui.widgets import Static

TICK_SECONDS = 0.5
DOUBT_SECONDS = 1.0
CONTINUE = "continue"


class Chat(SessionScreen):
    """The screen of one session."""

    @dataclass
    class Told(Message):
        """A notification for a person who looks elsewhere; `rests` means that the session is no longer running."""

        words: str
        rests: bool

    headline: reactive[str] = reactive("bridle")
    """The title of the terminal window."""

    def __init__(self, runtime: Backend, session: str | None) -> None:
        super().__init__(runtime, session or runtime.new_id())
        self.begun = session is not None
        """Whether the session exists: a new one is created with its first prompt."""
        self.agent: str | None = None
        self.model: str | None = None
        self._completions = Completions(id="completions")
        self.editor = Editor(self._completions, self._known, runtime.directory)
        self._asking = False
        self._put: AskScreen | None = None
        self._driving: Counter[str] = Counter()
        self._status = ""
        self._near: tuple[str, str] = ("", "")
        self._doubted: float | None = None
        self._tree: Account | None = None
        self._clock = (0.0, 0.0)

    def compose(self) -> ComposeResult:
        yield Static("", id="head")
        yield self.transcript
        yield self.gauge
        yield self._completions
        yield self.editor
        yield Footer()

    def _known(self) -> list[str]:
        agents = [f"@{row.agent.name}" for row in self.runtime.agents() if row.agent.mode != "primary"]
        return [*(f"/{name}" for name in self.runtime.preferences().commands), *agents]

    async def on_mount(self) -> None:
        self._completions.display = False
        self.editor.focus()
        self.set_interval(TICK_SECONDS, self._tick)
        await (self.open(self.id_of_session) if self.begun else self.fresh())
        if not self.transcript.session.parts:
            self._welcome()

    @work
    async def _welcome(self) -> None:
        """Show the model that would be used, or how to get one."""
        try:
            ref, why = await self.runtime.chosen_model()
            words = f"{ref} answers here ({why})."
        except BridleError as error:
            words = str(error)
        await self.transcript.greet(words)

    async def fresh(self) -> None:
        """Show a new session, which is created with its first prompt."""
        self.workers.cancel_group(self, "follow")
        await self._show(self.runtime.new_id(), Session())
        self.begun = False

    async def open(self, session: str) -> None:
        """Show a session and follow its events."""
        state = await self.runtime.load(session)
        self.begun = True
        await self._show(session, state)
        self.follow(session, state.sequence)

    async def _show(self, session: str, state: Session) -> None:
        self.id_of_session = session
        self._asking = False
        self._status = ""
        await self.transcript.open(state)
        self.editor.asked = [part.text for part in state.parts.values() if isinstance(part, Prompt)]
        await self.look()

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
            state = self._status
        if state != self._status and not self._may_go_on(state):
            self._status, before = state, self._status
            if before in ("busy", "retry") and state in ("idle", "paused", "interrupted"):
                self.post_message(self.Told(self._ended(), rests=True))
        self._clock = (asyncio.get_running_loop().time(), session.elapsed)
        self._warn(session.running)
        self._tree = await self.runtime.tree_account(session)
        self.show_state()
        asks = session.running.asks if session.running is not None else ()
        if self._put is not None and all(ask.id != self._put.ask.id for ask in asks):
            self._put.withdraw()
        elif asks and not self._asking:
            self._asking = True
            self._ask(asks[0])

    def _may_go_on(self, state: str) -> bool:
        """Return whether an apparent interruption may be a mere delay: it is believed after `DOUBT_SECONDS`."""
        now = asyncio.get_running_loop().time()
        if state != "interrupted" or self._status not in ("busy", "retry"):
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
        ended = turn.finish.reason if turn is not None and turn.finish is not None else self._status
        return f"bridle: {ended}"

    def show_state(self) -> None:
        """Update the head, the gauge and the window title."""
        session = self.transcript.session
        info, turn = session.info, session.turn
        first = next((part.text for part in session.parts.values() if isinstance(part, Prompt)), "new session")
        title = info.title if info is not None and info.title else first
        who = self.agent or (turn.start.agent if turn is not None else self.runtime.preferences().agent)
        model = self.model or (turn.start.model if turn is not None else self.runtime.preferences().model)
        self.query_one("#head", Static).update(f" {line(title)[:60]}   {line(who)} · {line(model)}")
        self.gauge.show(session, self._elapsed(), self._status, self._tree)
        step = f" · step {turn.steps}/{turn.cap}" if turn is not None and self._status != "idle" else ""
        self.headline = f"bridle: {self._status or 'idle'}{step}"

    def _elapsed(self) -> float:
        at, elapsed = self._clock
        if self._status in ("busy", "retry"):
            return elapsed + asyncio.get_running_loop().time() - at
        return self.transcript.session.elapsed

    async def _tick(self) -> None:
        if self._doubted is not None:
            await self.look()
        elif self._status in ("busy", "retry"):
            self.show_state()

    @work
    async def _ask(self, ask: Ask) -> None:
        session, self._put = self.id_of_session, AskScreen(ask, self.editor)
        reply: AskReply | None = await self.app.push_screen_wait(self._put)
        over, self._put = self._put.over, None
        if reply is not None:
            await self.runtime.answer(session, ask.id, *reply)
            await self.runtime.resume(session)
        # A postponed ask stays open; a prompt or an abort rejects it.
        self._asking = reply is None and not over
        if over:
            await self.look()

    async def on_editor_sent(self, event: Editor.Sent) -> None:
        self.send(event.text, event.pasted)

    async def on_sentinel_view_continued(self) -> None:
        await self.go_on()

    async def go_on(self) -> None:
        """Continue after a limit, or resume an interrupted turn."""
        if self._status == "interrupted":
            await self.resume()
        elif self.begun:
            self.send(CONTINUE, Pasted())

    async def resume(self) -> None:
        """Resume an interrupted turn and drive it to its end."""
        await self.runtime.resume(self.id_of_session)
        turn = self.transcript.session.running
        if turn is not None and turn.prompts:
            self._drive(self.id_of_session, turn.prompts[-1])

    @work
    async def send(self, typed: str, pasted: Pasted) -> None:
        """Submit a prompt and drive its turn."""
        options, session = TurnOptions(self.agent, self.model, "person"), self.id_of_session
        words, files = pasted.sent(typed)
        try:
            asked = await self.runtime.expand(words, self._confirm, typed=typed, agent=self.agent)
            if not self.begun:
                await self.open(await self.runtime.begin(session, asked.text, asked.over(options)))
            id = await submit_prompt(self.runtime, session, asked, options, files=files)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            self.editor.put_back(typed, pasted)
            return
        self._asking = False
        self._drive(session, id)

    async def _confirm(self, command: str) -> bool:
        return await self.app.push_screen_wait(Confirm("Do this for the prompt?", command, self.editor))

    @work(group="drive")
    async def _drive(self, session: str, prompt: str) -> None:
        """Wait for a prompt's turn: the waiter detects dead subagents and turns that can continue."""
        self._driving[session] += 1
        try:
            await self.runtime.wait(session, prompt)
        except BridleError as error:
            self.notify(str(error), severity="error", timeout=20)
        finally:
            self._driving -= Counter([session])
        await self.look()

    async def ask_again(self) -> None:
        """Show a postponed ask again."""
        self._asking = False
        await self.look()

    async def extend(self) -> str:
        """Raise the limit with the highest share used by half; return the outcome as text."""
        turn = self.transcript.session.running
        level = nearest(turn, self._elapsed()) if turn is not None else None
        if turn is None or level is None:
            return "no turn is running, so there is no limit to raise"
        name = level.limit.name
        by = max(level.limit.extension, round((turn.limits.of(name) or 0) / 2))
        await self.runtime.extend(self.id_of_session, name, by)
        return f"{name} raised by {by:g}"

    @property
    def busy(self) -> bool:
        return self._status in ("busy", "retry", "paused")
