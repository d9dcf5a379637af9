"""`bridle mcp`: list, add, approve, authorize and debug MCP servers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bridle.errors import ConfigError
from bridle.runtime import Runtime, add_mcp_server
from bridle.runtime.inside_call import refuse_inside_call
from bridle.surfaces.cli.output import confirmed, say, tell_notices

mcp = typer.Typer(help="Servers of tools (Model Context Protocol).", no_args_is_help=True)
Dir = Annotated[Path, typer.Option(help="The project.")]
Trusted = Annotated[bool, typer.Option("--trust", help="Trust this project's files for this run.")]
Name = Annotated[str, typer.Argument(help="The server.")]


def _with_servers(directory: Path, trusted: bool, work: Callable[[Any], Awaitable[int | None]]) -> None:
    """Open the project's MCP servers, run `work` with them, and close them."""

    async def run() -> int:
        runtime = Runtime.open(directory, trusted=trusted, in_memory=True)
        tell_notices(runtime.notices)
        async with runtime:
            if runtime.servers is None:
                say("no servers are configured (`bridle mcp add --help` says how)")
                return 0
            return await work(runtime.servers) or 0

    status = asyncio.run(run())
    if status:
        raise typer.Exit(status)


def _link(servers: Any, name: str) -> Any:
    if name not in servers.links:
        raise ConfigError(f"there is no server {name!r} (known: {', '.join(servers.links) or 'none'})")
    return servers.links[name]


@mcp.command("list")
def listed(dir: Dir = Path(), trust: Trusted = False) -> None:
    """Connect to all servers and say what each of them offers.

    Example: bridle mcp list
    """

    async def work(servers: Any) -> int:
        found = await servers.look()
        for seen in found:
            counted = f"{len(seen.tools)} tools" if not seen.problem else f"✗ {seen.problem}"
            waits = f", {len(seen.changes)} changes wait: bridle mcp approve {seen.name}" if seen.changes else ""
            say(f"{seen.name}  {seen.where}\n    {counted}{waits}")
        return 1 if any(seen.problem for seen in found) else 0

    _with_servers(dir, trust, work)


@mcp.command("add")
def add(
    name: Annotated[str, typer.Argument(help="How its tools are called: NAME_TOOL.")],
    where: Annotated[list[str], typer.Argument(help="An address, or a command with its words (after --).")],
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the command; {env:X} is filled in.")] = None,
    header: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the address; {env:X} is filled in.")] = None,
    network: Annotated[bool, typer.Option("--network", help="Give the command the network.")] = False,
) -> None:
    """Add a server to your own configuration.

    Examples: bridle mcp add docs https://example.com/mcp --header "Authorization=Bearer {env:DOCS_TOKEN}"
    bridle mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
    """
    refuse_inside_call("`bridle mcp add`")
    remote = len(where) == 1 and where[0].lower().startswith(("http://", "https://"))
    if remote and (env or network):
        raise ConfigError("--env and --network are for a command, not for an address")
    if not remote and header:
        raise ConfigError("--header is for an address, not for a command")
    fields: dict[str, Any] = {"url": where[0]} if remote else {"command": where, "network": network}
    fields |= {"headers": _pairs(header)} if remote else {"environment": _pairs(env)}
    say(f"added to {add_mcp_server(name, fields)}; `bridle mcp debug {name}` tries it")


@mcp.command("approve")
def approve(
    name: Name,
    dir: Dir = Path(),
    trust: Trusted = False,
    yes: Annotated[bool, typer.Option("--yes", help="Without a question.")] = False,
) -> None:
    """Look at what a server offers now, where it is not what you accepted, and accept it.

    Example: bridle mcp approve docs
    """
    refuse_inside_call("`bridle mcp approve`")

    async def work(servers: Any) -> int:
        link = _link(servers, name)
        seen = (await servers.look(name))[0]
        if seen.problem:
            say(f"✗ {seen.problem}")
            return 1
        if not seen.changes:
            say("it offers what you have accepted")
            return 0
        for line in link.pin.told():
            say(line)
        if not yes and not (sys.stdin.isatty() and confirmed("Accept this?")):
            say("nothing was accepted" + ("" if sys.stdin.isatty() else " (--yes does so without a question)"))
            return 1
        servers.accept(name)
        say("accepted: it counts from the next turn on")
        return 0

    _with_servers(dir, trust, work)


@mcp.command("auth")
def auth(
    name: Name,
    dir: Dir = Path(),
    trust: Trusted = False,
    logout: Annotated[bool, typer.Option("--logout", help="Forget what was stored.")] = False,
) -> None:
    """Log in to a server in the browser.

    Example: bridle mcp auth docs
    """
    refuse_inside_call("`bridle mcp auth`")

    def show(address: str) -> None:
        say(f"Open this address in a browser:\n{address}")

    async def work(servers: Any) -> int:
        link = _link(servers, name)
        if logout:
            say("logged out" if link.log_out() else "nobody was logged in")
            return 0
        problem = await servers.log_in(name, show)
        say(f"✗ {problem}" if problem else f"{name} answers: {len(link.pin.now.tools)} tools")
        return 1 if problem else 0

    _with_servers(dir, trust, work)


@mcp.command("debug")
def debug(name: Name, dir: Dir = Path(), trust: Trusted = False) -> None:
    """Connect to one server and say everything about it.

    Example: bridle mcp debug docs
    """

    async def work(servers: Any) -> int:
        _link(servers, name)
        seen = (await servers.look(name, closely=True))[0]
        lines = [f"where: {seen.where}", f"protocol: {seen.protocol or 'none'}"]
        lines += [f"problem: {seen.problem}"] if seen.problem else []
        for title in ("tools", "changes", "resources", "prompts"):
            lines += [f"{title}: {', '.join(getattr(seen, title)) or 'none'}"]
        lines += ["it has complained:", seen.complaints.strip()] if seen.complaints.strip() else []
        say("\n".join(lines))
        return 1 if seen.problem else 0

    _with_servers(dir, trust, work)


@mcp.command("prompt")
def prompt(
    name: Name,
    which: Annotated[str, typer.Argument(help="The prompt.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="NAME=VALUE for each of its arguments.")] = None,
    dir: Dir = Path(),
    trust: Trusted = False,
) -> None:
    """Print a prompt of a server, for `bridle run`.

    Example: bridle mcp prompt docs review file=main.py | bridle run
    """

    async def work(servers: Any) -> None:
        _link(servers, name)
        say(await servers.prompt(name, which, _pairs(arguments)))

    _with_servers(dir, trust, work)


def _pairs(given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{text!r} must be NAME=VALUE")
        found[key] = value
    return found
