"""The methods of a runtime that concern its project; the modules they need are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bridle.core.parts import Delegation
from bridle.runtime.project import AgentRow, BackgroundCommand, Confirm, Expanded, Preferences

if TYPE_CHECKING:
    from bridle.runtime.runtime import Runtime


class LocalProject:
    """Implements `Project` for a runtime in this process."""

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
