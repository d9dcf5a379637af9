"""`bridle mcp`: list, add, approve, authorize and debug MCP servers, and print their prompts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bridle.core.limits import counted
from bridle.errors import ConfigError
from bridle.runtime import Runtime, without_runtime
from bridle.runtime.inside_call import refuse_inside_call
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import Command, Dir, Trusted, Work, Yes, finish, signed
from bridle.surfaces.cli.output import confirmed, say, tell_notices

mcp = typer.Typer(no_args_is_help=True)
FOR_PEOPLE = ("add", "approve", "auth")
"""Subcommands that grant something: refused inside a tool call of a session."""
Name = Annotated[str, typer.Argument(help="The server's name.", autocompletion=completion.servers)]


def with_servers(work: Work) -> Command:
    """Make a command of a coroutine whose first parameter is the project's MCP servers; add --dir and --trust.

    Raises `ConfigError` if its parameter `name` names no server.
    """

    async def opened(dir: Path, trust: bool, given: dict[str, Any]) -> int | None:
        runtime = Runtime.open(dir, trusted=trust, in_memory=True)
        tell_notices(runtime.new_notices())
        async with runtime:
            if runtime.servers is None:
                say("no servers are configured; `bridle mcp add --help` shows how to add one")
                return 0
            known = runtime.servers.links
            if given.get("name", "") not in ("", *known):
                raise ConfigError(f"there is no server {given['name']!r} (known: {', '.join(known) or 'none'})")
            return await work(runtime.servers, **given)

    def command(dir: Dir = Path(), trust: Trusted = False, **given: Any) -> None:
        finish(opened(dir, trust, given))

    return signed(command, work)


@mcp.callback()
def group(context: typer.Context) -> None:
    """Manage MCP servers (Model Context Protocol)."""
    if context.invoked_subcommand in FOR_PEOPLE:
        refuse_inside_call(f"`bridle mcp {context.invoked_subcommand}`")


@mcp.command("list")
@with_servers
async def listed(servers: Any) -> int:
    """Connect to all servers, and list them with the number of their tools.

    Example: bridle mcp list
    """
    found = await servers.look()
    for seen in found:
        tools = counted(len(seen.tools), "tool") if not seen.problem else f"✗ {seen.problem}"
        changes = f", {counted(len(seen.changes), 'change')} to approve: bridle mcp approve {seen.name}"
        say(f"{seen.name}  {seen.where}\n    {tools}{changes if seen.changes else ''}")
    return 1 if any(seen.problem for seen in found) else 0


@mcp.command("add")
def add(
    name: Annotated[str, typer.Argument(help="The server's name; its tools are called NAME_TOOL.")],
    where: Annotated[list[str], typer.Argument(help="A URL, or a command with its arguments (after --).")],
    env: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the command; {env:X} is substituted.")] = None,
    header: Annotated[list[str] | None, typer.Option(help="NAME=VALUE for the URL; {env:X} is substituted.")] = None,
    network: Annotated[bool, typer.Option("--network", help="Give the command network access.")] = False,
) -> None:
    """Add a server to your own configuration.

    Examples: bridle mcp add docs https://example.com/mcp --header "Authorization=Bearer {env:DOCS_TOKEN}"

    bridle mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
    """
    remote = len(where) == 1 and where[0].lower().startswith(("http://", "https://"))
    if remote and (env or network):
        raise ConfigError("--env and --network are for a command, not for a URL")
    if not remote and header:
        raise ConfigError("--header is for a URL, not for a command")
    fields: dict[str, Any] = {"url": where[0]} if remote else {"command": where, "network": network}
    fields |= {"headers": _pairs(header)} if remote else {"environment": _pairs(env)}
    say(f"added to {without_runtime.add_mcp_server(name, fields)}; test it with `bridle mcp debug {name}`")


@mcp.command("approve")
@with_servers
async def approve(servers: Any, name: Name, yes: Yes = False) -> int:
    """Show the changes in a server's tools since you last approved them, and approve them.

    Example: bridle mcp approve docs
    """
    (seen,) = await servers.look(name)
    if seen.problem:
        say(f"✗ {seen.problem}")
        return 1
    if not seen.changes:
        say("there are no changes to approve")
        return 0
    for line in servers.links[name].pin.told():
        say(line)
    if not yes and not (sys.stdin.isatty() and confirmed("Approve these changes?")):
        say("nothing was approved" + ("" if sys.stdin.isatty() else " (--yes approves without a question)"))
        return 1
    servers.accept(name)
    say("approved, from the next turn on")
    return 0


@mcp.command("auth")
@with_servers
async def auth(
    servers: Any,
    name: Name,
    logout: Annotated[bool, typer.Option("--logout", help="Delete the stored login.")] = False,
) -> int:
    """Log in to a server in the browser.

    Example: bridle mcp auth docs
    """
    link = servers.links[name]
    if logout:
        say("logged out" if link.log_out() else "there was no stored login")
        return 0
    problem = await servers.log_in(name, lambda address: say(f"Open this address in a browser:\n{address}"))
    say(f"✗ {problem}" if problem else f"{name} answers: {counted(len(link.pin.now.tools), 'tool')}")
    return 1 if problem else 0


@mcp.command("debug")
@with_servers
async def debug(servers: Any, name: Name) -> int:
    """Connect to one server, and show everything about it.

    Example: bridle mcp debug docs
    """
    (seen,) = await servers.look(name, closely=True)
    lines = [f"where: {seen.where}", f"protocol: {seen.protocol or 'none'}"]
    lines += [f"problem: {seen.problem}"] if seen.problem else []
    for title in ("tools", "changes", "resources", "prompts"):
        lines += [f"{title}: {', '.join(getattr(seen, title)) or 'none'}"]
    lines += ["error output:", seen.complaints.strip()] if seen.complaints.strip() else []
    say("\n".join(lines))
    return 1 if seen.problem else 0


@mcp.command("prompt")
@with_servers
async def prompt(
    servers: Any,
    name: Name,
    which: Annotated[str, typer.Argument(help="The prompt's name.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="NAME=VALUE for each of its arguments.")] = None,
) -> None:
    """Print a prompt of a server, for `bridle run`.

    Example: bridle mcp prompt docs review file=main.py | bridle run
    """
    say(await servers.prompt(name, which, _pairs(arguments)))


def _pairs(given: list[str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(f"{text!r} must be NAME=VALUE")
        found[key] = value
    return found
