"""`endpoints`: the table of OpenCode's paths, with the right that each needs; paths that are missing are unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from bridle.surfaces.server.application import HttpServer
from bridle.surfaces.server.opencode.ask_endpoints import AskEndpoints
from bridle.surfaces.server.opencode.failures import Endpoint, answering, forbidden
from bridle.surfaces.server.opencode.file_endpoints import FileEndpoints, Trees
from bridle.surfaces.server.opencode.hub import Hub
from bridle.surfaces.server.opencode.next_endpoints import NextEndpoints
from bridle.surfaces.server.opencode.project_endpoints import ProjectEndpoints, constant
from bridle.surfaces.server.opencode.session_endpoints import SessionEndpoints
from bridle.surfaces.server.opencode.shell_endpoint import ShellEndpoint
from bridle.surfaces.server.opencode.stream_endpoints import COMMANDS, StreamEndpoints
from bridle.surfaces.server.routes import Guarded

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
CAPABILITIES = {"backgroundSubagents": False}
CONSOLE = {"consoleManagedProviders": [], "switchableOrgCount": 0}
REFUSED: tuple[tuple[Method, str, str], ...] = (
    ("PATCH", "/config", "settings"),
    ("PATCH", "/global/config", "settings"),
    ("PUT", "/auth/{provider}", "keys"),
    ("DELETE", "/auth/{provider}", "keys"),
    ("POST", "/provider/{provider}/oauth/authorize", "keys"),
    ("POST", "/provider/{provider}/oauth/callback", "keys"),
    ("POST", "/mcp", "MCP servers"),
    ("POST", "/mcp/{name}/connect", "MCP servers"),
    ("POST", "/mcp/{name}/disconnect", "MCP servers"),
    ("POST", "/mcp/{name}/auth", "keys"),
    ("POST", "/mcp/{name}/auth/callback", "keys"),
    ("POST", "/mcp/{name}/auth/authenticate", "keys"),
    ("DELETE", "/mcp/{name}/auth", "keys"),
    ("PATCH", "/project/{project}", "projects"),
    ("POST", "/project/git/init", "projects"),
    ("POST", "/global/upgrade", "the version"),
)
"""What only the server's machine may change."""


class ClientEndpoint(NamedTuple):
    """One path with its method and the right that it needs."""

    method: Method
    path: str
    endpoint: Endpoint
    right: Literal["view", "drive"]


def endpoints(hub: Hub, server: HttpServer, trees: Trees) -> list[ClientEndpoint]:
    """Return all paths; earlier ones come first where two fit."""
    found = [*_of_sessions(SessionEndpoints(hub)), *_of_asks(AskEndpoints(hub))]
    found += [*_of_streams(StreamEndpoints(hub, server)), *_of_projects(ProjectEndpoints(hub))]
    found += [*_of_files(FileEndpoints(hub, trees)), *_of_next(NextEndpoints(hub))]
    found += [ClientEndpoint("POST", "/session/{session}/shell", ShellEndpoint(hub, server).run, "drive")]
    found += [ClientEndpoint(method, path, forbidden(what), "view") for method, path, what in REFUSED]
    return [each._replace(endpoint=answering(each.endpoint)) for each in found]


def guarded_routes(hub: Hub, server: HttpServer, trees: Trees) -> list[Guarded]:
    """Return all paths for a server; each asks for its right."""
    return [
        Guarded(each.path, each.endpoint, right=each.right, methods=[each.method])
        for each in endpoints(hub, server, trees)
    ]


def _of_sessions(at: SessionEndpoints) -> Iterator[ClientEndpoint]:
    for path, endpoint in (
        ("/session", at.list),
        ("/session/status", at.status),
        ("/session/{session}", at.get),
        ("/session/{session}/children", at.children),
        ("/session/{session}/todo", at.todos),
        ("/session/{session}/diff", at.diff),
        ("/session/{session}/message", at.messages),
        ("/session/{session}/message/{message}", at.message),
    ):
        yield ClientEndpoint("GET", path, endpoint, "view")
    for path, endpoint in (
        ("/session", at.create),
        ("/session/{session}/message", at.prompt),
        ("/session/{session}/prompt_async", at.prompt_later),
        ("/session/{session}/command", at.command),
        ("/session/{session}/abort", at.abort),
        ("/session/{session}/revert", at.revert),
        ("/session/{session}/unrevert", at.unrevert),
        ("/session/{session}/fork", at.fork),
        ("/session/{session}/summarize", at.summarize),
    ):
        yield ClientEndpoint("POST", path, endpoint, "drive")
    yield ClientEndpoint("PATCH", "/session/{session}", at.change, "drive")
    yield ClientEndpoint("DELETE", "/session/{session}", at.delete, "drive")
    yield ClientEndpoint("DELETE", "/session/{session}/message/{message}", at.take_back, "drive")


