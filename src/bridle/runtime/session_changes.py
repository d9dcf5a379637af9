"""The methods of a runtime that change, move or delete whole sessions; modules are imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bridle.runtime.sessions import Reverted

if TYPE_CHECKING:
    from bridle.runtime.runtime import Runtime


class SessionChanges:
    """Implements the part of `Sessions` that changes whole sessions."""

    @property
    def _runtime(self) -> Runtime:
        return cast("Runtime", self)

    async def rename(self, session: str, title: str) -> None:
        from bridle.runtime.transfer import rename_session

        await rename_session(self._runtime, session, title)

    async def fork(self, session: str, turn: int | None = None) -> str:
        from bridle.runtime.transfer import fork_session

        return await fork_session(self._runtime, session, turn)

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        from bridle.runtime.undo import undo

        return await undo(self._runtime, session, to=to, keep_files=keep_files, force=force)

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        from bridle.runtime.undo import redo

        return await redo(self._runtime, session, keep_files=keep_files)

    async def diff(self, session: str, turn: int = 0) -> str:
        from bridle.runtime.undo import diff

        return await diff(self._runtime, session, turn)

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        from bridle.runtime.transfer import export_session

        return await export_session(self._runtime, session, redact=redact)

    async def import_bundle(self, raw: bytes) -> str:
        from bridle.runtime.transfer import import_bundle

        return await import_bundle(self._runtime, raw)

    async def delete(self, session: str) -> list[str]:
        from bridle.runtime.retention import delete_session

        return await delete_session(self._runtime, session)
