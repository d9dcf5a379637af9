"""Servers over HTTP, each in a process of its own."""

import socket
import subprocess
import sys
import time
from contextlib import contextmanager


@contextmanager
def listening(script, *words):
    """The address of a script that serves at the port it is given last, once somebody answers there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, script, *words, str(port)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()
