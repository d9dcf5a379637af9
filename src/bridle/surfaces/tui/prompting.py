"""`Prompting`: base of `Chat` that submits prompts and shell commands, takes them back, and drives and ends turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from textual import events, work
from textual.message import Message

from bridle.core.inbox import TurnOptions
from bridle.core.permission import Approvals
from bridle.errors import BridleError
from bridle.runtime.project import Backend, submit_prompt
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.asks import Confirm
from bridle.surfaces.tui.commands import CommandTable
from bridle.surfaces.tui.editor import Editor
from bridle.surfaces.tui.escape import EscapeKey
from bridle.surfaces.tui.mode_line import APPROVALS, ModeLine
from bridle.surfaces.tui.paste import Pasted
from bridle.surfaces.tui.session_screen import SessionScreen
from bridle.surfaces.tui.views import Card
from bridle.surfaces.tui.waiting import WaitingPrompts
from bridle.surfaces.tui.widgets import key_of

CONTINUE = "continue"
HINT_SECONDS = 1.5


class Prompting(SessionScreen):
    """A session screen with an editor."""

    @dataclass
    class Commanded(Message):
        """A slash command was typed, or its key was pressed."""

        name: str
        argument: str

    editor: Editor
    commands: CommandTable

    def __init__(self, runtime: Backend, session: str | None) -> None:
        super().__init__(runtime, session or runtime.new_id())
        self.begun = session is not None
        """Whether the session exists: a new one is created with its first prompt."""
        self.agent: str | None = None
        self.model: str | None = None
        self.variant: str | None = None
        self.status = ""
        self.waiting = WaitingPrompts()
        self.mode_line = ModeLine()
        self._approvals: Approvals = "rules"
        self._driving: Counter[str] = Counter()
        self._escape = EscapeKey()

    async def open(self, session: str) -> None:
        """Show a session and follow its events."""
        raise NotImplementedError

    def show_state(self) -> None:
        """Update the state of the session on the screen."""
        raise NotImplementedError

    def postpone_no_ask(self) -> None:
        """Show open asks again from now on."""
        raise NotImplementedError

    @property
    def busy(self) -> bool:
        return self.status in ("busy", "retry", "paused")

    @property
    def approvals(self) -> Approvals:
        """How calls are approved; for a session that does not exist yet, how they will be."""
        info = self.transcript.session.info
        return info.approvals if self.begun and info is not None else self._approvals

    async def approve(self, approvals: Approvals) -> None:
        """Change how calls are approved, from the next call on. Raises `BridleError`."""
        if self.begun:
            await self.runtime.set_approvals(self.id_of_session, approvals)
        self._approvals = approvals
        self.mode_line.say("approvals", APPROVALS[approvals])

    def choose(self, *, agent: str | None = None, model: str | None = None, variant: str | None = None) -> None:
        """Use another agent, model or variant from the next prompt on; an empty variant is the agent's."""
        self.agent = agent or self.agent
        if model is not None and model != self.model:
            self.model, self.variant = model, None
        self.variant = self.variant if variant is None else variant
        self.show_state()

    def next_agent(self) -> None:
        """Use the next primary agent."""
        names = [
            row.agent.name for row in self.runtime.agents() if row.agent.mode != "subagent" and not row.agent.hidden
        ]
        if names:
            at = names.index(self.agent_now) if self.agent_now in names else -1
            self.choose(agent=names[(at + 1) % len(names)])

    @property
    def agent_now(self) -> str:
        """The agent of the next prompt."""
        turn = self.transcript.session.turn
        return self.agent or (turn.start.agent if turn is not None else self.runtime.preferences().agent)

    @property
    def model_now(self) -> str:
        """The model of the next prompt; empty if it is not known before."""
        turn = self.transcript.session.turn
        return self.model or (turn.start.model if turn is not None else self.runtime.preferences().model)

    async def on_editor_sent(self, event: Editor.Sent) -> None:
        if event.shell:
            self.shell(event.text)
            return
        try:
            found = self.commands.typed(event.text)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            self.editor.put_back(event.text, event.pasted)
            return
        if found is not None and found[0].ours:
            self.post_message(self.Commanded(found[0].name, found[1]))
        else:
            self.send(event.text, event.pasted, queue=event.queue)

    async def on_editor_pressed(self, event: Editor.Pressed) -> None:
        match event.what:
            case "stop":
                await self.escape()
            case "next_agent":
                self.next_agent()
            case "approvals":
                self.post_message(self.Commanded("approvals", ""))
            case "earlier" if self.waiting.items:
                self.take_back(self.waiting.items[-1].id, edit=True)
            case "earlier":
                pass

    def on_key(self, event: events.Key) -> None:
        """Typing goes into the editor, wherever the focus is."""
        if event.is_printable and event.character and not self.editor.has_focus:
            event.stop()
            self.editor.focus()
            self.editor.insert(event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Hand a paste to the editor, wherever the focus is."""
        if not self.editor.has_focus:
            event.stop()
            self.editor.focus()
            self.editor.post_message(events.Paste(event.text))

    def on_editor_paged(self, event: Editor.Paged) -> None:
        if event.by < 0:
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)

    def on_editor_mode_changed(self) -> None:
        send, stop = key_of(self, "send"), key_of(self, "stop")
        self.mode_line.say(
            "shell", f"$ a shell command: {send} runs it here, {stop} leaves" if self.editor.shell else ""
        )

    async def action_escape(self) -> None:
        """Go back to the editor; while a turn runs, stop it too."""
        if not self.editor.has_focus:
            self.editor.focus()
            if self.status not in ("busy", "retry"):
                return
        await self.escape()

    async def escape(self) -> None:
        """Stop the turn; when idle, clear the draft or go back to an earlier prompt with a second press."""
        now = asyncio.get_running_loop().time()
        draft = bool(self.editor.text)
        match self._escape.pressed(now, busy=self.begun and self.status in ("busy", "retry"), draft=draft):
            case "stop":
                self.stop()
            case "wait":
                self.hint(
                    f"{key_of(self, 'stop')} again: " + ("clear the draft" if draft else "go back to an earlier prompt")
                )
            case "clear":
                self.drop_draft()
            case "rewind":
                self.post_message(self.Commanded("timeline", ""))
            case "nothing":
                pass

    def drop_draft(self) -> None:
        """Clear the draft, and keep it in the history."""
        self.editor.prompts.add(self.editor.text, Pasted())
        self.editor.clear_draft()
        self.hint("the draft was cleared: up brings it back")

    def hint(self, words: str) -> None:
        """Show a hint for a moment."""
        self.mode_line.say("hint", words)
        self.set_timer(HINT_SECONDS, lambda: self.mode_line.say("hint", ""))

    @work
    async def stop(self) -> None:
        """Abort the turn. The keys go on working while the sessions cannot be reached."""
        try:
            await self.runtime.abort(self.id_of_session, detail="from the terminal")
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    async def on_card_ended(self) -> None:
        self.stop()

    def on_card_log_in(self, event: Card.LogIn) -> None:
        self.post_message(self.Commanded("login", event.provider))

    async def on_card_continued(self) -> None:
        await self.go_on()

    async def go_on(self) -> None:
        """Continue after a limit, or resume an interrupted turn."""
        if self.status == "interrupted":
            await self.resume()
        elif self.begun:
            self.send(CONTINUE, Pasted())

    async def resume(self) -> None:
        """Resume an interrupted turn and drive it to its end."""
        try:
            await self.runtime.resume(self.id_of_session)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            return
        turn = self.transcript.session.running
        if turn is not None and turn.prompts:
            self._drive(self.id_of_session, turn.prompts[-1])

    @work
    async def send(self, typed: str, pasted: Pasted, *, queue: bool = False) -> None:
        """Submit a prompt and drive its turn."""
        session = self.id_of_session
        options = TurnOptions(self.agent, self.model, "person", variant=self.variant or None)
        words, files = pasted.sent(typed)
        try:
            asked = await self.runtime.expand(words, self._confirm, typed=typed, agent=self.agent)
            await self._begin(session, asked.text, asked.over(options))
            id = await submit_prompt(self.runtime, session, asked, options, files=files, queue=queue)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            self.editor.put_back(typed, pasted)
            return
        await self._submitted(session, id)

    @work
    async def shell(self, command: str) -> None:
        """Run a person's shell command in the project."""
        session = self.id_of_session
        try:
            await self._begin(session, f"!{command}", None)
            id = await self.runtime.shell(session, command)
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            self.editor.put_back(command, Pasted(), shell=True)
            return
        await self._submitted(session, id)

    async def _begin(self, session: str, words: str, options: TurnOptions | None) -> None:
        """Create the session with its first prompt."""
        if self.begun:
            return
        created = await self.runtime.begin(session, words, options)
        if self._approvals != "rules":
            await self.runtime.set_approvals(created, self._approvals)
        await self.open(created)

    async def _submitted(self, session: str, prompt: str) -> None:
        self.postpone_no_ask()
        self._drive(session, prompt)
        if session == self.id_of_session and self.busy:
            await self.look_at_waiting()

    async def look_at_waiting(self) -> None:
        """Show the prompts that no turn has taken yet."""
        if self.begun:
            await self.waiting.look(self.runtime, self.id_of_session)
        else:
            self.waiting.put(())
        self.editor.pending = bool(self.waiting.items)

    @work
    async def take_back(self, prompt: str, *, edit: bool) -> None:
        """Withdraw a prompt that waits, and put it into the editor to `edit` it."""
        item = next((item for item in self.waiting.items if item.id == prompt), None)
        try:
            if item is None or not await self.runtime.withdraw(self.id_of_session, prompt):
                self.notify("this prompt was taken already", severity="warning")
            elif edit:
                self.editor.put_back(item.text, self.editor.prompts.pasted(item.text))
            await self.look_at_waiting()
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    async def _confirm(self, kind: Literal["command", "file"], command: str) -> bool:
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
