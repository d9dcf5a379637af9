"""Commands do not reach the server of a journal on PostgreSQL through its socket, wherever that lies."""

import socket
import sys

import pytest
from support.sheltered import Sheltered

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
        reach = f"{sys.executable} reach.py ../pg/.s.PGSQL.5432"
        assert machine(reach).text == "connected\n"
        machine.commands.journal = spelled.format(str(folder).lstrip("/") if "%2F" in spelled else folder)
        machine.environment["PGHOST"] = str(folder)
        assert "connected" not in machine(reach).text
