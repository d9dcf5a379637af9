"""Several hundred hostile requests, as data: none passes, no answer tells a secret, and the server goes on serving."""

import asyncio
import base64
import hashlib
import itertools
import os
import re
import resource
import socket
import tomllib

import httpx2
import pytest
from support.cli_home import settings
from support.data import DATA
from support.served_home import PATIENCE, created, new_home, prompt, result

from bridle.runtime import Runtime

TABLE = tomllib.loads((DATA / "server_attacks.toml").read_text())["group"]
FEWEST = 500
CONNECTIONS = int(os.environ.get("CONNECTIONS", "1000"))
"""Half-open connections; the long form has CONNECTIONS=10000."""
LETTERS = re.compile(r"\{(a|open):(\d+)\}")


def encoded(user, token):
    return base64.b64encode(f"{user}:{token}".encode()).decode()


async def make_elsewhere(home, folder):
    """Make a session of a directory that is not served."""
    async with Runtime.open(folder, environment=home.home.environment) as runtime:
        await runtime.create("elsewhere")
        await runtime.rename("elsewhere", "Secret words")


@pytest.fixture(scope="module")
def attacked():
    home = new_home()
    settings(home.home, "[server]\nrequests_per_second = 100000.0\nconnections = 300\n")
    outside = home.folder / "elsewhere"
    outside.mkdir()
    (home.project / "way_out").symlink_to(outside)
    asyncio.run(make_elsewhere(home, outside))
    server = home.serve()
    yield home, server
    home.end()


def page_of(server, token):
    """Log a page in; return its used code, its cookie and its header."""
    with httpx2.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}) as client:
        code = client.post("/bridle/logins", json={}).json()["code"]
    with httpx2.Client(base_url=server.url) as client:
        answer = client.post("/bridle/logins/exchange", json={"code": code})
        (cookie,) = client.cookies.jar
        return code, cookie.value, answer.json()["header"]


def words_for(home, server):
    """Return what the table's placeholders stand for."""
    viewer, revoked = home.new_token("viewer", "--view"), home.new_token("revoked")
    assert home.home.run("serve", "token", "revoke", "revoked").returncode == 0
    used, cookie, header = page_of(server, home.token)
    _, view_cookie, view_header = page_of(server, viewer)
    with home.client(server) as client:
        code = client.post("/bridle/logins", json={}).json()["code"]
    return {
        "token": home.token,
        "TOKEN": home.token.upper(),
        "digest": hashlib.sha256(home.token.encode()).hexdigest(),
        "token64": encoded("any", home.token),
        "swapped64": encoded(home.token, "any"),
        "wrong": "bridle_" + "x" * 43,
        "wrong64": encoded("any", "bridle_" + "x" * 43),
        "revoked": revoked,
        "revoked64": encoded("any", revoked),
        "viewer": viewer,
        "viewer64": encoded("any", viewer),
        "view_page": f"Cookie: bridle-page-{server.port}={view_cookie}\r\nX-Bridle-Page: {view_header}",
        "code": code,
        "used": used,
        "cookie": cookie,
        "header": header,
        "port": str(server.port),
        "project": str(home.project),
        "elsewhere": str(home.folder / "elsewhere"),
    }


def filled(text, words):
    """Return a text of the table as bytes."""
    text = LETTERS.sub(lambda found: ("a" if found[1] == "a" else "[") * int(found[2]), text)
    for name, value in words.items():
        text = text.replace(f"{{{name}}}", value)
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())


def requests_of(group, words):
    """Yield the requests of a group as bytes."""
    yield from (filled(each, words) for each in group.get("raw", ()))
    names = [(host, "") for host in group.get("hosts", ())]
    names += [("localhost:{port}", f"Origin: {origin}") for origin in group.get("origins", ())]
    for asked, given, (host, origin) in itertools.product(
        group.get("requests", ()), group.get("credentials", ()), names or [("localhost:{port}", "")]
    ):
        method, path, *rest = asked.split(" ", 2)
        body = filled(rest[0], words) if rest else b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *filter(None, (origin, given)), "Connection: close", ""]
        yield filled("\r\n".join(lines), words) + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def answer_to(port, request, *, whole):
    """Send a request and no more; return the whole answer. Behind one that is not whole, the sending side is closed."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        try:
            connection.sendall(request)
            if not whole:
                connection.shutdown(socket.SHUT_WR)
            while received := connection.recv(65_536):
                found += received
        except (ConnectionResetError, BrokenPipeError):
            pass
    return found


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def test_no_hostile_request_passes_and_the_server_goes_on(attacked):
    home, server = attacked
    words = words_for(home, server)
    with home.client(server) as client:
        created(client, id="victim")
        before = client.get("/bridle/sessions/victim").json()
    sent, passed = set(), []
    secrets = [words[name].encode() for name in ("token", "viewer", "revoked", "code", "cookie", "header")]
    for group in TABLE:
        for request in requests_of(group, words):
            sent.add(request)
            answer = answer_to(server.port, request, whole="raw" not in group)
            told = [secret for secret in (*secrets, b"Secret words", b"root:x:", b"Traceback") if secret in answer]
            if status_of(answer) not in group["allowed"] or told:
                passed.append((group["title"], request[:200], answer[:300], told))
    assert not passed, "\n".join(map(str, passed))
    assert len(sent) >= FEWEST
    with home.client(server) as client:
        assert client.get("/bridle/sessions/victim").json() == before
        assert client.get("/bridle/sessions/intruder").status_code == 404
        session = created(client)
        assert result(client, session, prompt(client, session, "Hi", home.home.script("Hello.")))["text"] == "Hello."
    log = home.log
    assert "Traceback" not in log
    assert not [secret for secret in secrets if secret.decode() in log]


def test_thousands_of_half_open_connections_keep_no_client_out(attacked):
    home, server = attacked
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, CONNECTIONS + 1_000), hard))
    with home.client(server) as client:
        session = created(client)
        with client.stream("GET", f"/bridle/sessions/{session}/events") as followed:
            lines = followed.iter_lines()
            assert next(lines) == ": open"
            held = []
            starts = (
                b"",
                b"GET / HT",
                b"POST /bridle/logins/exchange HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
            )
            for number in range(CONNECTIONS):
                each = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
                each.sendall(starts[number % len(starts)])
                held.append(each)
            with home.client(server) as other:
                model = home.home.script("Still here.", name="held.json")
                found = result(other, session, prompt(other, session, "Hi", model))
                assert found["text"] == "Still here."
            # The stream that was open before has gone on.
            assert any('"Still here."' in line for line in lines)
            for each in held:
                each.close()