def _of_asks(at: AskEndpoints) -> Iterator[ClientEndpoint]:
    yield ClientEndpoint("GET", "/permission", at.permissions, "view")
    yield ClientEndpoint("GET", "/question", at.questions, "view")
    yield ClientEndpoint("POST", "/permission/{ask}/reply", at.reply, "drive")
    yield ClientEndpoint("POST", "/session/{session}/permissions/{ask}", at.reply, "drive")
    yield ClientEndpoint("POST", "/question/{ask}/reply", at.answer, "drive")
    yield ClientEndpoint("POST", "/question/{ask}/reject", at.reject, "drive")


def _of_streams(at: StreamEndpoints) -> Iterator[ClientEndpoint]:
    yield ClientEndpoint("GET", "/event", at.of_directory, "view")
    yield ClientEndpoint("GET", "/global/event", at.of_all, "view")
    for path, endpoint in (
        ("append-prompt", at.append_prompt),
        ("show-toast", at.show_toast),
        ("select-session", at.select_session),
        ("execute-command", at.execute),
        ("publish", at.publish),
    ):
        yield ClientEndpoint("POST", f"/tui/{path}", endpoint, "drive")
    for path, command in COMMANDS.items():
        yield ClientEndpoint("POST", f"/tui/{path}", at.named(command), "drive")
    yield ClientEndpoint("POST", "/instance/dispose", at.dispose, "drive")


def _of_projects(at: ProjectEndpoints) -> Iterator[ClientEndpoint]:
    for path, endpoint in (
        ("/global/health", at.health),
        ("/config", at.config),
        ("/global/config", at.config),
        ("/config/providers", at.providers),
        ("/provider", at.all_providers),
        ("/provider/auth", constant({})),
        ("/agent", at.agents),
        ("/command", at.commands),
        ("/skill", constant([])),
        ("/path", at.path),
        ("/project", at.projects),
        ("/project/current", at.project),
        ("/project/{project}/directories", at.directories),
        ("/lsp", constant([])),
        ("/mcp", constant({})),
        ("/formatter", constant([])),
        ("/experimental/resource", constant({})),
        ("/experimental/capabilities", constant(CAPABILITIES)),
        ("/experimental/console", constant(CONSOLE)),
        ("/experimental/workspace", constant([])),
        ("/api/health", constant({"healthy": True})),
        ("/experimental/workspace/status", constant([])),
    ):
        yield ClientEndpoint("GET", path, endpoint, "view")
    yield ClientEndpoint("POST", "/log", constant(value=True), "view")


def _of_files(at: FileEndpoints) -> Iterator[ClientEndpoint]:
    for path, endpoint in (
        ("/find", at.matches),
        ("/find/file", at.found),
        ("/find/symbol", constant([])),
        ("/file", at.folder),
        ("/file/content", at.content),
        ("/file/status", at.status),
        ("/vcs/diff", at.changes),
        ("/api/fs/find", at.found_entries),
    ):
        yield ClientEndpoint("GET", path, endpoint, "drive")
    yield ClientEndpoint("GET", "/vcs", at.branch, "view")


def _of_next(at: NextEndpoints) -> Iterator[ClientEndpoint]:
    for path, endpoint in (
        ("location", at.location),
        ("agent", at.agents),
        ("command", at.commands),
        ("model", at.models),
        ("provider", at.providers),
        ("integration", at.nothing()),
        ("reference", at.nothing()),
        ("skill", at.nothing()),
    ):
        yield ClientEndpoint("GET", f"/api/{path}", endpoint, "view")
