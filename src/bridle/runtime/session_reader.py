"""`SessionReader`: base class of `Runtime` with load, status, wait and follow, for sessions that any process runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bridle.core.events import CallMoved, Entry, Live, PartDelta, PartPut
from bridle.core.ids import is_below
from bridle.core.inbox import PromptItem, WithdrawItem
from bridle.core.ledger import Account
from bridle.core.limits import NOTHING
from bridle.core.parts import Call, Extension, Notice, Part, Prompt, TurnFinish, Withdrawn
from bridle.core.result import Result, result_of
from bridle.core.session import Session
from bridle.core.states import Waiting
from bridle.core.status import Status, status_of
from bridle.engine.bus import Bus, Subscription
from bridle.engine.drive import DriveSetup
from bridle.engine.engine import Engine
from bridle.engine.tree import parent_of, tend
from bridle.errors import ConfigError, JournalError, JournalRefused, LeaseLost, NoSuchSession
from bridle.journal.journal import Journal, Lease, SessionQuery, SessionRow, folded
from bridle.runtime.argument_checks import fitting
from bridle.runtime.sessions import Branch
from bridle.seams import Seams, begin

if TYPE_CHECKING:
    from bridle.runtime.runtime import Runtime

LOOK_SECONDS = 0.2
FEW_ENTRIES = 8
"""Longer sessions always have a prompt; shorter ones may have only titles."""
LAST_ENTRIES = 2
MOST_BRANCHES = 100
FOLLOW_SECONDS = 0.5


class SessionReader:
    """Queries on sessions, in whichever process they are driven."""

    journal: Journal
    engine: Engine
    bus: Bus
    seams: Seams
    directory: Path
    _drives: DriveSetup

    async def parked(self, session: str) -> None:
        """Return once neither the session nor its subagents can continue, in any process."""
        mark = 0
        while True:
            await self.engine.parked(session)
            if not await tend(session, self._drives, self.engine):
                return
            mark = await self._changed(session, mark)

    async def wait(self, session: str, prompt: str) -> Result:
        """Return the result of a prompt once its turn has finished or the session cannot continue, in any process."""
        mark = 0
        while True:
            drives = self.engine.drives(session)
            result = result_of(await self._current(session), prompt)
            if result.ended:
                return result
            if not drives:
                await self.engine.parked(session)
                if not await tend(session, self._drives, self.engine):
                    return result_of(await self._current(session), prompt)
            mark = await self._changed(session, mark)

    async def _changed(self, session: str, mark: int) -> int:
        """Return the next mark once the session may have changed.

        Other processes may die without a notification, so a session driven elsewhere is polled every `LOOK_SECONDS`.
        """
        changed = begin(self.journal.changed(session, mark))
        parked = [begin(self.engine.parked(session))] if self.engine.drives(session) else []
        try:
            timeout = None if parked else LOOK_SECONDS
            await asyncio.wait([changed, *parked], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in parked:
                if task.done():
                    task.result()
            return changed.result() if changed.done() else mark
        finally:
            for each in (changed, *parked):
                each.cancel()

    async def _current(self, session: str) -> Session:
        """Return the current state of the session, which callers must not change."""
        return self._drives.live.get(session) or await self._drives.load(session)

    async def _refuse_other(self, session: str, item: PromptItem) -> None:
        """Raise `ConfigError` if the id of this prompt was used for other text or files."""
        known = [*await self.journal.inbox(session), *parts_put(await self.journal.load(session))]
        if any(isinstance(each, Withdrawn) and each.prompt == item.id for each in known):
            raise ConfigError(f"prompt {item.id!r} was withdrawn from this session: choose a new id")
        prompts = [each for each in known if isinstance(each, (PromptItem, Prompt)) and each.id == item.id]
        if any((prompt.text, prompt.files) != (item.text, item.files) for prompt in prompts):
            raise ConfigError(f"prompt id {item.id!r} was used for another prompt in this session: choose a new id")

    async def stream(
        self, session: str, prompt: str, after: int = 0, heard: Subscription | None = None
    ) -> AsyncGenerator[Entry | Live, None]:
        """Yield every entry after a sequence number, in order, and deltas as they arrive, until `wait` would return.

        Entries come from any process that drives the session; so do deltas with a journal on PostgreSQL, else only from
        this one. `heard` is a subscription made before the prompt, which misses no delta.
        """
        waiting = begin(self.wait(session, prompt))
        try:
            async with aclosing(self.follow(session, after, until=waiting, heard=heard)) as events:
                async for event in events:
                    yield event
            waiting.result()
        finally:
            waiting.cancel()

    async def follow(
        self,
        session: str,
        after: int = 0,
        *,
        until: asyncio.Future[Any] | None = None,
        heard: Subscription | None = None,
    ) -> AsyncGenerator[Entry | Live, None]:
        """Yield every entry after a sequence number, in order, and deltas as in `stream`; end when `until` is done."""
        subscription = heard if heard is not None else self.bus.subscribe(session)
        changed: asyncio.Task[int] | None = None
        # Deltas make sense only after the entries that came before the subscription.
        mark, over, alone, behind, elsewhere = 0, False, True, True, ExitStack()
        try:
            while True:
                if behind:
                    for entry in await self.journal.load(session, after):
                        after = entry.sequence
                        yield entry
                    behind = False
                    if over:
                        return
                event = subscription.waiting()
                if event is None:
                    # At the end, the missing entries are in the journal.
                    behind = over = until is not None and until.done()
                    if over:
                        continue
                    if changed is None and not self.drives(session):
                        changed = begin(self.journal.changed(session, mark, every=True))
                        if alone:
                            alone = False
                            elsewhere.enter_context(self.bus.hear_others(session, subscription))
                    others = [other for other in (until, changed) if other is not None and not other.done()]
                    behind = not await subscription.come(FOLLOW_SECONDS, *others)
                    if changed is not None and changed.done():
                        # Another process has written: its entries come before the deltas that follow them.
                        mark, changed, behind = changed.result(), None, True
                elif isinstance(event, PartDelta) or event.sequence == after + 1:
                    after += isinstance(event, Entry)
                    yield event
                else:
                    behind = event.sequence > after
        finally:
            elsewhere.close()
            if changed is not None:
                changed.cancel()
            if heard is None:
                self.bus.unsubscribe(session, subscription)

    async def load(self, session: str) -> Session:
        """Return the current state of a session from the journal; raises `JournalRefused` for invalid entries."""
        return folded(session, await self.journal.load(session), Session())

    async def status(self, session: str) -> Status:
        """Return the status of the session, derived from its entries and its lease."""
        state = await self.load(session)
        status = status_of(state, held=await self.journal.held(session))
        if status.state == "interrupted" and state.running is not None:
            for child in state.running.children.values():
                # The process may have died before it created the session of a subagent.
                with suppress(NoSuchSession):
                    if (await self.status(child)).state in ("busy", "retry"):
                        return Status("busy")
        return status

    def drives(self, session: str) -> bool:
        """Return whether this runtime drives the session now."""
        return self.engine.drives(session)

    async def is_driven(self, session: str) -> bool:
        """Return whether a process drives the session now; False if the session does not exist."""
        try:
            return self.drives(session) or await self.journal.held(session)
        except NoSuchSession:
            return False

    async def root(self, session: str) -> str:
        """Return the root session of the tree that a session belongs to; itself if it is not a subagent."""
        while parent := await parent_of(session, self._drives):
            session = parent
        return session

    async def extended(self, session: str, extension: str) -> Extension | Notice | None:
        """Return the part that raised the limit, the notice that refused it, or None while it is pending."""
        for part in (await self.load(session)).parts.values():
            if isinstance(part, (Extension, Notice)) and part.item == extension:
                return part
        return None

    async def waiting_prompts(self, session: str) -> list[str]:
        """Return the ids of the prompts that wait in the inbox."""
        return [item.id for item in await self.pending_prompts(session)]

    async def pending_prompts(self, session: str) -> list[PromptItem]:
        """Return the prompts that wait in the inbox, without those that are being withdrawn."""
        items = await self.journal.inbox(session)
        withdrawn = {item.prompt for item in items if isinstance(item, WithdrawItem)}
        return [item for item in items if isinstance(item, PromptItem) and item.id not in withdrawn]

    async def sessions(self, query: SessionQuery | None = None) -> list[SessionRow]:
        """Return the sessions that fit, the most recently changed first; without a query all that are not archived."""
        query = fitting("query", query, SessionQuery) if query is not None else SessionQuery()
        if not query.state:
            return await self.journal.sessions(query)
        # Imported only here: it needs this class.
        from bridle.runtime.session_list import in_state

        return await in_state(cast("Runtime", self), query)

    @asynccontextmanager
    async def leased(self, session: str) -> AsyncIterator[Lease]:
        """Hold the lease of a session; raises `LeaseLost` while a turn runs."""
        lease, mark = await self.journal.acquire(session), 0
        while lease is None:
            if (await self.load(session)).running is not None:
                raise LeaseLost(f"session {session} has a running turn: wait for it, or abort it")
            # No turn is open, so the lease holder is about to release it.
            mark = await self._changed(session, mark)
            lease = await self.journal.acquire(session)
        try:
            yield lease
        finally:
            await self.journal.release(lease)

    def new_id(self) -> str:
        """Return an id for a new session."""
        return self.seams.new_id("ses")

    async def entries(self, session: str) -> list[Entry]:
        """Return all recorded entries of a session, undone ones included."""
        return await self.journal.load(session)

    async def tree_entries(self, session: str) -> dict[str, list[Entry]]:
        """Return all recorded entries of a session and of its subagents, by session id."""
        found: dict[str, list[Entry]] = {}
        waiting = [session]
        while waiting:
            id = waiting.pop()
            try:
                found[id] = await self.journal.load(id)
            except NoSuchSession:
                if id == session:
                    raise
                continue
            waiting += sorted(child for child in children_in(found[id]) if child not in found)
        return found

    async def is_begun(self, row: SessionRow) -> bool:
        """Return whether a session has a prompt, taken or waiting; lists leave empty sessions out."""
        if row.sequence > FEW_ENTRIES:
            return True
        try:
            entries = await self.journal.load(row.info.id)
        except JournalRefused:
            # The session is damaged; opening it reports that.
            return True
        prompted = any(isinstance(part, Prompt) for part in parts_put(entries))
        return prompted or bool(await self.waiting_prompts(row.info.id))

    async def last_session(self, wanted: str = "") -> str:
        """Return this directory's most recently changed session with a prompt; raises `ConfigError` without one."""
        for row in await self._own_sessions():
            if await self.is_begun(row):
                return row.info.id
        raise ConfigError(f"{wanted}there is no session in {self.directory} yet")

    async def interrupted(self, *, most: int | None = None) -> list[str]:
        """Return the sessions of this directory whose turn was interrupted, newest first.

        With `most`, only that number of sessions is read.
        """
        found: list[str] = []
        for row in (await self._own_sessions())[:most]:
            # A damaged session is skipped; opening it reports the damage.
            with suppress(JournalRefused):
                if not await self.has_ended(row) and (await self.status(row.info.id)).state == "interrupted":
                    found.append(row.info.id)
        return found

    async def _own_sessions(self) -> list[SessionRow]:
        here = str(self.directory)
        return await self.sessions(SessionQuery(directory=here, roots=True))

    async def has_ended(self, row: SessionRow) -> bool:
        """Return whether the last entry ends a turn: true of nearly all sessions, and avoids reading the rest."""
        if row.sequence == 1:
            return True
        last = await self.journal.load(row.info.id, max(0, row.sequence - LAST_ENTRIES))
        return any(isinstance(part, TurnFinish) for part in parts_put(last[-1:]))

    async def subagents(self, session: Session, ended: dict[str, Branch]) -> tuple[Branch, ...]:
        """Return the tree of subagents of a session; `ended` caches finished branches between calls."""
        found: list[Branch] = []
        calls = [part for part in session.parts.values() if isinstance(part, Call) and part.child]
        for call in calls[-MOST_BRANCHES:]:
            child = call.child
            if child in ended and not isinstance(call.state, Waiting):
                found.append(ended[child])
                continue
            try:
                state = await self.load(child)
                status = status_of(state, held=await self.journal.held(child)).state
            except JournalError:
                # The session is deleted or damaged; its parent still has the report.
                continue
            turn = state.turn
            agent, steps, cap = (turn.start.agent, turn.used.steps, turn.cap) if turn is not None else ("", 0, 0)
            below = await self.subagents(state, ended)
            branch = Branch(child, agent, call.arguments, status, steps=steps, cap=cap, below=below)
            found.append(branch)
            if not isinstance(call.state, Waiting):
                ended[child] = branch
        return tuple(found)

    async def tree_account(self, session: Session) -> Account | None:
        """Return the account of the whole tree of turns; None if there are no subagents."""
        turn = session.turn
        if turn is None or (not turn.children and turn.below is NOTHING):
            # This is called for every displayed entry, so a turn without subagents must not read the journal.
            return None
        account = await self.journal.account(turn.start.account)
        while account is not None and account.parent:
            above = await self.journal.account(account.parent)
            if above is None or above.scope in ("day", "month"):
                break
            account = above
        return account


def own_children(session: str, entries: Sequence[Entry]) -> list[str]:
    """Return the subagents that a session started itself, without those that its origin started before a fork."""
    return sorted(child for child in children_in(entries) if is_below(child, session))


def children_in(entries: Sequence[Entry]) -> dict[str, set[str]]:
    """Return the subagents that these entries started, with their calls; undone ones included."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        for event in entry.events:
            if isinstance(event, CallMoved) and isinstance(event.state, Waiting):
                found.setdefault(event.state.child, set()).add(event.id)
    return found


def parts_put(entries: Iterable[Entry]) -> list[Part]:
    """Return the parts that these entries recorded, in order; a part that was recorded again is repeated."""
    return [event.part for entry in entries for event in entry.events if isinstance(event, PartPut)]
