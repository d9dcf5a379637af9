"""The screen of a session: transcript, limits, editor; it submits, answers and follows, and decides nothing."""

from __future__ import annotations

import asyncio

from textual import work
from textual.app import ComposeResult
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import Footer, Static

from bridle.core.events import Entry
from bridle.core.inbox import TurnOptions
from bridle.core.limits import LimitName
from bridle.core.parts import Prompt
from bridle.core.states import Ask
from bridle.core.status import status_of
from bridle.errors import BridleError
from bridle.runtime import Runtime
from bridle.runtime.commanded import commanded
from bridle.runtime.following import follow
from bridle.surfaces.levels import nearest
from bridle.surfaces.plain import line
from bridle.surfaces.tui.dialogs import AskScreen, Reply
from bridle.surfaces.tui.editor import Completions, Editor
from bridle.surfaces.tui.gauge import Gauge
from bridle.surfaces.tui.transcript import Transcript
from bridle.surfaces.tui.views import text

TICK_SECONDS = 0.5
LEAST_EXTENSION: dict[LimitName, float] = {"steps": 5, "tool_calls": 20, "tokens": 50_000, "cost": 0.5, "seconds": 120}
CONTINUE = "continue"


class Chat(Screen[None]):
    """One session."""

    class Rested(Message):
        """A turn has ended, or awaits a person."""

    headline: reactive[str] = reactive("bridle")
    """What the title of the terminal says."""

    def __init__(self, runtime: Runtime, session: str) -> None:
        super().__init__()
        self.runtime = runtime
        self.id_of_session = session
        self.agent: str | None = None
        self.model: str | None = None
        self.transcript = Transcript()
        self.gauge = Gauge()
        completions = Completions(id="completions")
        self.editor = Editor(completions, self._known, runtime.directory)
        self._completions = completions
        self._asking = False
        self._driving = 0
        self._status = ""
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
        return [*(f"/{name}" for name in self.runtime.settings.commands), *agents]

    async def on_mount(self) -> None:
        self._completions.display = False
        self.editor.focus()
        self.set_interval(TICK_SECONDS, self._tick)
        await self.open(self.id_of_session)
        if not self.transcript.session.parts:
            self._welcome()

    @work
    async def _welcome(self) -> None:
        """What there is to begin with: the model that would be asked, or how to get one."""
        try:
            await self.runtime.models.prepare(None)
            ref, why = self.runtime.models.choose()
            words = f"{ref} answers here ({why})."
        except BridleError as error:
            words = str(error)
        await self.transcript.greet(words)

    async def open(self, session: str) -> None:
        """Show a session, and follow it from here on."""
        self.id_of_session = session
        self._asking = False
        state = await self.runtime.load(session)
        await self.transcript.open(state)
        self.editor.asked = [part.text for part in state.parts.values() if isinstance(part, Prompt)]
        self._follow(session, state.sequence)
        await self._look()

    @work(exclusive=True, group="follow")
    async def _follow(self, session: str, after: int) -> None:
        try:
            async for event in follow(self.runtime, session, after):
                await self.transcript.take(event)
                if isinstance(event, Entry):
                    await self._look()
        except BridleError as error:
            self.notify(str(error), severity="error", timeout=20)

    async def on_transcript_undone(self) -> None:
        await self.open(self.id_of_session)

    async def _look(self) -> None:
        """See how the session stands: the head, the gauge, and whether a person is awaited."""
        session = self.transcript.session
        # Between an answer and the next lease nobody holds the session, and yet it goes on.
        held = self._driving > 0 or self.runtime.drives(self.id_of_session)
        state = status_of(session, held=held).state
        if state != self._status:
            self._status, before = state, self._status
            if before in ("busy", "retry") and state in ("idle", "paused", "interrupted"):
                self.post_message(self.Rested())
        self._clock = (asyncio.get_running_loop().time(), session.elapsed)
        self.show_state()
        asks = session.running.asks if session.running is not None else ()
        if asks and not self._asking:
            self._asking = True
            self._ask(asks[0])

    def show_state(self) -> None:
        """The head and the gauge, as they are now."""
        session = self.transcript.session
        info, turn = session.info, session.turn
        first = next((part.text for part in session.parts.values() if isinstance(part, Prompt)), "new session")
        title = info.title if info is not None and info.title else first
        who = self.agent or (turn.start.agent if turn is not None else self.runtime.settings.agent)
        model = self.model or (turn.start.model if turn is not None else self.runtime.settings.model or "")
        self.query_one("#head", Static).update(text(f" {line(title)[:60]}   {who} · {model}"))
        self.gauge.show(session, self._elapsed(), self._status)
        step = f" · step {turn.steps}/{turn.cap}" if turn is not None and self._status != "idle" else ""
        self.headline = f"bridle: {self._status or 'idle'}{step}"

    def _elapsed(self) -> float:
        at, elapsed = self._clock
        if self._status in ("busy", "retry"):
            return elapsed + asyncio.get_running_loop().time() - at
        return self.transcript.session.elapsed

    def _tick(self) -> None:
        if self._status in ("busy", "retry"):
            self.show_state()

    @work
    async def _ask(self, ask: Ask) -> None:
        reply: Reply | None = await self.app.push_screen_wait(AskScreen(ask))
        if reply is not None:
            await self.runtime.answer(self.id_of_session, ask.id, *reply)
            self.runtime.resume(self.id_of_session)
        # What is put off stays open; a prompt rejects it, and so does an abort.
        self._asking = reply is None

    async def on_editor_sent(self, event: Editor.Sent) -> None:
        await self.send(event.text)

    async def on_sentinel_view_continued(self) -> None:
        await self.send(CONTINUE)

    async def send(self, words: str) -> None:
        """Submit a prompt, and see to it that what it starts is driven on."""
        options = TurnOptions(self.agent, self.model, "person")
        try:
            if words.startswith("/"):
                asked = await commanded(self.runtime, words, lambda _: False)
                if asked is not None:
                    id = await self.runtime.prompt(
                        self.id_of_session, asked.text, files=asked.files, options=asked.over(options)
                    )
                    self._drive(id)
                    return
            id = await self.runtime.prompt(self.id_of_session, words, options=options)
        except BridleError as error:
            self.notify(str(error), severity="error", timeout=20)
            self.editor.text = words
            return
        self._asking = False
        self._drive(id)

    @work(group="drive")
    async def _drive(self, prompt: str) -> None:
        """Whoever prompts waits: that is what finds subagents that died, and turns that can go on."""
        self._driving += 1
        try:
            await self.runtime.wait(self.id_of_session, prompt)
        except BridleError as error:
            self.notify(str(error), severity="error", timeout=20)
        finally:
            self._driving -= 1
        await self._look()

    async def ask_again(self) -> None:
        """Put again what was put off."""
        self._asking = False
        await self._look()

    async def extend(self) -> str:
        """Raise the limit of which most is used by half; what became of that."""
        turn = self.transcript.session.running
        level = nearest(turn, self._elapsed()) if turn is not None else None
        if turn is None or level is None:
            return "there is no turn whose limits could be raised"
        most = turn.cap if level.name == "steps" else turn.limits.of(level.name) or 0
        by = max(LEAST_EXTENSION[level.name], round(most / 2))
        await self.runtime.extend(self.id_of_session, level.name, by)
        return f"{level.name} raised by {by:g}"

    @property
    def busy(self) -> bool:
        return self._status in ("busy", "retry", "paused")
