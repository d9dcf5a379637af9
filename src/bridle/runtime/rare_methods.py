"""Methods of a runtime about its project and about whole sessions; their modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bridle.core.parts import Delegation
from bridle.runtime.project import AgentRow, BackgroundCommand, Confirm, Expanded, Preferences
from bridle.runtime.sessions import Reverted

if TYPE_CHECKING:
    from bridle.runtime.runtime import Runtime


class RareMethods:
    """Implements `Project`, and the part of `Sessions` that changes, moves or deletes whole sessions."""

    @property
    def _here(self) -> Runtime:
        return cast("Runtime", self)

    def preferences(self) -> Preferences:
        given = self._here.settings
        return Preferences(given.agent, given.model or "", given.ui.theme, tuple(given.models), tuple(given.commands))

    def new_notices(self) -> tuple[str, ...]:
        from bridle.assembly.project_access import ProjectAccess

        about_files = self._here.file_notices
        fresh = ProjectAccess(self._here.directory).news(about_files)
        return tuple(notice for notice in self._here.notices if notice in fresh or notice not in about_files)

    def agents(self) -> list[AgentRow]:
        turns, child = self._here.turns, Delegation("", "", "", 1)
        return [AgentRow(each, turns.bounds_of(each), turns.bounds_of(each, child)) for each in turns.agents.values()]

    async def chosen_model(self) -> tuple[str, str]:
        await self._here.models.prepare(None)
        return self._here.models.choose()

    async def reachable_models(self) -> list[str]:
        return [info.ref for reach in self._here.models.reachable() for info in reach.models]

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        from bridle.runtime.slash_commands import expand_prompt

        return await expand_prompt(self._here, text, confirm, typed=typed, agent=agent)

    def background_commands(self, session: str) -> list[BackgroundCommand]:
        found = self._here.commands.backgrounds.of(session)
        return [BackgroundCommand(id, each.shown, each.status, each.tail) for id, each in found.items()]

    async def end_background_command(self, session: str, id: str) -> None:
        await self._here.commands.backgrounds.find(session, id).end()

    async def rename(self, session: str, title: str) -> None:
        from bridle.runtime.transfer import rename_session

        await rename_session(self._here, session, title)

    async def fork(self, session: str, turn: int | None = None) -> str:
        from bridle.runtime.transfer import fork_session

        return await fork_session(self._here, session, turn)

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        from bridle.runtime.undo import undo

        return await undo(self._here, session, to=to, keep_files=keep_files, force=force)

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        from bridle.runtime.undo import redo

        return await redo(self._here, session, keep_files=keep_files)

    async def diff(self, session: str, turn: int = 0) -> str:
        from bridle.runtime.undo import diff

        return await diff(self._here, session, turn)

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        from bridle.runtime.transfer import export_session

        return await export_session(self._here, session, redact=redact)

    async def import_bundle(self, raw: bytes) -> str:
        from bridle.runtime.transfer import import_bundle

        return await import_bundle(self._here, raw)

    async def delete(self, session: str) -> list[str]:
        from bridle.runtime.retention import delete_session

        return await delete_session(self._here, session)
