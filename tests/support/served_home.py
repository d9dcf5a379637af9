"""A person who serves their project: real `bridle serve` processes on loopback, and clients that talk HTTP to them."""

import json
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2

from support.cli_home import ForkedHome

PATIENCE = 60


class Server:
    """A running `bridle serve`."""

    def __init__(self, home: ForkedHome, *words: str) -> None:
        self.home = home
        self.process = home.start("serve", "--port", "0", *words, process_group=0)
        self.told: list[str] = []
        self.url = self._until("http").split()[-1]
        self.port = int(self.url.rpartition(":")[2])

    def _until(self, word: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.told.append(line.strip())
            if word in line:
                return line.strip()
        raise AssertionError(self.told)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)

    def stop(self) -> str:
        """Tell it to stop; return what it said."""
        self.process.terminate()
        assert self.process.stderr is not None
        # Not `communicate`: lines that were read ahead would be lost.
        told = self.process.stderr.read()
        assert self.process.wait(PATIENCE) == 0, told
        self.process.communicate()
        return "\n".join([*self.told, told])


class ServedHome:
    """A home with a token, and its servers, which end with the test."""

    def __init__(self, folder: Path) -> None:
        project = folder / "project"
        project.mkdir(parents=True)
        self.home = ForkedHome(folder, project)
        self.folder, self.project = folder, project
        self.servers: list[Server] = []
        self.token = self.new_token("ann")

    def new_token(self, name: str, *words: str) -> str:
        done = self.home.run("serve", "token", "new", name, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def serve(self, *words: str) -> Server:
        server = Server(self.home, *words)
        self.servers.append(server)
        return server

    def client(self, server: Server, token: str | None = None) -> httpx2.Client:
        bearer = {"Authorization": f"Bearer {self.token if token is None else token}"}
        return httpx2.Client(base_url=server.url, headers=bearer, timeout=PATIENCE)

    def end(self) -> None:
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()

    @property
    def log(self) -> str:
        return (self.folder / ".local" / "state" / "bridle" / "server.log").read_text()


def new_home() -> ServedHome:
    """Return a home in a new folder, which lasts as long as the process."""
    return ServedHome(Path(tempfile.mkdtemp(prefix="bridle-served-")))


def prompt(client: httpx2.Client, session: str, text: str, model: str, **more: Any) -> str:
    """Submit a prompt and return its id."""
    body = {"text": text, "options": {"model": model, **more.pop("options", {})}, **more}
    answer = client.post(f"/bridle/sessions/{session}/prompts", json=body)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def result(client: httpx2.Client, session: str, prompt: str) -> dict[str, Any]:
    """Return the result of a prompt."""
    for _ in range(PATIENCE):
        answer = client.get(f"/bridle/sessions/{session}/prompts/{prompt}/result", params={"wait": 1})
        if answer.status_code == 200:
            found: dict[str, Any] = answer.json()
            return found
        assert answer.status_code == 202, answer.text
    raise AssertionError("no result")


def created(client: httpx2.Client, **body: Any) -> str:
    """Create a session and return its id."""
    answer = client.post("/bridle/sessions", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


Told = tuple[int | None, str, dict[str, Any]]
"""An event of a stream: its id, its kind and its data."""


@contextmanager
def events(client: httpx2.Client, path: str, last: int | None = None) -> Iterator[Iterator[Told]]:
    """Follow a stream; `last` is the id of the last event that is known."""
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield _read(answer.iter_lines())


def _read(lines: Iterator[str]) -> Iterator[Told]:
    id: int | None = None
    kind, data = "", ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "id":
            id = int(value)
        elif name == "event":
            kind = value
        elif name == "data":
            data = value
        elif not line and kind:
            yield id, kind, json.loads(data)
            id, kind, data = None, "", ""


def raw(server: Server, *pieces: bytes) -> bytes:
    """Send bytes as they are, and return the whole answer."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        for piece in pieces:
            connection.sendall(piece)
        found = b""
        while received := connection.recv(65_536):
            found += received
        return found


def local_socket(server: Server) -> Path:
    """Return the path of a server's local socket."""
    return server.home.folder / ".local" / "share" / "bridle" / "run" / f"serve-{server.port}.sock"


def over_socket(path: Path) -> subprocess.CompletedProcess[str]:
    """Ask a server through its local socket, by a short path."""
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        short = f"/proc/self/fd/{folder}/{path.name}"
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=short)) as client:
            answer = client.get("http://localhost/bridle/server")
            return subprocess.CompletedProcess((), answer.status_code, answer.text)
    finally:
        os.close(folder)
