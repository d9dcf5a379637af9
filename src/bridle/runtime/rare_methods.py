"""`RareMethods`: base class of `Runtime` for project queries, fork, undo, export; imports their code when called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from bridle.core.budget import AccountUse, Budget
from bridle.core.parts import Delegation, File
from bridle.core.permission import Approvals
from bridle.errors import ConfigError
from bridle.runtime.project import AgentRow, BackgroundCommand, Confirm, Expanded, Preferences
from bridle.runtime.project_views import (
    BranchView,
    ConfigValue,
    FileContent,
    FoundFile,
    ModelRow,
    ServerRow,
    SlashCommand,
    TrustView,
    UsageStats,
)
from bridle.runtime.sessions import Reverted

if TYPE_CHECKING:
    from bridle.core.inbox import TurnOptions
    from bridle.journal.worker_overview import Overview
    from bridle.runtime.runtime import Runtime


class RareMethods:
    """Implements `Project`, and the part of `Sessions` that changes, moves or deletes whole sessions."""

    @property
    def _here(self) -> Runtime:
        return cast("Runtime", self)

    def preferences(self) -> Preferences:
        from bridle.runtime.own_prompts import with_own

        given, names = self._here.settings, tuple(with_own(self._here.settings.commands))
        return Preferences(given.agent, given.model or "", given.ui.theme, tuple(given.models), names)

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

    async def configuration(self) -> list[ConfigValue]:
        from bridle.runtime.project_facts import configuration

        return configuration(self._here)

    async def trust(self) -> TrustView:
        from bridle.runtime.project_facts import trust

        return trust(self._here)

    async def approvals(self) -> list[str]:
        from bridle.runtime.project_facts import approvals

        return approvals(self._here)

    async def revoke_approval(self, number: int, words: str) -> list[str]:
        from bridle.runtime.project_facts import revoke_approval

        return revoke_approval(self._here, number, words)

    async def slash_commands(self) -> list[SlashCommand]:
        from bridle.runtime.project_facts import slash_commands

        return await slash_commands(self._here)

    async def model_rows(self) -> list[ModelRow]:
        from bridle.runtime.project_facts import models

        return await models(self._here)

    async def mcp_servers(self) -> list[ServerRow]:
        from bridle.runtime.project_facts import servers

        return await servers(self._here)

    async def branch(self) -> BranchView:
        from bridle.runtime.working_tree import branch_of

        return await branch_of(self._here)

    async def stats(self, days: int = 7, projects: Sequence[str] = ()) -> UsageStats:
        from bridle.runtime.usage_stats import usage_stats

        return await usage_stats(self._here, days, projects)

    async def find_files(self, text: str, limit: int = 50) -> list[FoundFile]:
        from bridle.runtime.project_files import find_files

        return await find_files(self._here, text, limit)

    async def read_file(self, path: str) -> FileContent:
        from bridle.runtime.project_files import read_file

        return read_file(self._here, path)

    async def list_folder(self, path: str = ".") -> list[FoundFile]:
        from bridle.runtime.project_files import list_folder

        return list_folder(self._here, path)

    async def upload(self, name: str, content: bytes) -> File:
        from bridle.runtime.project import attachment

        return attachment(name, content)

    async def expand(self, text: str, confirm: Confirm, *, typed: str, agent: str | None = None) -> Expanded:
        from bridle.runtime.slash_commands import expand_prompt

        return await expand_prompt(self._here, text, confirm, typed=typed, agent=agent)

    async def background_commands(self, session: str) -> list[BackgroundCommand]:
        found = self._here.commands.backgrounds.of(session)
        return [BackgroundCommand(id, each.shown, each.status, each.tail) for id, each in found.items()]

    async def end_background_command(self, session: str, id: str) -> None:
        await self._here.commands.backgrounds.find(session, id).end()

    async def worker_notice(self, session: str) -> str:
        """Return a sentence if this session waits for a worker and no live one takes it; empty otherwise."""
        if not self._here.settings.workers.drive:
            return ""
        from bridle.journal.postgres import PostgresJournal

        journal = self._here.journal
        assert isinstance(journal, PostgresJournal)
        info = await journal.info(session)
        if await journal.wakes.takers(info):
            return ""
        needs = f" for the app {info.app}" if info.app else ""
        where = f" on the machine {info.place}" if info.place else ""
        return f"no live worker takes this session: start one{needs}{where} with: bridle worker"

    async def workers(self) -> Overview:
        """Return the live workers and the sessions that wait for one; raises `ConfigError` without PostgreSQL."""
        from bridle.journal.postgres import PostgresJournal
        from bridle.journal.worker_overview import overview

        if not isinstance(self._here.journal, PostgresJournal):
            raise ConfigError("there are workers only with a journal on PostgreSQL: set journal.url")
        return await overview(self._here.journal)

    async def check_prompt(self, session: str, text: str, options: TurnOptions) -> None:
        from bridle.core.inbox import PromptItem

        await self._here.check(await self._here.load(session), PromptItem("first", text, options=options))

    async def withdraw(self, session: str, prompt: str) -> bool:
        from bridle.runtime.withdraw import withdraw_prompt

        return await withdraw_prompt(self._here, session, prompt)

    async def shell(self, session: str, command: str, *, id: str | None = None) -> str:
        from bridle.runtime.person_command import submit_command

        return await submit_command(self._here, session, command, id)

    async def rename(self, session: str, title: str) -> None:
        from bridle.runtime.transfer import rename_session

        await rename_session(self._here, session, title)

    async def pin(self, session: str, pinned: bool) -> None:
        from bridle.runtime.session_list import pin_session

        await pin_session(self._here, session, pinned)

    async def archive(self, session: str, archived: bool) -> None:
        from bridle.runtime.session_list import archive_session

        await archive_session(self._here, session, archived)

    async def set_approvals(self, session: str, approvals: Approvals) -> None:
        from bridle.runtime.session_list import set_approvals

        await set_approvals(self._here, session, approvals)

    async def move(self, session: str, place: str) -> list[str]:
        from bridle.runtime.move import move_session

        return await move_session(self._here, session, place)

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

    async def set_budget(self, account: str, budget: Budget) -> None:
        from bridle.runtime.accounts import set_budget

        await set_budget(self._here, account, budget)

    async def account(self, account: str = "") -> AccountUse:
        from bridle.runtime.accounts import account_use

        return await account_use(self._here, account)

    async def delete(self, session: str) -> list[str]:
        from bridle.runtime.retention import delete_session

        return await delete_session(self._here, session)
