"""Commands do not reach programs outside through sockets that settings or variables name, wherever these lie."""

import shlex
import socket
import sys

import pytest
from support.sheltered import Sheltered

from bridle.config.settings import SandboxSettings

REACH = """
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.settimeout(20)
client.connect(sys.argv[1])
print("connected")
"""


@pytest.mark.parametrize(
    "spelled", ["postgresql:///agents?host={}", "postgresql://%2F{}/agents", "postgresql:///agents"]
)
def test_the_socket_of_the_server_is_closed(place, spelled):
    folder = place / "pg"
    folder.mkdir()
    machine = Sheltered(place)
    (machine.project / "reach.py").write_text(REACH)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / ".s.PGSQL.5432"))
        server.listen()
        reach = f"{shlex.quote(sys.executable)} reach.py ../pg/.s.PGSQL.5432"
        assert machine(reach).text == "connected\n"
        machine.commands.journal = spelled.format(str(folder).lstrip("/") if "%2F" in spelled else folder)
        machine.environment["PGHOST"] = str(folder)
        assert "connected" not in machine(reach).text


AGENTS = {
    "SSH_AUTH_SOCK": "{}",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path={},guid=0123456789abcdef",
    "GPG_AGENT_INFO": "{}:123:1",
    "DOCKER_HOST": "unix://{}",
}


@pytest.mark.parametrize("name", AGENTS)
def test_the_socket_of_an_agent_is_closed_unless_the_person_opens_it(place, name):
    path = place / "agent.sock"
    machine = Sheltered(place)
    machine.environment[name] = AGENTS[name].format(path)
    (machine.project / "reach.py").write_text(REACH)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        reach = f"{shlex.quote(sys.executable)} reach.py ../agent.sock"
        assert "connected" not in machine(reach).text
        machine.commands.settings = SandboxSettings(mode="required", home=[str(path)])
        assert machine(reach).text == "connected\n"
