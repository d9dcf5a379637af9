"""Who reaches a server, and what they may read there: its address, its socket, its directories, viewers, and keys."""

import errno
import os
import socket
import time

import keyring
import pytest
from support.cli_home import calls, settings
from support.served_home import PATIENCE, created, events, local_socket, prompt, result

from bridle.client.address import is_own
from bridle.client.tokens import ServerTokens
from bridle.model.keys import Keys

BASH = ("bash", {"command": "echo one", "description": "Say"})
KEY = "sk-planted-0123456789abcdef"
NOBODY = 65534


def taken(port):
    """Take a port of this machine, once no other program has it."""
    until = time.monotonic() + PATIENCE
    while True:
        found = socket.socket()
        try:
            found.bind(("127.0.0.1", port))
        except OSError as error:
            found.close()
            assert error.errno == errno.EADDRINUSE and time.monotonic() < until
            time.sleep(0.2)
            continue
        found.listen()
        return found


def test_without_options_the_address_is_port_4096_of_this_machine(served):
    assert "ListenStream=127.0.0.1:4096" in served.home.run("serve", "unit", "--socket").stdout
    with taken(4096):
        done = served.home.run("serve")
    assert (done.returncode, "port 4096 is taken" in done.stderr) == (2, True), done.stderr


def test_the_sandbox_hides_the_local_socket(served):
    settings(served.home, '[permission]\nbash = "allow"\n')
    served.home.environment["BRIDLE_SANDBOX__MODE"] = "required"
    server = served.serve()
    path = local_socket(server)
    assert path.exists()
    with served.client(server) as client:
        session = created(client)
        answer = client.post(f"/bridle/sessions/{session}/shell", json={"command": f"ls -a {path.parent}; echo seen"})
        result(client, session, answer.json()["id"])
        parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
        (output,) = [part["state"]["output"] for part in parts if part["kind"] == "call"]
    assert "seen" in output and path.name not in output


def listening(path, mode):
    found = socket.socket(socket.AF_UNIX)
    found.bind(str(path))
    path.chmod(mode)
    found.listen()
    return found


def test_a_client_uses_only_a_socket_that_is_its_users_own(tmp_path):
    with listening(tmp_path / "own.sock", 0o600):
        assert is_own(tmp_path / "own.sock")
    with listening(tmp_path / "open.sock", 0o666):
        assert not is_own(tmp_path / "open.sock")
    (tmp_path / "link.sock").symlink_to(tmp_path / "own.sock")
    assert not is_own(tmp_path / "link.sock")
    if os.getuid() == 0:
        # Only the administrator can make a socket of another user.
        with listening(tmp_path / "foreign.sock", 0o600):
            os.chown(tmp_path / "foreign.sock", NOBODY, NOBODY)
            assert not is_own(tmp_path / "foreign.sock")


@pytest.fixture
def no_keyring(monkeypatch):
    monkeypatch.setattr(keyring, "get_keyring", lambda: keyring.backends.fail.Keyring())


def test_tokens_are_kept_for_each_origin_by_itself(tmp_path, no_keyring):
    tokens = ServerTokens({"HOME": str(tmp_path)})
    tokens.store("https://one.example", "bridle_one")
    tokens.store("https://one.example:8443", "bridle_other")
    found = [tokens.stored(f"https://one.example{port}") for port in ("", ":8443", ":9")]
    assert found == ["bridle_one", "bridle_other", ""]
    assert tokens.forget("https://one.example") and tokens.stored("https://one.example") == ""


def test_several_directories_are_served_and_the_first_is_the_default(served):
    other, outside = served.folder / "other", served.folder / "outside"
    for each in (other, outside):
        each.mkdir()
    with served.client(served.serve("--dir", str(other), "--dir", str(served.project))) as client:
        assert client.get("/bridle/server").json()["directories"] == [str(other), str(served.project)]
        for given, directory in (({}, other), ({"directory": str(served.project)}, served.project)):
            session = created(client, **given)
            assert client.get(f"/bridle/sessions/{session}").json()["info"]["directory"] == str(directory)
        assert client.get("/path").json()["directory"] == str(other)
        headers = {"x-opencode-directory": str(served.project)}
        assert client.get("/path", headers=headers).json()["directory"] == str(served.project)
        for path in ("/bridle/agents", "/path", "/session"):
            refused = client.get(path, params={"directory": str(outside)})
            assert (refused.status_code, refused.headers["content-type"]) == (403, "application/json")


