"""`Pickers`: actions that choose from lists: sessions, models, variants, agents, earlier prompts, waiting prompts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual import work

from bridle.core.parts import Prompt
from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.runtime.project_views import ModelRow
from bridle.runtime.sessions import SessionQuery, SessionRow, pinned_first
from bridle.surfaces.shared.model_words import described
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.actions import SessionActions, on_session, telling
from bridle.surfaces.tui.dialogs import Choice, Picked, Picker, TypedLine
from bridle.surfaces.tui.session_rows import label_of, named, preview_of
from bridle.values.known_providers import BUILT_IN

MOST_LISTED = 300
MOST_LOADED = 60
"""Sessions of which the list shows state and cost: it takes a look into each record."""
MOST_SEARCHED = 50
"""Sessions whose prompts are searched, besides the kept ones."""
SESSION_KEYS = ("list_rename", "list_pin", "list_fork", "list_delete")


class Pickers(SessionActions):
    """Actions that show a list."""

    async def action_sessions(self, argument: str = "") -> None:
        self._pick_session(argument)

    @work
    async def _pick_session(self, narrowed: str) -> None:
        found = await self.runtime.sessions(SessionQuery(roots=True, limit=MOST_LISTED))
        rows = [row for row in pinned_first(found) if await self.runtime.is_begun(row)]
        here = str(self.runtime.directory)
        rows.sort(key=lambda row: row.info.directory != here)
        rows = [await named(self.runtime, row) for row in rows]
        now = datetime.now()
        choices = [Choice(row.info.id, label_of(row, here, now)) for row in rows]

        async def preview(id: str) -> str:
            return await preview_of(self.runtime, id)

        also = self.keymap.in_list(*SESSION_KEYS)
        picker = Picker("Sessions", choices, also=also, preview=preview, narrowed=narrowed)
        self._label_sessions(picker, rows[:MOST_LOADED], here, now)
        picked = await self.push_screen_wait(picker)
        row = next((row for row in rows if picked is not None and row.info.id == picked.id), None)
        if picked is not None and row is not None:
            await self._with_session(picked, row)

    @work(exclusive=True, group="labels")
    async def _label_sessions(self, picker: Picker, rows: Sequence[SessionRow], here: str, now: datetime) -> None:
        for row in rows:
            try:
                state = await self.runtime.load(row.info.id)
                status = await self.runtime.status(row.info.id)
            except BridleError as error:
                picker.relabel(Choice(row.info.id, f"{label_of(row, here, now)}  ({line(str(error))[:60]})"))
                continue
            if not picker.is_running or picker not in self.screen_stack:
                return
            picker.relabel(Choice(row.info.id, label_of(row, here, now, state, status.state)))

    async def _with_session(self, picked: Picked, row: SessionRow) -> None:
        id, again = picked.id, True
        try:
            match picked.action:
                case "rename":
                    words = await self.push_screen_wait(TypedLine("Title of the session", row.info.title))
                    if words is not None:
                        await self.rename(id, words)
                case "pin":
                    await self.runtime.pin(id, pinned=not row.info.pinned)
                case "fork":
                    await self.go_to(await self.runtime.fork(id), row.info.directory)
                    again = False
                case "delete":
                    if await self.delete(id) and id == self.chat.id_of_session:
                        await self.chat.fresh()
                case _:
                    await self.go_to(id, row.info.directory)
                    again = False
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)
            return
        if again:
            self._pick_session("")

    async def go_to(self, session: str, directory: str) -> None:
        """Open a session, in its own project if that is another one; raises `BridleError`."""
        if directory != str(self.runtime.directory):
            self.move_to(await self.host.backend(directory))
            self.notify(f"you now work in another project: {line(directory)}", timeout=10)
        await self.chat.open(session)
        self.chat.editor.focus()

    def move_to(self, backend: Backend) -> None:
        """Use the sessions and settings of another project."""
        raise NotImplementedError

    async def action_agents(self, argument: str = "") -> None:
        rows = [row.agent for row in self.runtime.agents() if row.agent.mode != "subagent" and not row.agent.hidden]
        if any(agent.name == argument for agent in rows):
            self.chat.choose(agent=argument)
            return
        width = max((len(agent.name) for agent in rows), default=0)
        choices = [Choice(agent.name, f"{agent.name:<{width}}  {line(agent.description)[:70]}") for agent in rows]
        await self.push_screen(
            Picker("Agents", choices, narrowed=argument),
            lambda picked: self.chat.choose(agent=picked.id) if picked is not None else None,
        )

    @telling
    async def action_models(self, argument: str) -> None:
        given = self.runtime.preferences()
        rows = {row.info.ref: row for row in await self.runtime.model_rows()}
        kept = self.kept.models
        mine = [*kept.favorites, *kept.recent, self.chat.model or "", given.model, *given.models]
        refs = [ref for ref in dict.fromkeys([*mine, *rows]) if ref]
        if argument in refs:
            self._use_model(argument)
            return
        width = min(44, max(map(len, refs), default=0))
        choices = [Choice(ref, self._model_label(ref, rows.get(ref), width)) for ref in refs]
        choices.append(Choice("", "connect a provider …"))
        also = self.keymap.in_list("list_favorite", "list_connect")
        self._pick_model(Picker("Models", choices, also=also, narrowed=argument))

    def _model_label(self, ref: str, row: ModelRow | None, width: int) -> str:
        kept = self.kept.models
        mark = "★" if ref in kept.favorites else "•" if ref in kept.recent else " "
        words = f"{described(row.info)}  ({row.why})" if row is not None else "not reachable now"
        return f"{mark} {line(ref):<{width}}  {line(words)}"

    @work
    async def _pick_model(self, picker: Picker) -> None:
        picked = await self.push_screen_wait(picker)
        if picked is None:
            return
        if not picked.id or picked.action == "connect a provider":
            await self.action_login("")
        elif picked.action:
            added = self.kept.toggle(picked.id)
            self.notify(f"{picked.id} is {'now' if added else 'no longer'} a favorite")
            await self.action_models("")
        else:
            self._use_model(picked.id)

    def _use_model(self, ref: str) -> None:
        self.kept.use(ref)
        self.chat.choose(model=ref)

    @telling
    async def action_variants(self, argument: str) -> str | None:
        ref = self.chat.model_now
        row = next((row for row in await self.runtime.model_rows() if row.info.ref == ref), None)
        names = [*row.info.variants] if row is not None else []
        if not names:
            return f"{ref or 'the model'} has no variants"
        choices = [Choice("", "as the agent has it"), *(Choice(name, name) for name in names)]
        if argument in names:
            self.chat.choose(variant=argument)
            return None
        await self.push_screen(
            Picker(f"Thinking effort of {line(ref)}", choices, narrowed=argument),
            lambda picked: self.chat.choose(variant=picked.id) if picked is not None else None,
        )
        return None

    @telling
    async def action_login(self, argument: str) -> None:
        if argument:
            await self.in_terminal("auth", "login", argument)
            return
        choices = [Choice(name, f"{name:<12} {each.key_env}") for name, each in BUILT_IN.items() if each.key_env]
        self._pick_provider(Picker("Connect a provider: its key is asked for, and kept in your keyring", choices))

    @work
    async def _pick_provider(self, picker: Picker) -> None:
        picked = await self.push_screen_wait(picker)
        if picked is not None:
            await self.action_login(picked.id)

    @on_session
    async def action_timeline(self, argument: str) -> None:
        prompts = [part for part in self.chat.transcript.session.parts.values() if isinstance(part, Prompt)]
        choices = [Choice(part.id, f"{part.turn or '-':>3}  {line(part.text)[:90]}") for part in reversed(prompts)]
        also = self.keymap.in_list("list_undo")
        self._pick_prompt(Picker("Earlier prompts: enter goes there", choices, also=also))

    @work
    async def _pick_prompt(self, picker: Picker) -> None:
        picked = await self.push_screen_wait(picker)
        if picked is None:
            return
        if not picked.action:
            await self.chat.transcript.reveal(picked.id)
            return
        try:
            self.notify(await self.undo_to(picked.id))
        except BridleError as error:
            self.notify(line(str(error)), severity="error", timeout=20)

    async def action_waiting(self, argument: str = "") -> None:
        items = self.chat.waiting.items
        if not items:
            self.notify("no prompt waits")
            return
        choices = [
            Choice(item.id, f"{'queued' if item.queue else 'steering':<9} {line(item.text)[:90]}") for item in items
        ]
        also = self.keymap.in_list("list_withdraw")
        self._pick_waiting(Picker("Prompts that wait: enter edits", choices, also=also))

    @work
    async def _pick_waiting(self, picker: Picker) -> None:
        picked = await self.push_screen_wait(picker)
        if picked is not None:
            self.chat.take_back(picked.id, edit=not picked.action)

    async def action_prompts(self, argument: str = "") -> None:
        self._search_prompts(argument)

    @work
    async def _search_prompts(self, narrowed: str) -> None:
        """Search the kept prompts, and those of the sessions that changed last."""
        found = dict.fromkeys(reversed(self.chat.editor.prompts.prompts))
        for row in await self.runtime.sessions(SessionQuery(roots=True, limit=MOST_SEARCHED)):
            try:
                parts = (await self.runtime.load(row.info.id)).parts.values()
            except BridleError:
                # A damaged or deleted session has no prompts to offer; the list of sessions tells of it.
                continue
            found |= dict.fromkeys(part.text for part in parts if isinstance(part, Prompt) and part.text)
        prompts = [*found]
        choices = [Choice(str(place), line(words)[:200]) for place, words in enumerate(prompts)]
        picked = await self.push_screen_wait(Picker("Earlier prompts of all sessions", choices, narrowed=narrowed))
        if picked is not None:
            self.chat.editor.put(prompts[int(picked.id)])
