"""What attackers try: other pages, other hosts, no or weak tokens, paths outside, and requests that never end."""

import base64
import socket

import httpx2
import pytest
from support.served_home import PATIENCE, created, local_socket, over_socket, raw

from bridle.runtime import Runtime


@pytest.fixture(scope="module")
def viewer(shared):
    return shared.new_token("viewer", "--view")


@pytest.fixture(scope="module")
def elsewhere(shared):
    """A session of another directory in the same journal."""
    folder = shared.folder / "elsewhere"
    folder.mkdir()
    (shared.project / "way_out").symlink_to(folder)
    (shared.project / "below").mkdir()

    async def make():
        async with Runtime.open(folder, environment=shared.home.environment) as runtime:
            return await runtime.create("elsewhere")

    import asyncio

    return asyncio.run(make())


NAMES = [
    ({"Host": "localhost:1"}, 200),
    ({"Host": "sub.localhost"}, 200),
    ({"Host": "[::1]:4096"}, 200),
    ({"Host": "evil.example"}, 403),
    ({"Host": "localhost.evil.example"}, 403),
    ({"Host": "127.0.0.1.evil.example"}, 403),
    ({"Host": "localhost@evil.example"}, 403),
    ({"Host": "evil.example/localhost"}, 403),
    ({"Host": ""}, 403),
    ({"Origin": "OWN"}, 200),
    ({"Origin": "http://localhost:1"}, 403),
    ({"Origin": "https://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": ""}, 403),
]


@pytest.mark.parametrize(("headers", "status"), NAMES, ids=str)
def test_a_request_names_this_server_and_comes_from_no_other_page(shared, headers, status):
    server = shared.servers[0]
    own = server.url
    headers = {name: own if value == "OWN" else value for name, value in headers.items()}
    for path in ("/health", "/bridle/sessions"):
        with shared.client(server) as client:
            answer = client.get(path, headers=headers)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers
    twice = raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert b" 200 " not in twice.splitlines()[0]


def test_only_health_and_the_exchange_are_open(shared):
    server = shared.servers[0]
    paths = [
        "/bridle/sessions",
        "/bridle/events",
        "/openapi.json",
        "/reference",
        "/metrics",
        "/nothing",
        "/t/x/bridle/sessions",
    ]
    with httpx2.Client(base_url=server.url) as client:
        assert client.get("/health").json() == {"status": "ok"}
        assert client.post("/bridle/logins/exchange", json={"code": "guessed"}).status_code == 403
        for path in paths:
            answer = client.get(path)
            assert (path, answer.status_code) == (path, 401)
            assert answer.headers["www-authenticate"].startswith("Bearer")
        for method in ("POST", "DELETE", "OPTIONS"):
            assert client.request(method, "/bridle/sessions").status_code == 401


def secrets(token):
    user = base64.b64encode(f"anyone:{token}".encode()).decode()
    return [
        ({"Authorization": f"Bearer {token}"}, ""),
        ({"Authorization": f"Basic {user}"}, ""),
        ({}, f"?auth_token={user}"),
        ({}, "prefix"),
    ]


def test_a_token_may_be_given_in_four_ways_and_ends_at_once_in_all(shared):
    server, token = shared.servers[0], shared.new_token("brief")
    with httpx2.Client(base_url=server.url) as client:

        def ask(headers, where):
            path = f"/t/{token}/bridle/server" if where == "prefix" else f"/bridle/server{where}"
            return client.get(path, headers=headers).status_code

        assert [ask(*each) for each in secrets(token)] == [200] * 4
        assert [ask(*each) for each in secrets(token[:-1] + "g")[:3]] == [401] * 3
        with client.stream("GET", f"/t/{token}/bridle/events") as followed:
            lines = followed.iter_lines()
            assert next(lines) == ": open"
            assert shared.home.run("serve", "token", "revoke", "brief").returncode == 0
            assert [ask(*each) for each in secrets(token)] == [401] * 4
            # The open stream ends too.
            assert list(lines) is not None
    assert token not in shared.log
    assert shared.token not in shared.log
    assert "/t/" not in shared.log and "auth_token" not in shared.log


