"""`RemoteSessions`: base class of `ServerClient` that creates, submits to and manages sessions of a server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from bridle.client.connection import ServerConnection, checked, segment, session_path
from bridle.core.budget import Budget
from bridle.core.context import sound
from bridle.core.inbox import TurnOptions
from bridle.core.limits import LimitName
from bridle.core.messages import Message
from bridle.core.parts import File
from bridle.core.permission import Approvals
from bridle.errors import AlreadyAnswered, ConfigError
from bridle.runtime.argument_checks import fitting
from bridle.runtime.sessions import Reverted
from bridle.seams import Seams
from bridle.wire.native_answers import (
    Accepted,
    Created,
    DeletedSessions,
    Removed,
    RevertedTurns,
    SessionIds,
    WinningAnswer,
)
from bridle.wire.native_requests import (
    AbortBody,
    AnswerBody,
    AttachedFile,
    CreateBody,
    DescribeBody,
    DirectoryQuery,
    EmptyBody,
    ExportQuery,
    ExtendBody,
    FirstPrompt,
    ForkBody,
    MoveBody,
    PromptBody,
    PromptOptions,
    RedoBody,
    ShellBody,
    SupplyBody,
    UndoBody,
)

CONFLICT = 409


class RemoteSessions:
    """The actions of `Sessions`, over HTTP. Requests that may be done twice are repeated while the server is away."""

    _connection: ServerConnection
    directory: Path
    _seams = Seams()

    def new_id(self) -> str:
        return self._seams.new_id("ses")

    async def create(
        self,
        id: str | None = None,
        *,
        messages: Iterable[Message] = (),
        title: str = "",
        agent: str = "",
        model: str = "",
        denied: Sequence[str] = (),
    ) -> str:
        body = CreateBody(messages=tuple(messages), title=sound(title), agent=agent, model=model, denied=tuple(denied))
        return await self._create(msgspec.structs.replace(body, id=id if id is not None else self.new_id()))

    async def begin(self, id: str, text: str, options: TurnOptions | None) -> str:
        first = FirstPrompt(text=sound(text), options=prompt_options(options)) if options is not None else None
        return await self._create(CreateBody(id=id, first=first))

    async def _create(self, body: CreateBody) -> str:
        body = msgspec.structs.replace(body, directory=str(self.directory))
        return (await self._connection.ask("POST", "/sessions", Created, body=body)).id

    async def prompt(
        self,
        session: str,
        text: str,
        *,
        id: str | None = None,
        files: Sequence[File] = (),
        queue: bool = False,
        reply: bool = True,
        options: TurnOptions | None = None,
        wants: Sequence[str] = (),
        subtask: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        body = PromptBody(
            text=sound(text) if isinstance(text, str) else text,
            # With an id, a request whose answer was lost is repeated without a second prompt.
            id=id if id is not None else self._seams.new_id("prm"),
            files=tuple(_attached(fitting("files", file, File)) for file in files),
            queue=queue,
            reply=reply,
            options=prompt_options(options),
            wants=tuple(wants),
            subtask=subtask,
            metadata=dict(metadata or {}),
        )
        return (await self._connection.ask("POST", session_path(session, "/prompts"), Accepted, body=body)).id

    async def check_prompt(self, session: str, text: str, options: TurnOptions) -> None:
        body = FirstPrompt(text=sound(text), options=prompt_options(options))
        await self._connection.ask("POST", session_path(session, "/checks"), Accepted, body=body)

    async def withdraw(self, session: str, prompt: str) -> bool:
        path = session_path(session, f"/prompts/{segment(prompt)}")
        return (await self._connection.ask("DELETE", path, Removed)).withdrawn

    async def shell(self, session: str, command: str, *, id: str | None = None) -> str:
        body = ShellBody(command=command, id=id)
        return (await self._connection.ask("POST", session_path(session, "/shell"), Accepted, body=body)).id

    async def answer(
        self,
        session: str,
        ask: str,
        choice: Literal["once", "always", "reject"],
        feedback: str = "",
        *,
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        words = sound(feedback) if isinstance(feedback, str) else feedback
        given = dict(arguments) if arguments is not None else None
        body = AnswerBody(ask=ask, choice=choice, feedback=words, arguments=given)
        response = await self._connection.send("POST", session_path(session, "/answers"), body=body)
        if response.status_code == CONFLICT:
            _refuse_other(response.content, body)
        else:
            checked(response)

    async def supply(self, session: str, call: str, output: str, *, failed: bool = False) -> None:
        body = SupplyBody(call=call, output=sound(output), failed=failed)
        await self._connection.ask("POST", session_path(session, "/supplies"), Accepted, body=body)

    async def abort(self, session: str, *, turn: int = 0, detail: str = "") -> None:
        body = AbortBody(turn=turn, detail=detail)
        await self._connection.ask("POST", session_path(session, "/abort"), Accepted, body=body)

    async def extend(self, session: str, limit: LimitName, by: float) -> str:
        path, body = session_path(session, "/extensions"), ExtendBody(limit=limit, by=by)
        # Each request raises it again.
        return (await self._connection.ask("POST", path, Accepted, body=body, repeats="unsent")).id

    async def compact(self, session: str) -> None:
        await self._connection.ask("POST", session_path(session, "/compact"), Accepted, body=EmptyBody())

    async def resume(self, session: str) -> None:
        await self._connection.ask("POST", session_path(session, "/resume"), Accepted, body=EmptyBody())

    async def rename(self, session: str, title: str) -> None:
        await self._describe(session, DescribeBody(title=title))

    async def pin(self, session: str, pinned: bool) -> None:
        await self._describe(session, DescribeBody(pinned=pinned))

    async def archive(self, session: str, archived: bool) -> None:
        await self._describe(session, DescribeBody(archived=archived))

    async def set_approvals(self, session: str, approvals: Approvals) -> None:
        approvals = fitting("approvals", approvals, Approvals)
        if approvals == "auto":
            raise ConfigError("clients cannot allow everything: choose approvals by the rules, or ask")
        await self._describe(session, DescribeBody(approvals=approvals))

    async def _describe(self, session: str, body: DescribeBody) -> None:
        await self._connection.ask("PATCH", session_path(session), Created, body=body)

    async def move(self, session: str, place: str) -> list[str]:
        path, body = session_path(session, "/move"), MoveBody(place=place)
        return list((await self._connection.ask("POST", path, SessionIds, body=body)).sessions)

    async def fork(self, session: str, turn: int | None = None) -> str:
        path, body = session_path(session, "/fork"), ForkBody(turn=turn)
        return (await self._connection.ask("POST", path, Created, body=body, repeats="unsent")).id

    async def undo(self, session: str, *, to: str = "", keep_files: bool = False, force: bool = False) -> Reverted:
        return await self._reverted(session, "/undo", UndoBody(to=to, keep_files=keep_files, force=force))

    async def redo(self, session: str, *, keep_files: bool = False) -> Reverted:
        return await self._reverted(session, "/redo", RedoBody(keep_files=keep_files))

    async def _reverted(self, session: str, path: str, body: UndoBody | RedoBody) -> Reverted:
        # Done twice, it reverts two turns.
        found = await self._connection.ask(
            "POST", session_path(session, path), RevertedTurns, body=body, repeats="unsent"
        )
        return msgspec.convert(found, Reverted, from_attributes=True)

    async def export(self, session: str, *, redact: bool = False) -> bytes:
        response = await self._connection.send(
            "GET", session_path(session, "/export"), query=ExportQuery(redact=redact)
        )
        return checked(response).content

    async def import_bundle(self, raw: bytes) -> str:
        query = DirectoryQuery(directory=str(self.directory))
        return (await self._connection.ask("POST", "/imports", Created, query=query, body=raw)).id

    async def delete(self, session: str) -> list[str]:
        path = session_path(session)
        return list((await self._connection.ask("DELETE", path, DeletedSessions, repeats="unsent")).deleted)

    async def set_budget(self, account: str, budget: Budget) -> None:
        """Raise `ConfigError`: a client cannot raise what it may spend."""
        raise ConfigError("budgets are set on the server's machine, by a program with its journal")


def prompt_options(options: TurnOptions | None) -> PromptOptions:
    """Return options as the server takes them; raises `ConfigError` for those that give rights."""
    given = fitting("prompt: options", options, TurnOptions) if options is not None else TurnOptions()
    if given.delegation is not None:
        raise ConfigError("prompt: options.delegation is reserved for subagents: leave it out")
    asks = given.on_ask or "deny"
    if asks == "allow":
        raise ConfigError("clients cannot allow everything: give on_ask `person`, `pause` or `deny`")
    return PromptOptions(
        agent=given.agent,
        model=given.model,
        variant=given.variant,
        system=given.system,
        on_ask=asks,
        tools=given.tools,
        limits=given.limits,
        output=given.output,
        account=given.account,
        options=given.options,
        fallbacks=given.fallbacks,
    )


def _attached(file: File) -> AttachedFile:
    return AttachedFile(path=sound(file.path), text=sound(file.text), media=file.media, data=file.data)


def _refuse_other(content: bytes, body: AnswerBody) -> None:
    """Raise `AlreadyAnswered` if another answer holds; an answer to an ask that is not open changes nothing."""
    winning = msgspec.json.decode(content, type=WinningAnswer).answer
    # It may be our own: the reply to an earlier attempt was lost.
    if winning is None or winning == body:
        return
    words = f"{winning.choice}: {winning.feedback}" if winning.feedback else winning.choice
    raise AlreadyAnswered(f"the request has an answer already, which holds: {words}")
