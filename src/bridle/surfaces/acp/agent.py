"""`EditorAgent`: answers the methods of the Agent Client Protocol for one editor, with sessions of any directory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bridle.errors import BridleError, ConfigError, LeaseLost, NoSuchSession
from bridle.runtime.project import Backend
from bridle.runtime.sessions import PageMark, SessionQuery
from bridle.surfaces.acp import answers as wire, requests
from bridle.surfaces.acp.choices import Choices
from bridle.surfaces.acp.connection import (
    INVALID_PARAMS,
    LOGIN_NEEDED,
    NO_SUCH_METHOD,
    NOT_FOUND,
    RpcConnection,
    RpcFailed,
    RpcReply,
    decoded,
)
from bridle.surfaces.acp.editor_session import EditorSession
from bridle.surfaces.acp.prompts import read_prompt
from bridle.surfaces.acp.updates import said
from bridle.surfaces.shared.safe_text import line

OpenProject = Callable[[Path, Sequence[requests.EditorServer]], Awaitable[Backend]]
"""Opens a directory with the MCP servers of the editor; raises `ConfigError`."""
LOGIN = "bridle-login"
PAGE = 50
MODELS_SECONDS = 5.0
"""Time to look for models; a server that does not answer must not hold up a new session."""
WITHOUT_INFO = frozenset({"toad"})
"""Clients that report updates of titles and options as errors."""


class EditorAgent:
    """One connection. Its sessions are in the journal; the connection holds only what the editor has open."""

    def __init__(self, open_project: OpenProject, version: str, *, aborts: bool, check: Callable[[Path], None]) -> None:
        self._open_project = open_project
        self._aborts = aborts
        """Whether turns are aborted that run when the client leaves: those of a server go on."""
        self._check = check
        """Raises `ConfigError` for a directory that is unsuitable for a session."""
        self._version = version
        self._connection: RpcConnection | None = None
        self._client = requests.Initialize(requests.PROTOCOL_VERSION)
        self._sessions: dict[str, EditorSession] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()
        """Directories whose notices were shown."""

    async def serve(self, connection: RpcConnection) -> None:
        """Serve a client until it leaves. Paused turns stay paused then; see `aborts` for running ones."""
        self._connection = connection
        try:
            await connection.serve(self)
        finally:
            for task in self._background:
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)
            for session in self._sessions.values():
                await session.leave(aborts=self._aborts)

    async def request(self, method: str, params: msgspec.Raw) -> RpcReply:
        """Answer a request; raises `RpcFailed`."""
        match method:
            case "initialize":
                return self._initialize(decoded(params, requests.Initialize))
            case "authenticate":
                return await self._authenticate(decoded(params, requests.Authenticate))
            case "session/new":
                return await self._new(decoded(params, requests.NewSession))
            case "session/load" | "session/resume":
                return await self._load(decoded(params, requests.LoadSession), replay=method == "session/load")
            case "session/list":
                return await self._list(decoded(params, requests.ListSessions))
            case "session/prompt":
                return await self._prompt(decoded(params, requests.PromptRequest))
            case "session/set_mode":
                given = decoded(params, requests.SetMode)
                return await self._choose(given.session_id, "mode", given.mode_id, is_mode=True)
            case "session/set_config_option":
                option = decoded(params, requests.SetOption)
                return await self._choose(option.session_id, option.config_id, option.value, is_mode=False)
            case "session/close":
                return await self._close(decoded(params, requests.SessionOnly).session_id)
            case "session/delete":
                return await self._delete(decoded(params, requests.SessionOnly).session_id)
        raise RpcFailed(NO_SUCH_METHOD, f"there is no method {method}")

    async def notification(self, method: str, params: msgspec.Raw) -> None:
        """Take a notification; all but `session/cancel` are ignored."""
        if method == "session/cancel":
            session = self._sessions.get(decoded(params, requests.SessionOnly).session_id)
            if session is not None:
                await session.cancel()

    def _initialize(self, given: requests.Initialize) -> RpcReply:
        self._client = given
        supported = wire.Supported()
        capabilities = wire.Capabilities(
            load_session=True,
            mcp_capabilities=wire.McpCapabilities(http=True, sse=True),
            prompt_capabilities=wire.PromptCapabilities(embedded_context=True, image=True),
            session_capabilities=wire.SessionCapabilities(
                list=supported, resume=supported, close=supported, delete=supported
            ),
        )
        return RpcReply(
            wire.Initialized(
                protocol_version=requests.PROTOCOL_VERSION,
                agent_capabilities=capabilities,
                agent_info=wire.AgentInfo(name="bridle", title="Bridle", version=self._version),
                auth_methods=(self._login(),),
            )
        )

    def _login(self) -> wire.AuthMethod:
        capabilities = self._client.client_capabilities
        in_terminal = capabilities is not None and capabilities.auth is not None and capabilities.auth.terminal
        words = "Enter a key of a provider, or run `bridle auth login` in a terminal"
        if not in_terminal:
            return wire.AuthMethod(id=LOGIN, name="Provider key", description=words)
        return wire.AuthMethod(id=LOGIN, name="Provider key", description=words, type="terminal", args=("--login",))

    async def _authenticate(self, given: requests.Authenticate) -> RpcReply:
        if given.method_id != LOGIN:
            raise RpcFailed(INVALID_PARAMS, f"there is no login {given.method_id!r}")
        backend = await self._open_project(Path.cwd(), ())
        try:
            await backend.chosen_model()
        except ConfigError as error:
            raise RpcFailed(LOGIN_NEEDED, str(error)) from error
        return RpcReply({})

    async def _new(self, given: requests.NewSession) -> RpcReply:
        backend = await self._backend(given.cwd, given.mcp_servers)
        session = await self._opened(backend.new_id(), backend, "", "")
        choices = session.choices
        return RpcReply(
            wire.SessionOpened(session_id=session.id, modes=choices.modes(), config_options=choices.options()),
            lambda: self._begun(session),
        )

    async def _load(self, given: requests.LoadSession, *, replay: bool) -> RpcReply:
        backend = await self._backend(given.cwd, given.mcp_servers)
        try:
            state = await backend.load(given.session_id)
        except NoSuchSession as error:
            raise RpcFailed(NOT_FOUND, str(error)) from error
        info = state.info
        if info is None or Path(info.directory).resolve() != Path(given.cwd).resolve():
            raise RpcFailed(NOT_FOUND, f"session {given.session_id} belongs to another directory")
        start = state.turn.start if state.turn is not None else None
        agent, model = (start.agent, start.model) if start is not None else ("", "")
        session = await self._opened(given.session_id, backend, agent, model)
        if replay:
            await session.replay()
        choices = session.choices
        answer = wire.Opened(modes=choices.modes(), config_options=choices.options())
        return RpcReply(answer, lambda: self._begun(session, asks=True))

    async def _backend(self, cwd: str, servers: Sequence[requests.EditorServer]) -> Backend:
        path = Path(cwd)
        if not path.is_absolute() or not path.is_dir():
            raise RpcFailed(INVALID_PARAMS, f"cwd must be the absolute path of a directory, not {cwd!r}")
        self._check(path)
        return await self._open_project(path, servers)

    async def _opened(self, id: str, backend: Backend, agent: str, model: str) -> EditorSession:
        preferences = backend.preferences()
        try:
            rows = await asyncio.wait_for(backend.model_rows(), MODELS_SECONDS)
        except (TimeoutError, BridleError):
            # Without a list the default model is used; a prompt says if there is none.
            rows = []
        model = model or preferences.model
        if not model:
            try:
                model, _ = await backend.chosen_model()
            except ConfigError:
                model = ""
        choices = Choices(backend.agents(), rows, agent or preferences.agent, model)
        session = EditorSession(id, backend.directory, backend, choices, self)
        self._sessions[id] = session
        return session

    async def _begun(self, session: EditorSession, *, asks: bool = False) -> None:
        """Report the commands and the open asks of a session that was just opened."""
        rows = await session.backend.slash_commands()
        commands = [
            wire.CommandShown(
                name=line(row.name),
                description=line(row.description) or line(row.name),
                input=wire.CommandInput(hint=" ".join(row.arguments) or "arguments"),
            )
            for row in rows
        ]
        await self.update(session.id, wire.Commands(available_commands=tuple(commands)))
        if asks:
            task = asyncio.create_task(self._ask_again(session))
            self._background.add(task)
            task.add_done_callback(self._background.discard)

    async def _ask_again(self, session: EditorSession) -> None:
        try:
            await session.ask_again()
        except BridleError as error:
            await self.update(session.id, said("ask-again", str(error)))

    async def _list(self, given: requests.ListSessions) -> RpcReply:
        directory = Path(given.cwd or ".").absolute()
        backend = await self._open_project(directory, ())
        before = msgspec.json.decode(given.cursor, type=PageMark) if given.cursor else None
        query = SessionQuery(directory=given.cwd or "", roots=True, before=before, limit=PAGE)
        rows = await backend.sessions(query)
        entries = [
            wire.SessionEntry(
                session_id=row.info.id,
                cwd=row.info.directory,
                title=line(row.info.title) or None,
                updated_at=datetime.fromtimestamp(row.updated, UTC).isoformat(),
            )
            for row in rows
            if await backend.is_begun(row)
        ]
        cursor = msgspec.json.encode(rows[-1].mark).decode() if len(rows) == PAGE else None
        return RpcReply(wire.SessionPage(sessions=tuple(entries), next_cursor=cursor))

    async def _prompt(self, given: requests.PromptRequest) -> RpcReply:
        session = self._session(given.session_id)
        prompt = read_prompt(given.prompt, session.directory)
        directory = str(session.directory)
        if directory not in self._told:
            self._told.add(directory)
            for number, notice in enumerate(session.backend.new_notices()):
                await self.update(session.id, said(f"notice-{number}", f"{notice}\n\n"))
        return RpcReply(await session.prompt(prompt))

    async def _choose(self, id: str, option: str, value: str, *, is_mode: bool) -> RpcReply:
        session = self._session(id)
        session.choices.choose(option, value)
        options = session.choices.options()
        if is_mode:
            return RpcReply({}, lambda: self.update(id, wire.OptionsUpdate(config_options=options)))
        mode = session.choices.agent
        answer = wire.OptionsAnswer(config_options=options)
        if option != "mode":
            return RpcReply(answer)
        return RpcReply(answer, lambda: self.update(id, wire.ModeUpdate(current_mode_id=mode, mode_id=mode)))

    async def _close(self, id: str) -> RpcReply:
        session = self._sessions.pop(id, None)
        if session is not None:
            await session.leave(aborts=True)
        return RpcReply({})

    async def _delete(self, id: str) -> RpcReply:
        """Delete a session; deleting it again succeeds."""
        await self._close(id)
        backend = await self._open_project(Path.cwd(), ())
        try:
            await backend.parked(id)
            await backend.delete(id)
        except NoSuchSession:
            return RpcReply({})
        except LeaseLost as error:
            raise RpcFailed(INVALID_PARAMS, str(error)) from error
        return RpcReply({})

    def _session(self, id: str) -> EditorSession:
        session = self._sessions.get(id)
        if session is None:
            raise RpcFailed(NOT_FOUND, f"session {id} is not open here: load or resume it")
        return session

    @property
    def shows_forms(self) -> bool:
        """Whether the client can show a question with fields."""
        capabilities = self._client.client_capabilities
        return (
            capabilities is not None
            and capabilities.elicitation is not None
            and (capabilities.elicitation.form is not None)
        )

    async def update(self, session: str, update: wire.Update) -> None:
        """Report a change of a session."""
        name = self._client.client_info.name if self._client.client_info is not None else ""
        if name in WITHOUT_INFO and isinstance(update, (wire.InfoUpdate, wire.OptionsUpdate)):
            return
        await self._to().notify("session/update", wire.SessionUpdate(session_id=session, update=update))

    async def permission(self, request: wire.PermissionQuestion) -> requests.PermissionAnswer:
        """Ask the person for a permission."""
        return await self._to().ask("session/request_permission", request, requests.PermissionAnswer)

    async def elicit(self, request: wire.FormQuestion) -> requests.ElicitationAnswer:
        """Ask the person a question."""
        return await self._to().ask("elicitation/create", request, requests.ElicitationAnswer)

    def _to(self) -> RpcConnection:
        assert self._connection is not None
        return self._connection
