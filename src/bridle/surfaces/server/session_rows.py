"""`SessionRows`: one row for each session of the served directories, kept up to date while there are readers."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from bridle.core.parts import Prompt, TurnFinish
from bridle.core.session import Session
from bridle.core.states import Ask
from bridle.core.status import status_of
from bridle.errors import JournalError
from bridle.runtime.project import Backend
from bridle.runtime.sessions import SessionRow
from bridle.surfaces.server.directories import Directories
from bridle.surfaces.server.limit_uses import nearest_use
from bridle.surfaces.server.streams import Outlet, SlowReaderError, sse
from bridle.wire.native_answers import Gone, OpenAsk, Row, RowSnapshot

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.5
LONGEST_TITLE = 200


class SessionRows:
    """The rows, read from the journal, so that sessions of every process are in them. Subagents have none."""

    def __init__(self, directories: Directories) -> None:
        self._directories = directories
        self._rows: dict[str, Row] = {}
        self._states: dict[str, Session] = {}
        """The sessions with an open turn: their status may change without an entry."""
        self._readers: dict[Outlet, asyncio.Event] = {}
        """Each with an event that is set when it is dropped."""
        self._reading = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def current(self) -> RowSnapshot:
        """Return all rows as they are now."""
        await self._read()
        return RowSnapshot(tuple(sorted(self._rows.values(), key=lambda row: row.updated, reverse=True)))

    async def follow(self, outlet: Outlet) -> None:
        """Put a snapshot into an outlet, then each row that changes, until the reader is dropped."""
        rows = await self.current()
        dropped = self._readers.setdefault(outlet, asyncio.Event())
        try:
            outlet.put_nowait(sse("snapshot", msgspec.json.encode(rows)))
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._keep())
            await dropped.wait()
            raise SlowReaderError
        finally:
            self._readers.pop(outlet, None)

    async def _keep(self) -> None:
        """Read for all readers together, as long as there are any."""
        while self._readers:
            await asyncio.sleep(POLL_SECONDS)
            try:
                await self._read()
            except JournalError as error:
                # The journal cannot be reached now: readers connect again, and begin with a new snapshot.
                LOG.warning("the rows of sessions cannot be read, and their streams end: %s", error)
                for dropped in self._readers.values():
                    dropped.set()
                return

    async def _read(self) -> None:
        """Read the sessions that may have changed, and tell the readers."""
        async with self._reading:
            found = [row for row in await self._directories.rows() if not row.info.parent]
            for row in found:
                known = self._rows.get(row.info.id)
                if known is None or known.sequence != row.sequence or row.info.id in self._states:
                    await self._renew(row, known)
            for gone in self._rows.keys() - {row.info.id for row in found}:
                del self._rows[gone]
                self._states.pop(gone, None)
                self._tell(sse("gone", msgspec.json.encode(Gone(gone))))

    async def _renew(self, row: SessionRow, known: Row | None) -> None:
        try:
            backend = await self._directories.of_session(row.info.id)
            if not await backend.is_begun(row):
                return
            new = await self._row(backend, row)
        except JournalError:
            new = Row(
                session=row.info.id,
                directory=row.info.directory,
                title=row.info.title,
                state="damaged",
                cost=0.0,
                asks=(),
                sequence=row.sequence,
                created=row.info.created,
                updated=row.updated,
            )
        if new != known:
            self._rows[row.info.id] = new
            self._tell(sse("row", msgspec.json.encode(new)))

    async def _row(self, backend: Backend, row: SessionRow) -> Row:
        state = self._states.get(row.info.id)
        if state is None or state.sequence != row.sequence:
            state = await backend.load(row.info.id)
        turn = state.running
        status = status_of(state, held=turn is not None and await backend.is_driven(row.info.id)).state
        if status == "interrupted" and turn is not None and turn.children:
            # A turn that waits for its subagents holds no lease.
            status = (await backend.status(row.info.id)).state
        if turn is None:
            self._states.pop(row.info.id, None)
        else:
            self._states[row.info.id] = state
        asks = turn.asks if turn is not None else ()
        last = state.turn
        return Row(
            session=row.info.id,
            directory=row.info.directory,
            title=title_of(state),
            state=status,
            cost=cost_of(state),
            asks=tuple(_shown(ask, row.info.id) for ask in asks),
            sequence=state.sequence,
            created=row.info.created,
            updated=row.updated,
            agent=last.start.agent if last is not None else row.info.agent,
            model=last.model if last is not None else row.info.model,
            pinned=row.info.pinned,
            limit=nearest_use(last, state.elapsed) if last is not None else None,
            reason=state.ended if turn is None and state.ended is not None else "",
        )

    def _tell(self, event: bytes) -> None:
        for outlet in tuple(self._readers):
            try:
                outlet.put_nowait(event)
            except SlowReaderError:
                self._readers.pop(outlet).set()


def _shown(ask: Ask, session: str) -> OpenAsk:
    covers = tuple(f"{access.permission}: {access.always or access.pattern}" for access in ask.accesses)
    return OpenAsk(
        id=ask.id,
        session=ask.session or session,
        kind=ask.kind,
        text=ask.text,
        choices=ask.choices,
        always=covers if ask.kind == "permission" else (),
        diff=ask.diff,
    )


def cost_of(state: Session) -> float:
    """Return the cost of a session with its subagents, in US dollars."""
    ended = sum(part.spent.cost for part in state.parts.values() if isinstance(part, TurnFinish))
    return ended + (state.running.used.cost if state.running is not None else 0.0)


def title_of(state: Session) -> str:
    """Return the title of a session, or else its first prompt."""
    return (state.info.title if state.info is not None else "") or _first_prompt(state)


def _first_prompt(state: Session) -> str:
    text = next((part.text for part in state.parts.values() if isinstance(part, Prompt)), "")
    return " ".join(text.split())[:LONGEST_TITLE]
