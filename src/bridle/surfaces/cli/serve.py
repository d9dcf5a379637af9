"""`bridle serve`: serves sessions over HTTP; its subcommands manage tokens, and list and stop running servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bridle.errors import ConfigError
from bridle.surfaces.cli.commands import Format, ListingGroup, finish
from bridle.surfaces.cli.output import say, say_json, tell
from bridle.surfaces.cli.project import existing, project_here

PORT = 4096

serve = typer.Typer(cls=ListingGroup, invoke_without_command=True)
token = typer.Typer(cls=ListingGroup, invoke_without_command=True)
serve.add_typer(token, name="token")


@serve.callback()
def serve_here(
    dir: Annotated[
        list[Path] | None, typer.Option(help="Directory to serve; repeatable. The first is used by default.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 chooses a free one.")] = PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Name under which clients reach this server, besides localhost; repeatable."),
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may use it, such as https://HOST; repeatable.")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain, as PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Private key of the certificate, as PEM.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A reverse proxy on this machine adds TLS.")
    ] = False,
    grace: Annotated[float, typer.Option(min=0, help="Seconds for running work when the server stops.")] = 10.0,
    detach: Annotated[bool, typer.Option("--detach", help="Run in the background.")] = False,
) -> None:
    """Serve sessions over HTTP until SIGTERM or Ctrl-C; open turns continue with the next start.

    Clients on TCP need a token: bridle serve token new laptop

    Example: bridle serve --dir ~/project
    """
    # Imported only now: the other commands need no server.
    from bridle.surfaces.cli.serve_process import ServeOptions, detach_server, serve_until_stopped

    if (tls_cert is None) != (tls_key is None):
        raise ConfigError("--tls-cert and --tls-key belong together: give both")
    options = ServeOptions(
        directories=tuple(existing(each, "--dir ") for each in dir or [project_here("bridle serve --dir .")]),
        host=host,
        port=port,
        hosts=frozenset(each.lower() for each in allow_host or ()),
        origins=frozenset(cors_origin or ()),
        certificate=tls_cert,
        key=tls_key,
        behind_proxy=behind_proxy,
        grace=grace,
    )
    options.check()
    if detach:
        detach_server()
        return
    start_again = asyncio.run(serve_until_stopped(options))
    if start_again is not None:
        start_again()


@token.callback()
def tokens(format: Format = "text") -> None:
    """List the tokens of the servers on this machine.

    Example: bridle serve token
    """
    finish(_list(format))


@token.command("list")
def list_tokens(format: Format = "text") -> None:
    """List the tokens of the servers on this machine.

    Example: bridle serve token list
    """
    finish(_list(format))


@token.command("new")
def new_token(
    name: Annotated[str, typer.Argument(help="Name of the token, for example of the device that gets it.")],
    view: Annotated[bool, typer.Option("--view", help="The token may only read.")] = False,
) -> None:
    """Make a token, and print it once.

    Example: bridle serve token new laptop --view
    """
    finish(_new(name, view=view))


@token.command("revoke")
def revoke_token(name: Annotated[str, typer.Argument(help="Name of the token.")]) -> None:
    """Revoke a token at once, with the pages that it has logged in.

    Example: bridle serve token revoke laptop
    """
    finish(_revoke(name))


async def _list(format: str) -> None:
    from bridle.runtime.server_process import open_logins

    async with open_logins(Path()) as logins:
        found = await logins.tokens()
    if format == "json":
        say_json([{"name": grant.name, "right": grant.right, "created": grant.created} for grant in found])
        return
    for grant in found:
        say(f"{grant.name}  {grant.right}")
    if not found:
        say("no tokens; make one with: bridle serve token new NAME")


async def _new(name: str, *, view: bool) -> None:
    from bridle.runtime.server_process import open_logins

    async with open_logins(Path()) as logins:
        say(await logins.new_token(name, "view" if view else "drive"))
    tell("It is shown only now. Clients send it as: Authorization: Bearer TOKEN")


async def _revoke(name: str) -> None:
    from bridle.runtime.server_process import open_logins

    async with open_logins(Path()) as logins:
        if not await logins.revoke(name):
            raise ConfigError(f"there is no token {name}: list them with `bridle serve token list`")
    say(f"revoked  {name}")


@serve.command("status")
def status(format: Format = "text") -> None:
    """Show the running servers of this user on this machine.

    Example: bridle serve status
    """
    from bridle.surfaces.cli.serve_process import running_servers, state_of

    found = [state_of(path) for path in running_servers()]
    if format == "json":
        say_json(found)
        return
    for state in found:
        driven = f"{state.sessions} driven, {state.followers} followed"
        say(f"{state.address}  process {state.process}  {driven}  {' '.join(state.directories)}")
    if not found:
        say("no server runs")


@serve.command("reload")
def reload(
    port: Annotated[int, typer.Option(help="Port of the server, if several run.")] = 0,
) -> None:
    """Make a server read its settings again; open turns and streams continue.

    Example: bridle serve reload
    """
    from bridle.surfaces.cli.serve_process import chosen_server, reload_server

    say(f"reloads  process {reload_server(chosen_server(port))}")


@serve.command("unit")
def unit(
    dir: Annotated[list[Path] | None, typer.Option(help="Directory to serve; repeatable.")] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port.")] = PORT,
    grace: Annotated[float, typer.Option(min=0, help="Seconds for running work when the server stops.")] = 10.0,
    socket: Annotated[bool, typer.Option("--socket", help="Print the unit of the socket instead.")] = False,
) -> None:
    """Print a unit of systemd that serves these directories.

    Example: bridle serve unit --dir ~/project > ~/.config/systemd/user/bridle.service
    """
    from bridle.surfaces.cli.serve_units import service_unit, socket_unit

    directories = [existing(each, "--dir ") for each in dir or [project_here("bridle serve unit --dir .")]]
    say((socket_unit(port) if socket else service_unit(directories, port, grace)).rstrip())


@serve.command("stop")
def stop(
    port: Annotated[int, typer.Option(help="Port of the server, if several run.")] = 0,
) -> None:
    """Stop a server; its open turns continue with its next start.

    Example: bridle serve stop
    """
    from bridle.surfaces.cli.serve_process import chosen_server, stop_server

    say(f"stopped  process {stop_server(chosen_server(port))}")