def test_a_viewer_reads_sessions_diffs_reports_events_and_metrics(shared):
    viewer = shared.new_token("reading", "--view")
    model = shared.home.script(
        calls(("write", {"filePath": "seen.txt", "content": "seen\n"})), "Done.", name="view.json"
    )
    with shared.client(shared.servers[0]) as client:
        session = created(client)
        id = prompt(client, session, "Write", model)
        assert result(client, session, id)["reason"] == "answered"
    with shared.client(shared.servers[0], viewer) as client:
        assert session in client.get("/bridle/sessions").text
        assert client.get(f"/bridle/sessions/{session}").json()["info"]["id"] == session
        assert "+seen" in client.get(f"/bridle/sessions/{session}/diff").json()["diff"]
        assert "<html" in client.get(f"/bridle/sessions/{session}/report").text
        assert "bridle_turns_begun_total" in client.get("/metrics").text
        with events(client, f"/bridle/sessions/{session}/events") as told:
            assert any(data.get("type") == "turn_finish" for _, _, data in told)
        with events(client, "/bridle/events") as told:
            assert session in [row["session"] for row in next(told)[2]["sessions"]]


def test_rows_tell_state_title_cost_and_open_asks(shared):
    model = shared.home.script(calls(BASH), "Done.", name="row.json")
    with shared.client(shared.servers[0]) as client, shared.client(shared.servers[0]) as other:
        with events(other, "/bridle/events") as told:
            assert next(told)[1] == "snapshot"
            session = created(client, title="A row")
            prompt(client, session, "Say", model)
            row = {}
            while not row.get("asks"):
                _, kind, data = next(told)
                row = data if kind == "row" and data["session"] == session else {}
        (ask,) = client.get(f"/bridle/sessions/{session}").json()["asks"]
        assert (row["state"], row["title"], row["cost"], row["asks"][0]["id"]) == ("paused", "A row", 0.0, ask["id"])
        client.post(f"/bridle/sessions/{session}/abort", json={})


def test_behind_a_proxy_the_server_listens_elsewhere_and_wants_its_token_and_name(served):
    server = served.serve("--host", "0.0.0.0", "--behind-proxy", "--allow-host", "bridle.example")
    forwarded = {"Host": "bridle.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    url = f"http://127.0.0.1:{server.port}"
    with served.client(server) as client:
        client.base_url = url
        own = {**forwarded, "Origin": "https://bridle.example"}
        assert client.get("/bridle/sessions", headers=own).status_code == 200
        assert client.get("/bridle/sessions", headers={**own, "Origin": "https://evil.example"}).status_code == 403
        assert client.get("/bridle/sessions", headers={"Host": "evil.example"}).status_code == 403
        assert client.get("/bridle/sessions", headers={**forwarded, "Authorization": ""}).status_code == 401
        code = client.post("/bridle/logins", headers=forwarded).json()["code"]
        page = client.post("/bridle/logins/exchange", json={"code": code}, headers=own)
        assert "Secure" in page.headers["set-cookie"]


def readable(client, session):
    """Yield every path of both APIs that can be read without an end."""
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        if "get" in methods and not path.endswith(("/events", "/record")):
            yield path.replace("{session}", session).replace("{account}", "ann")
    yield from ("/config", "/global/config", "/config/providers", "/provider", "/provider/auth", "/agent", "/session")
    yield from ("/path", "/command", "/mcp", "/project", "/metrics", "/api/provider", "/api/model")


def test_no_answer_of_either_api_contains_a_key(served, no_keyring):
    served.home.environment["OPENAI_API_KEY"] = KEY
    stored = f"{KEY}-stored"
    assert Keys({}, served.folder / ".local" / "share" / "bridle" / "keys.json").store("anthropic", stored) == "file"
    text = '[providers.mine]\nwire = "chat"\nbase_url = "http://localhost:1/v1"\n'
    settings(served.home, f'{text}headers = {{ "x-api-key" = "{KEY}-header" }}\n')
    model = served.home.script("Hi.")
    with served.client(served.serve()) as client:
        session = created(client)
        result(client, session, prompt(client, session, "Go", model))
        asked = list(readable(client, session))
        assert len(asked) > 40
        connected = client.get("/provider").json()["connected"]
        assert {"openai", "anthropic"} <= set(connected), "the keys are known"
        for path in asked:
            answer = client.get(path, params={"days": 1} if path.endswith("/stats") else None)
            assert answer.status_code < 500, (path, answer.text)
            assert KEY not in answer.text, path
    assert KEY not in served.log
