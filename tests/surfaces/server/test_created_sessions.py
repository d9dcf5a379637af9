"""A session that was created without a prompt keeps what it was created with when its server is killed."""

from support.cli_home import settings
from support.served_home import created, prompt, result

AGENTS = """
agent = "build"

[agents.reviewer]
description = "Reviews."
prompt = "You are the reviewer."
mode = "primary"

[agents.build]
prompt = "You build."
"""


def start_of(client, session):
    """Return the start of the first turn of a session."""
    parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
    return next(part for part in parts if part["kind"] == "turn_start")


def listed(client):
    return [row["session"] for row in client.get("/bridle/sessions").json()["sessions"]]


def test_a_session_of_the_native_api_outlives_its_server_with_all_it_was_created_with(served):
    settings(served.home, AGENTS)
    model = served.home.script("Reviewed.", then="More.")
    server = served.serve()
    facts = {"title": "Look at it", "agent": "reviewer", "model": model, "denied": ["bash"]}
    with served.client(server) as client:
        session = created(client, id="look", **facts)
        assert listed(client) == []
    server.kill()
    with served.client(served.serve()) as client:
        assert created(client, id="look") == session
        answer = client.post(f"/bridle/sessions/{session}/prompts", json={"text": "Go"})
        assert result(client, session, answer.json()["id"])["text"] == "Reviewed."
        state, start = client.get(f"/bridle/sessions/{session}").json(), start_of(client, session)
        assert (state["info"]["title"], start["agent"], start["model"]) == ("Look at it", "reviewer", model)
        assert "read" in start["tools"] and "bash" not in start["tools"]
        assert listed(client) == [session]


def test_a_session_of_opencodes_api_outlives_its_server_with_all_it_was_created_with(served):
    settings(served.home, AGENTS)
    model = served.home.script("Reviewed.", then="More.")
    server = served.serve()
    provider, _, name = model.partition("/")
    body = {
        "title": "Look at it",
        "agent": "reviewer",
        "model": {"providerID": provider, "id": name},
        "permission": [{"permission": "bash", "pattern": "*", "action": "deny"}],
    }
    with served.client(server) as client:
        made = client.post("/session", json=body).json()
        assert (made["title"], made["agent"], made["model"]["id"]) == ("Look at it", "reviewer", name)
    server.kill()
    with served.client(served.serve()) as client:
        assert client.get("/session").json() == []
        assert client.get(f"/session/{made['id']}").json()["title"] == "Look at it"
        path, parts = f"/session/{made['id']}/message", [{"type": "text", "text": "Go"}]
        reply = client.post(path, json={"parts": parts}).json()
        assert [part["text"] for part in reply["parts"] if part["type"] == "text"] == ["Reviewed."]
        assert (reply["info"]["agent"], reply["info"]["modelID"]) == ("reviewer", name)
        (row,) = client.get("/session").json()
        assert (row["id"], row["title"], row["agent"]) == (made["id"], "Look at it", "reviewer")
        (native,) = listed(client)
        tools = start_of(client, native)["tools"]
        assert "read" in tools and "bash" not in tools
        # The rules hold for every later prompt too, whoever sends it.
        result(client, native, prompt(client, native, "Again", model))
        starts = [part for part in client.get(f"/bridle/sessions/{native}").json()["parts"] if "tools" in part]
        assert len(starts) == 2 and not any("bash" in each["tools"] for each in starts)
