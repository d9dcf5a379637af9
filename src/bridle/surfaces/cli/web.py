"""`bridle web`: opens the page of a running server, or of one that it starts; prints the link without a browser."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from bridle.errors import ConfigError
from bridle.runtime.project import own_path
from bridle.surfaces.cli.output import say, tell
from bridle.surfaces.cli.project import contains_home, existing, project_here

REDIRECT = "web.html"
"""The file that leads a browser to the page, in Bridle's own folder: programs see the arguments of others."""


def web(
    dir: Annotated[Path | None, typer.Option(help="Directory that the server must offer; by default this one.")] = None,
    port: Annotated[int, typer.Option(help="Port of the server, if several run; or of the one to start.")] = 0,
    link: Annotated[bool, typer.Option("--link", help="Print the link instead of opening a browser.")] = False,
) -> None:
    """Open the page of the running server, or start one. The link logs one browser in, within two minutes.

    Example: bridle web
    """
    # Imported only now: the other commands need no server.
    from bridle.runtime.server_process import socket_folder
    from bridle.surfaces.cli.serve_process import chosen_server, new_login, running_servers, state_of

    if dir is None and contains_home(Path()) and running_servers():
        # None is started for the home, and one that runs is meant.
        path = chosen_server(port)
    else:
        wanted = (existing(dir, "--dir ") if dir is not None else project_here("bridle web --dir .")).resolve()
        path = _running(wanted, port) or _started(wanted, port)
    address = state_of(path).address
    if not address:
        raise ConfigError("this server has no port: start one with `bridle serve --detach`")
    url = urlsplit(address)
    page = f"{url.scheme}://localhost:{url.port}/#code={new_login(path)}"
    if not link and _has_screen():
        file = socket_folder() / REDIRECT
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={page}"><title>Bridle</title>')
        # A browser in the project may be a model's.
        os.environ["PATH"] = own_path(wanted)
        if webbrowser.open(file.as_uri()):
            tell(f"bridle web: opened {address}; without a browser: bridle web --link")
            return
    say(page)
    tell("Open the link within two minutes; it works once. From another machine, first run there:")
    tell(f"  ssh -L {url.port}:localhost:{url.port} {socket.gethostname()}")


def _running(directory: Path, port: int) -> Path | None:
    """Return the local socket of the running server that offers a directory; raises `ConfigError` if several do."""
    from bridle.surfaces.cli.serve_process import running_servers, state_of

    found = [path for path in running_servers() if not port or path.stem == f"serve-{port}"]
    fits = [path for path in found if any(directory.is_relative_to(each) for each in state_of(path).directories)]
    if len(fits) > 1:
        ports = ", ".join(path.stem.removeprefix("serve-") for path in fits)
        raise ConfigError(f"several servers offer {directory}: choose one with --port ({ports})")
    if port and found and not fits:
        raise ConfigError(f"the server on port {port} does not offer {directory}: leave --port out to start another")
    return fits[0] if fits else None


def _started(directory: Path, port: int) -> Path:
    """Start a server in the background, on the usual port or else on a free one, and return its local socket."""
    from bridle.surfaces.cli.serve import PORT

    done = None
    for chosen in (port,) if port else (PORT, 0):
        words = [sys.executable, sys.argv[0], "serve", "--dir", str(directory), "--port", str(chosen), "--detach"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        path = _running(directory, 0)
        if path is not None:
            if done.returncode == 0:
                tell(done.stderr.strip())
            return path
    raise ConfigError(done.stderr.strip() if done is not None else "the server did not start")


def _has_screen() -> bool:
    """Return whether a browser can show a window here."""
    if sys.platform == "darwin":
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and not os.environ.get("SSH_TTY")
