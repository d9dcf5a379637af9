"""A machine of its own for each test."""

import http.server
import socket
import tempfile
import threading
from pathlib import Path

import pytest
from support.hosts import Stable
from support.protected_machine import git
from support.sheltered import Sheltered


@pytest.fixture
def place():
    """A folder that the sandbox's own /tmp does not hide."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def shut_in(place):
    return Sheltered(place)


@pytest.fixture
def machine(shut_in):
    """One with a file under git."""
    (shut_in.project / "a.txt").write_text("hi\n")
    git(shut_in.project, "add", ".")
    git(shut_in.project, "commit", "-qm", "x")
    return shut_in


@pytest.fixture
def port(monkeypatch):
    """A server on loopback; every name leads there, as if the world were that small."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stable)
    server.daemon_threads = True
    # A short poll interval, since `shutdown` waits for it.
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    port = server.server_address[1]
    real = socket.getaddrinfo

    def found(host, *more, **named):
        return real("127.0.0.1" if str(host).endswith(".example.com") else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    for name in ("https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield port
    server.shutdown()
    server.server_close()
