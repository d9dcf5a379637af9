"""`Projection`: derives OpenCode's messages, asks, status and events of a session from its record; it does no I/O."""

from __future__ import annotations

from msgspec import UNSET, json
from msgspec.structs import replace

from bridle.core import events as record, parts, states
from bridle.core.events import Entry, PartDelta, SessionInfo
from bridle.core.history import parts_of
from bridle.surfaces.server.opencode import events, ids, shapes
from bridle.surfaces.server.opencode.conversation import Conversation
from bridle.surfaces.server.opencode.prompt_notes import message_of, note_of, parts_of_prompt
from bridle.surfaces.server.opencode.reply import ReplyShown
from bridle.surfaces.server.opencode.session_facts import milliseconds, model_of, session_of
from bridle.surfaces.server.opencode.turn_shown import TurnShown

FOR_THE_MODEL = ("closing", "output", "agent", "cut")
"""Notices that only the model reads."""
IDLE = shapes.StatusShape(type="idle")
BUSY = shapes.StatusShape(type="busy")
ERRORS: dict[str, shapes.ErrorName] = {
    "aborted": "MessageAbortedError",
    "context_full": "ContextOverflowError",
    "error": "UnknownError",
    "empty": "UnknownError",
    "denied": "UnknownError",
}
"""Endings without an answer, and the errors that clients know them by; every other ending has an answer."""


