"""The `bridle` command in a process of its own that need not load first: forks of one that has loaded everything."""

import atexit
import contextlib
import functools
import gc
import json
import os
import pkgutil
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path

BRIDLE = Path(sys.executable).parent / "bridle"
AT_THE_START = re.compile("PYTHON.|LANG|LC_")
"""Variables that Python itself reads when it starts: a fork cannot have others than the process it comes from."""
FITS_IN_A_PIPE = 60_000
SECONDS = 60


def run(
    words: Sequence[str | PathLike[str]], folder: Path, environment: Mapping[str, str], given: str
) -> subprocess.CompletedProcess[str]:
    """What became of the command: as `subprocess.run` tells it, and started anew where a fork would differ."""
    spelled = [os.fsdecode(word) for word in words]
    server, began = _server()
    sent = given.encode()
    if _at_the_start(environment) != began or len(sent) > FITS_IN_A_PIPE:
        done = subprocess.run(
            [BRIDLE, *spelled], cwd=folder, env=environment, input=sent, capture_output=True, timeout=SECONDS
        )
        return _told(done.args, done.returncode, done.stdout, done.stderr)
    streams = [os.pipe() for _ in range(3)]
    theirs = (streams[0][0], streams[1][1], streams[2][1])
    os.write(streams[0][1], sent)
    os.close(streams[0][1])
    asked = json.dumps([[str(BRIDLE), *spelled], str(folder), environment]).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(server)
        socket.send_fds(connection, [len(asked).to_bytes(4)], theirs)
        connection.sendall(asked)
        for each in theirs:
            os.close(each)
        out, err, ending = _gathered(streams[1][0], streams[2][0], connection.detach())
    return _told([BRIDLE, *spelled], int(ending.split()[1]), out, err)


def _told(words: Sequence[str | Path], status: int, out: bytes, err: bytes) -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess(words, status, *(text.decode().replace("\r\n", "\n") for text in (out, err)))


def _gathered(*readable: int) -> list[bytes]:
    """Everything that can be read, to the end of each."""
    found = {each: bytearray() for each in readable}
    end = time.monotonic() + SECONDS
    with selectors.DefaultSelector() as waiting:
        for each in readable:
            waiting.register(each, selectors.EVENT_READ)
        try:
            while waiting.get_map():
                ready = waiting.select(max(0.0, end - time.monotonic()))
                if not ready:
                    os.kill(int(found[readable[-1]].split()[0]), signal.SIGKILL)
                    raise subprocess.TimeoutExpired(BRIDLE, SECONDS, *(bytes(found[each]) for each in readable[:2]))
                for key, _ in ready:
                    if read := os.read(key.fd, 65536):
                        found[key.fd] += read
                    else:
                        waiting.unregister(key.fd)
        finally:
            for each in readable:
                os.close(each)
    return [bytes(each) for each in found.values()]


def _at_the_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if AT_THE_START.match(name)}


@functools.cache
def _server() -> tuple[str, dict[str, str]]:
    """Where the process listens that forks, and what it was started with; it ends with this one."""
    folder = tempfile.mkdtemp(prefix="forked-")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    path = f"{folder}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        life, ours = os.pipe()
        words = [sys.executable, __file__, str(listener.fileno()), str(life)]
        # Pipes, since Python looks once at what its streams are, and a fork's are pipes.
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=environment,
            pass_fds=(listener.fileno(), life),
        )
        os.close(life)

    def end() -> None:
        os.close(ours)
        process.communicate()
        Path(path).unlink()
        Path(folder).rmdir()

    atexit.register(end)
    return path, _at_the_start(environment)


def serve(listener: socket.socket, life: int) -> None:
    """Fork for whoever asks, until the other end of `life` is closed; returns in each fork."""
    commands: dict[int, tuple[socket.socket, int]] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(life, selectors.EVENT_READ)
        while True:
            for key, _ in waiting.select():
                if key.fileobj == life:
                    os._exit(0)
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    words, folder, environment, streams = _asked(connection)
                    if (pid := os.fork()) == 0:
                        for each in (listener, connection, *(one for one, _ in commands.values())):
                            each.close()
                        for handle in (life, *commands):
                            os.close(handle)
                        _become(words, folder, environment, streams)
                        return
                    for handle in streams:
                        os.close(handle)
                    connection.sendall(b"%d " % pid)
                    watched = os.pidfd_open(pid)
                    commands[watched] = (connection, pid)
                    waiting.register(watched, selectors.EVENT_READ)
                else:
                    waiting.unregister(key.fd)
                    connection, pid = commands.pop(key.fd)
                    os.close(key.fd)
                    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with connection, contextlib.suppress(OSError):
                        connection.sendall(b"%d" % status)


def _asked(connection: socket.socket) -> tuple[list[str], str, dict[str, str], list[int]]:
    size, streams, _, _ = socket.recv_fds(connection, 4, 3)
    with connection.makefile("rb") as stream:
        return *json.loads(stream.read(int.from_bytes(size))), streams


def _become(words: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]) -> None:
    for each, stream in enumerate(streams):
        os.dup2(stream, each)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.argv[:] = words


if __name__ == "__main__":
    sys.path[0] = str(BRIDLE.parent)
    import bridle
    from bridle.surfaces.cli.main import main

    for module in pkgutil.walk_packages(bridle.__path__, "bridle."):
        if not module.name.startswith(("bridle.surfaces.tui", "bridle.model.bridge")):
            import_module(module.name)
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
    main()
