"""A server under systemd: its units are valid, it takes a passed socket, and its commands keep their sandbox."""

import os
import signal
import socket
import subprocess
import time

import httpx2
import pytest
from support.cli_home import BRIDLE, calls, settings
from support.served_home import PATIENCE, created, events, local_socket, prompt, result

WITHOUT_SANDBOX = ("RestrictNamespaces=", "PrivateUsers=", "SystemCallFilter=", "ProtectKernel", "ProtectProc=")


@pytest.fixture
def manager(tmp_path):
    """A socket that hears what a process tells its service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(str(tmp_path / "manager"))
        heard.settimeout(PATIENCE)
        yield heard


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def test_the_units_are_valid_for_any_folder_and_leave_commands_their_sandbox(served, tmp_path):
    odd = served.folder / 'a "b" %n $HOME \\x'
    odd.mkdir()
    for name, words in (("service", ("--dir", str(odd), "--port", "4100")), ("socket", ("--socket", "--port", "4100"))):
        done = served.home.run("serve", "unit", *words)
        assert (done.returncode, done.stderr) == (0, "")
        (tmp_path / f"bridle.{name}").write_text(done.stdout)
    service = (tmp_path / "bridle.service").read_text()
    given = [line for line in service.splitlines() if not line.startswith("#")]
    assert not [line for line in given if line.startswith(WITHOUT_SANDBOX)]
    assert "ListenStream=127.0.0.1:4100" in (tmp_path / "bridle.socket").read_text()
    units = [str(tmp_path / f"bridle.{name}") for name in ("service", "socket")]
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *units],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    assert '\\"b\\" %%n $$HOME \\\\x"' in service


def test_a_passed_socket_starts_the_server_whose_commands_run_in_the_sandbox(served, manager):
    port = free_port()
    # As the unit has it: no new privileges, and a sandbox without which nothing runs.
    words = ["setpriv", "--no-new-privs", "systemd-socket-activate", "-l", f"127.0.0.1:{port}"]
    environment = served.home.environment | {"BRIDLE_SANDBOX__MODE": "required"}
    words += ["-E", f"NOTIFY_SOCKET={manager.getsockname()}", *(f"-E{name}" for name in environment)]
    process = subprocess.Popen([*words, BRIDLE, "serve"], cwd=served.project, env=environment, stderr=subprocess.PIPE)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            while True:
                try:
                    assert client.get("/health").status_code == 200
                    break
                except httpx2.ConnectError:
                    time.sleep(0.01)
            assert manager.recv(100) == b"READY=1"
            client.headers["Authorization"] = f"Bearer {served.token}"
            command = "echo manager=$NOTIFY_SOCKET fds=$LISTEN_FDS"
            model = served.home.script(calls(("bash", {"command": command, "description": "Look"})), then="Seen.")
            session = created(client)
            found = result(client, session, prompt(client, session, "Look", model))
            assert found["text"] == "Seen.", (found, client.get(f"/bridle/sessions/{session}").json()["asks"])
            parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
            (output,) = [part["state"]["output"] for part in parts if part["kind"] == "call"]
        # Without a sandbox it would have been asked for.
        assert output.strip() == "manager= fds="
    finally:
        process.terminate()
    assert b"stopped" in process.communicate(timeout=PATIENCE)[1]
    assert manager.recv(100) == b"STOPPING=1"


def test_a_socket_that_other_machines_reach_needs_tls(served):
    with socket.socket() as bound:
        bound.bind(("0.0.0.0", 0))
        bound.listen()
        words = f'exec 3<&{bound.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "{BRIDLE}" serve'
        done = subprocess.run(
            ["bash", "-c", words],
            cwd=served.project,
            env=served.home.environment,
            pass_fds=[bound.fileno()],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
    assert (done.returncode, "--behind-proxy" in done.stderr) == (2, True)


def test_a_reload_reads_the_settings_again_and_loses_no_turn_stream_or_connection(served, manager):
    served.home.environment["NOTIFY_SOCKET"] = manager.getsockname()
    server = served.serve("--grace", "0")
    assert manager.recv(100) == b"READY=1"
    slow = {"text": "slow " * 400, "chunk": 5, "pace": 0.05}
    with served.client(server) as client:
        session = created(client)
        id = prompt(client, session, "Go", served.home.script(slow, then=slow))
        with events(client, f"/bridle/sessions/{session}/events") as told:
            assert next(kind for _, kind, _ in told if kind == "delta")
        agents = {each["name"] for each in client.get("/bridle/agents").json()["agents"]}
        # Settings that cannot be read change nothing.
        settings(served.home, "nonsense")
        refused = served.home.run("serve", "reload")
        assert (refused.returncode, "config.toml" in refused.stderr) == (2, True), refused.stderr
        os.kill(server.process.pid, signal.SIGUSR1)
        assert "cannot be read" in server._until("as before")
        settings(served.home, '[agents.writer]\nprompt = "Write."\n')
        served.home.script("Whole.")
        assert served.home.run("serve", "reload").returncode == 0
    assert manager.recv(100) == b"RELOADING=1"
    # Commands of this machine find it all the time, also before the new start is ready.
    for _ in range(5):
        status = served.home.run("serve", "status")
        assert status.stdout.startswith(server.url), status.stderr
    # The kernel keeps the connection until the new start takes it.
    with served.client(server) as client:
        found = {each["name"] for each in client.get("/bridle/agents").json()["agents"]}
        assert found - agents == {"writer"}
        assert result(client, session, id)["text"] == "Whole."
    assert manager.recv(100) == b"READY=1"
    assert "stopped" in server.stop()
    assert not local_socket(server).exists()