class Projection:
    """One session. Entries come in the order of the record; known ones change nothing. Events are never taken back.

    `of_entry` and `of_delta` return the events that bring a client from the state before to the state after.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self.name = ids.shown_session(session)
        self.info = SessionInfo(session, "")
        self.sequence = 0
        self.at = 0
        self.talk = Conversation()
        self.turn: TurnShown | None = None
        self.turns = 0
        self.reply = ReplyShown(self)
        self.is_left = False
        """Whether no process drives the open turn; the record does not tell."""
        self.waiting: set[str] = set()
        """Prompts that are shown and not recorded yet."""
        self.todos: tuple[shapes.TodoShape, ...] = ()
        self.cost = 0.0
        self.tokens = shapes.TokenCount()
        self._newest = 0
        self._status = IDLE
        self._shown: shapes.SessionShape | None = None
        self._todos: dict[int, tuple[shapes.TodoShape, ...]] = {}
        self._counted = (0, 0), shapes.SessionChanges(0, 0, 0)
        self._patches: dict[str, tuple[int, tuple[parts.Changed, ...]]] = {}
        self._undone: dict[str, tuple[parts.Undone, int]] = {}
        """Undone turns that can be redone, with the place of their mark in the record."""

    @property
    def asks(self) -> dict[str, events.PermissionAsked | events.QuestionAsked]:
        """The open asks, by their id in the record."""
        return self.reply.asks

    @property
    def answered(self) -> dict[str, events.Answered]:
        """The answers of asks that are not open any more."""
        return self.reply.answered

    @property
    def status(self) -> shapes.StatusShape:
        """The status; a turn that awaits a person is busy, and one whose process has died is not."""
        if self.turn is None or self.is_left:
            return IDLE
        return self.turn.retry or BUSY

    @property
    def first_hidden_turn(self) -> int:
        """The first turn that is undone; 0 if none is."""
        return min((undone.turn for undone, _ in self._undone.values()), default=0)

    @property
    def changes(self) -> shapes.SessionChanges:
        """The sums over the changed files of the session."""
        return self._changes()

    def of_entry(self, entry: Entry) -> list[events.Event]:
        """Apply an entry and return its events."""
        if entry.sequence <= self.sequence:
            return []
        is_new, self.is_left = self.sequence == 0, False
        self.sequence, self.at = entry.sequence, milliseconds(entry.at)
        for event in entry.events:
            self._recorded(event, entry)
        self.reply.end_entry()
        return self._told(is_new=is_new)

    def of_delta(self, delta: PartDelta) -> list[events.Event]:
        """Take a streamed piece of text and return its events."""
        if self.turn is None:
            return []
        self.reply.of_delta(delta)
        if self.talk.told and self.turn.retry is not None:
            self.turn.retry = None
            return [*self._status_told(), *self.talk.take()]
        return self.talk.take()

    def submitted(self, prompt: parts.Prompt, agent: str, model: str) -> list[events.Event]:
        """Show a prompt that was submitted and is not recorded yet, for this agent and model."""
        if prompt.id not in self.talk.messages:
            info = self.info
            self.info = replace(info, agent=agent or info.agent, model=model or info.model)
            self._prompt(replace(prompt, turn=self.turns))
            self.waiting.add(prompt.id)
            self.info = info
        return self.talk.take()

    def leave(self) -> list[events.Event]:
        """Show that no process drives the open turn; the next entry reverts this."""
        self.is_left = self.turn is not None
        return self._status_told()

    def withdrawn(self, prompt: str) -> list[events.Event]:
        """Remove a prompt that was shown and not accepted."""
        self.waiting.discard(prompt)
        if prompt in self.talk.messages:
            self.talk.remove(prompt)
        return self.talk.take()

    def next_created(self) -> int:
        """Return the time of a new message: after every earlier one, so that the order is the record's."""
        self._newest = max(self.at, self._newest + 1)
        return self._newest

    def put_reply(self, kind: str, *, place: str = "") -> str:
        """Add an assistant message to the turn and return its id; `kind` says what it is, `place` which one."""
        turn = self.turn
        assert turn is not None
        created = self.next_created()
        id = ids.message_id(created, self.session, str(turn.number), kind, place)
        provider, model = model_of(turn.model)
        name = "compaction" if kind == "compaction" else turn.agent
        info = shapes.Assistant(
            id=id,
            sessionID=self.name,
            time=shapes.ReplyTime(created),
            parentID=turn.parent or id,
            mode=name,
            agent=name,
            modelID=model,
            providerID=provider,
            path=shapes.Folder(self.info.directory, self.info.directory),
            variant=turn.variant or UNSET,
        )
        self.talk.put(info, turn.number, self.sequence)
        turn.last = id
        return id

    def spend(self, message: str, usage: states.Usage, cost: float) -> None:
        """Count the use of a request, and show it with the message that it belongs to."""
        tokens = shapes.TokenCount(
            usage.input, usage.output, usage.reasoning, shapes.Cache(usage.cache_read, usage.cache_write)
        )
        self.tokens, self.cost = self.tokens.plus(tokens), self.cost + cost
        if message:
            info = self.talk.messages[message].info
            assert isinstance(info, shapes.Assistant)
            self.talk.change(replace(info, tokens=info.tokens.plus(tokens), cost=info.cost + cost))

    def put_todos(self, todos: tuple[shapes.TodoShape, ...]) -> None:
        """Replace the to-do list, in this turn."""
        self._todos[self.turns] = todos

    def shown(self) -> shapes.SessionShape:
        """Return the session as lists have it."""
        turn = self.turn
        agent = turn.agent if turn is not None else self.info.agent
        provider, model = model_of(turn.model if turn is not None else self.info.model)
        return replace(
            session_of(self.info, self.at),
            summary=self._changes(),
            cost=self.cost,
            tokens=self.tokens,
            agent=agent or UNSET,
            model=shapes.SessionModel(model, provider) if model else UNSET,
            revert=shapes.Revert(first) if (first := self._first_hidden()) else UNSET,
        )

    def _changes(self) -> shapes.SessionChanges:
        """Return the sums over changed files, counted again only after a change or an undo."""
        mark = (len(self._patches), len(self._undone))
        if self._counted[0] != mark:
            shown = [files for turn, files in self._patches.values() if not self._is_hidden(turn)]
            changes = [each for files in shown for each in files]
            added, removed = sum(each.added for each in changes), sum(each.removed for each in changes)
            self._counted = mark, shapes.SessionChanges(added, removed, len({each.path for each in changes}))
        return self._counted[1]

    def _recorded(self, event: record.Recorded, entry: Entry) -> None:
        match event:
            case record.SessionPut(info=info):
                last = self.info
                self.info = replace(info, agent=last.agent or info.agent, model=last.model or info.model)
            case record.PartPut(part=part):
                self._part(part)
            case record.PartGrown(id=id, offset=offset, text=text):
                self.reply.grown(id, offset, text)
            case record.CallMoved(id=id, state=state, changed=changed):
                self.reply.moved(id, state, changed)
            case record.RequestMoved(id=id, state=state):
                self.reply.request_moved(id, state, entry.elapsed)
            case record.PartRemoved(id=id):
                self.reply.removed(id)

    def _part(self, part: parts.Part) -> None:
        match part:
            case parts.TurnStart():
                self._begin(part)
            case parts.Handoff(agent=agent, model=model) if self.turn is not None:
                self.turn.agent, self.turn.model = agent, model or self.turn.model
            case parts.Prompt():
                self._prompt(part)
            case parts.StepStart(number=number):
                self.reply.begin_step(number)
            case parts.Patch(id=id, files=files, state="taken"):
                self._patches[id] = (self.turns, files)
            case parts.Compaction():
                self._compaction(part)
            case parts.Notice(about=about, text=text) if about not in FOR_THE_MODEL:
                self.talk.told.append(events.Toast(message=text, variant="warning"))
            case parts.Sentinel(reason=reason, text=text) if reason not in ERRORS:
                self.reply.say(text)
            case parts.TurnFinish():
                self._finish(part)
            case parts.History(messages=messages):
                for earlier in parts_of(messages):
                    self._earlier(earlier)
                self.reply.end_turn()
                self.turn = None
            case parts.Undone(id=id):
                self._undone.setdefault(id, (part, self.sequence))
            case parts.Redone(undone=undone):
                self._undone.pop(undone, None)
            case _:
                self.reply.put(part)

    def _begin(self, start: parts.TurnStart) -> None:
        for undone, mark in self._undone.values():
            for id, message in tuple(self.talk.messages.items()):
                if message.turn >= undone.turn and message.sequence < mark:
                    self.talk.remove(id)
            for turn in [turn for turn in self._todos if turn >= undone.turn]:
                del self._todos[turn]
            for id in [id for id, (turn, _) in self._patches.items() if turn >= undone.turn]:
                del self._patches[id]
        self._undone.clear()
        self.turns = start.number
        self.turn = TurnShown(start.number, start.agent, start.model, start.variant)
        self.reply.begin_turn()

    def _prompt(self, prompt: parts.Prompt) -> None:
        self.waiting.discard(prompt.id)
        note = note_of(prompt.metadata, self.session)
        known = self.talk.messages.get(prompt.id)
        created = known.info.time.created if known is not None else note.created if note else self.next_created()
        self._newest = max(self._newest, created)
        id = message_of(prompt, self.session, created, note)
        turn = self.turn if prompt.turn and self.turn is not None and self.turn.number == prompt.turn else None
        agent, model = (turn.agent, turn.model) if turn is not None else (self.info.agent, self.info.model)
        provider, name = model_of(model)
        info = shapes.User(
            id=id,
            sessionID=self.name,
            time=shapes.CreatedTime(created),
            agent=agent,
            model=shapes.MessageModel(provider, name),
        )
        self.talk.put(info, prompt.turn or self.turns, self.sequence)
        for part in parts_of_prompt(prompt, id, self.name, note, self.info.directory):
            self.talk.part(part, self.at)
        if turn is not None:
            turn.parent = id

    def _earlier(self, part: parts.Prompt | parts.PartOfReply) -> None:
        """Show a part from before the first turn."""
        if isinstance(part, parts.Prompt):
            self._prompt(part)
            self.turn = None
            return
        if self.turn is None:
            # Replies from before the first turn belong to the prompt before them.
            self.turn = TurnShown(0, self.info.agent, self.info.model, "")
            self.turn.parent = next(reversed(self.talk.messages), "")
        self.reply.earlier(part)

    def _compaction(self, part: parts.Compaction) -> None:
        turn = self.turn
        if turn is None or part.cause == "prune" or part.outcome == "no_progress":
            return
        if part.outcome == "smaller" or part.cause == "manual":
            self.reply.compaction(part)

    def put_compaction(self, part: parts.Compaction) -> str:
        """Add the user message of a compaction, if it is not shown yet; return its id."""
        turn = self.turn
        assert turn is not None
        id = turn.compactions.get(part.id, "")
        if not id:
            created = self.next_created()
            id = turn.compactions[part.id] = ids.message_id(created, self.session, part.id)
            provider, model = model_of(turn.model)
            info = shapes.User(
                id=id,
                sessionID=self.name,
                time=shapes.CreatedTime(created),
                agent=turn.agent,
                model=shapes.MessageModel(provider, model),
            )
            self.talk.put(info, turn.number, self.sequence)
            shown = shapes.CompactionPart(
                id=ids.prompt_part_id(id, 0), sessionID=self.name, messageID=id, auto=part.cause != "manual"
            )
            self.talk.part(shown, self.at)
            turn.parent = turn.parent or id
        return id

    def _finish(self, finish: parts.TurnFinish) -> None:
        assert self.turn is not None
        self.reply.end_turn()
        name = ERRORS.get(finish.reason)
        if name is not None:
            text = finish.detail or f"The turn ended without an answer ({finish.reason.replace('_', ' ')})."
            error = shapes.MessageError(name, shapes.ErrorData(text))
            info = self.talk.messages[self.turn.last or self.put_reply("ending")].info
            assert isinstance(info, shapes.Assistant)
            time = shapes.ReplyTime(info.time.created, max(self.at, info.time.created))
            self.talk.change(replace(info, error=error, time=time))
            self.talk.told.append(events.SessionError(sessionID=self.name, error=error))
        if finish.output and self.turn.last:
            answer = self.talk.messages[self.turn.last].info
            self.talk.change(replace(answer, structured=json.decode(finish.output)))
        self.info = replace(self.info, agent=self.turn.agent, model=self.turn.model)
        self.turn = None

    def _told(self, *, is_new: bool) -> list[events.Event]:
        """Return the events of an entry: messages and asks first, then the session, and an idle status last."""
        found = self.talk.take()
        todos = next((todos for turn, todos in reversed(self._todos.items()) if not self._is_hidden(turn)), ())
        if todos != self.todos:
            self.todos = todos
            found.append(events.TodoUpdated(sessionID=self.name, todos=todos))
        shown = self.shown()
        if is_new:
            found.append(events.SessionCreated(sessionID=self.name, info=shown))
        known = self._shown
        if known is None or replace(shown, time=replace(shown.time, updated=known.time.updated)) != known:
            self._shown = shown
            found.append(events.SessionUpdated(sessionID=self.name, info=shown))
        return [*found, *self._status_told()]

    def _status_told(self) -> list[events.Event]:
        if self.status == self._status:
            return []
        self._status = self.status
        told: list[events.Event] = [events.StatusChanged(sessionID=self.name, status=self._status)]
        return [*told, events.SessionIdle(sessionID=self.name)] if self._status == IDLE else told

    def _is_hidden(self, turn: int) -> bool:
        return any(turn >= undone.turn for undone, _ in self._undone.values())

    def _first_hidden(self) -> str:
        """Return the first message that is undone; empty if none is."""
        if not self._undone:
            return ""
        found = [
            message
            for message in self.talk.messages.values()
            if any(message.turn >= undone.turn and message.sequence < mark for undone, mark in self._undone.values())
        ]
        first = min(found, key=lambda message: message.info.time.created, default=None)
        return first.info.id if first is not None else ""