def test_a_viewer_changes_nothing(shared, viewer):
    server = shared.servers[0]
    with shared.client(server) as client:
        created(client, id="seen")
        document = client.get("/openapi.json").json()["paths"]
    with shared.client(server, viewer) as client:
        for path, methods in document.items():
            where = path.replace("{session}", "seen").replace("{prompt}", "p").replace("{extension}", "e")
            for method, operation in methods.items():
                if "`drive`" in operation["description"]:
                    answer = client.request(method, where, json={})
                    assert (operation["operationId"], answer.status_code) == (operation["operationId"], 403)
        assert client.get("/bridle/sessions/seen").status_code == 200
        assert client.get("/bridle/server").json()["right"] == "view"
        # A page that a viewer logs in may not do more.
        code = client.post("/bridle/logins", json={}).json()["code"]
        page = client.post("/bridle/logins/exchange", json={"code": code}).json()
        assert page["right"] == "view"


def test_a_page_needs_its_cookie_and_its_header_and_its_link_works_once(shared):
    server = shared.servers[0]
    with shared.client(server) as client:
        code = client.post("/bridle/logins", json={}).json()["code"]
    with httpx2.Client(base_url=server.url) as page:
        answer = page.post("/bridle/logins/exchange", json={"code": code}, headers={"Origin": server.url})
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert page.post("/bridle/logins/exchange", json={"code": code}).status_code == 403
        key = {"X-Bridle-Page": answer.json()["header"]}
        assert page.get("/bridle/sessions").status_code == 401
        assert page.get("/bridle/sessions", headers=key).status_code == 200
        assert page.get("/bridle/sessions", headers={"X-Bridle-Page": "x"}).status_code == 401
        page.cookies.clear()
        assert page.get("/bridle/sessions", headers=key).status_code == 401
        # A code is no token.
        assert page.get("/bridle/sessions", headers={"Authorization": f"Bearer {code}"}).status_code == 401


def test_directories_outside_and_their_sessions_do_not_exist(shared, elsewhere):
    with shared.client(shared.servers[0]) as client:
        for name in ("..", "../elsewhere", "way_out", "below/../../elsewhere", "missing"):
            for path in ("/bridle/agents", "/bridle/sessions", "/bridle/account"):
                answer = client.get(path, params={"directory": str(shared.project / name)})
                assert (name, answer.status_code, answer.json()["key"]) == (name, 403, "directory")
            assert client.post("/bridle/sessions", json={"directory": str(shared.project / name)}).status_code == 403
        assert client.get("/bridle/agents", params={"directory": "below"}).status_code == 403
        below = str(shared.project / "below")
        made = created(client, directory=below)
        assert client.get(f"/bridle/sessions/{made}").json()["info"]["directory"] == below
        for path in ("", "/entries", "/events", "/status", "/diff", "/export", "/report", "/prompts/p/result"):
            assert client.get(f"/bridle/sessions/{elsewhere}{path}").status_code == 404
        for path in ("/prompts", "/abort", "/fork", "/undo", "/resume"):
            body = {"text": "x"} if path == "/prompts" else {}
            assert client.post(f"/bridle/sessions/{elsewhere}{path}", json=body).status_code == 404
        assert client.delete(f"/bridle/sessions/{elsewhere}").status_code == 404
        assert client.post("/bridle/sessions", json={"id": elsewhere}).status_code == 404
        assert elsewhere not in client.get("/bridle/sessions").text


def test_paths_are_not_resolved_against_files(shared):
    token = shared.token.encode()
    for path in (b"/../../etc/passwd", b"/%2e%2e/%2e%2e/etc/passwd", b"//etc/passwd", b"/t/" + token + b"/../health"):
        asked = b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + token
        status, _, rest = raw(shared.servers[0], asked + b"\r\n\r\n").partition(b"\r\n")
        assert b" 404 " in status, (path, status, rest)


def test_bodies_headers_and_waits_are_bounded(shared):
    server, token = shared.servers[0], shared.token.encode()
    start = b"POST /bridle/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + b"\r\n"
    assert b" 413 " in raw(server, start + b"Connection: close\r\nContent-Length: 99999999999\r\n\r\n").splitlines()[0]
    chunk = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(start + b"Transfer-Encoding: chunked\r\n\r\n")
        answer = b""
        try:
            for _ in range(40):
                connection.sendall(chunk)
            answer = connection.recv(65_536)
        except (BrokenPipeError, ConnectionResetError):
            # The server has closed before all was sent.
            pass
        assert b" 413 " in answer or not answer
    long = b"Connection: close\r\nX-Long: " + b"y" * 40_000 + b"\r\n\r\n"
    assert b" 431 " in raw(server, start + long).splitlines()[0]


def test_the_local_socket_is_for_processes_of_this_user_outside_of_calls(shared):
    server = shared.servers[0]
    path = local_socket(server)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert over_socket(path).returncode == 200
    assert shared.home.run("serve", "status").stdout.startswith(server.url)
