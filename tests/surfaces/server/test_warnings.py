"""A missing sandbox and an untrusted project: every client is told, whichever API it uses."""

import json
import shutil

import pytest
from support.page_reader import Reader, opened_browser

MISSING = "commands run without a sandbox, so each one needs your permission: bubblewrap is not installed"


@pytest.fixture
def unprotected(served):
    """A home without bubblewrap, whose project wants a right that it does not get."""
    programs = served.folder / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git"))
    served.home.environment |= {"BRIDLE_SANDBOX__MODE": "auto", "PATH": str(programs)}
    (served.project / "bridle.toml").write_text('[permission]\nbash = "allow"\n')
    return served


def toast_of(client, model):
    """Send a prompt as OpenCode's terminal application does, and return the first message for a person."""
    with client.stream("GET", "/global/event") as answer:
        events = (json.loads(line.removeprefix("data: ")) for line in answer.iter_lines() if line)
        assert next(events)["payload"]["type"] == "server.connected"
        session = client.post("/session", json={}).json()["id"]
        body = {"parts": [{"type": "text", "text": "Hello"}], "model": {"providerID": "bridle", "modelID": model}}
        assert client.post(f"/session/{session}/prompt_async", json=body).status_code == 204
        for event in events:
            if event["payload"]["type"] == "tui.toast.show":
                return event["payload"]["properties"]["message"]
            if event["payload"]["type"] == "session.idle":
                return ""
    return ""


def test_each_client_is_told_of_a_missing_sandbox_and_of_what_is_ignored_without_trust(unprotected):
    server, model = unprotected.serve(), unprotected.home.script("Hi.")
    with unprotected.client(server) as client:
        assert MISSING in client.get("/bridle/server").json()["sandbox"]
        told = toast_of(client, model)
        assert (MISSING in told, "On the server's machine: bridle trust" in told) == (True, True), told
    run = unprotected.home.run("run", "--attach", server.url, "--model", model, "Hello")
    assert (run.returncode, MISSING in run.stderr, "bridle trust" in run.stderr) == (0, True, True), run.stderr
    with opened_browser() as browser:
        reader = Reader(browser, server).log_in(unprotected)
        reader.sees(MISSING)
        reader.open("#/permissions")
        reader.sees("bridle trust")
    assert MISSING in server.stop()
