"""A person's own shell command: a recorded call without a model or an ask, where rules and protected places hold."""

import httpx2
import pytest
from support.cli_home import calls, settings
from support.served_home import created, local_socket, prompt, result

from bridle.surfaces.server.listen import short_path

RULES = '[permission]\nbash = { "*" = "ask", "touch *" = "deny" }\n'


@pytest.fixture
def asking(served):
    """A home whose rules ask for commands, deny one, and whose sandbox must be there."""
    settings(served.home, RULES)
    served.home.environment["BRIDLE_SANDBOX__MODE"] = "required"
    return served


def ran(client, session, command, **more):
    """Run a command, and return its prompt's result and its call."""
    answer = client.post(f"/bridle/sessions/{session}/shell", json={"command": command, **more})
    assert answer.status_code == 200, answer.text
    found = result(client, session, answer.json()["id"])
    parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
    return found, [part for part in parts if part["kind"] == "call"][-1]


def test_a_command_of_a_person_is_a_recorded_call_without_an_ask_and_the_model_reads_it(asking):
    server = asking.serve()
    with asking.client(server) as client:
        session = created(client)
        found, call = ran(client, session, "echo from the person", id="mine")
        assert (found["reason"], found["tool_calls"], found["tokens"]) == ("answered", 1, 0)
        assert (call["name"], call["state"]["type"]) == ("bash", "done")
        assert call["state"]["output"].strip() == "from the person"
        # The same id again runs nothing.
        again, same = ran(client, session, "echo from the person", id="mine")
        assert (again, same) == (found, call)
        # Another prompt is the model's, and its command is asked for as ever.
        model = asking.home.script(calls(("bash", {"command": "echo x", "description": "Say"})), then="Done.")
        id = prompt(client, session, "Say x", model)
        assert result(client, session, id)["reason"] == "paused"
        # A turn is open: no command.
        busy = client.post(f"/bridle/sessions/{session}/shell", json={"command": "echo late"})
        assert (busy.status_code, "busy" in busy.json()["error"]) == (409, True)
        assert client.post(f"/bridle/sessions/{session}/abort", json={}).status_code == 202


def test_rules_that_deny_and_protected_places_hold_for_a_person_too(asking):
    (asking.project / "AGENTS.md").write_text("the rules\n")
    server = asking.serve()
    with asking.client(server) as client:
        session = created(client)
        _, call = ran(client, session, "touch new")
        assert call["state"]["type"] == "refused"
        assert not (asking.project / "new").exists()
        ran(client, session, "echo other > AGENTS.md; mkdir -p .git; echo evil > .git/config; echo $HOME")
        assert (asking.project / "AGENTS.md").read_text() == "the rules\n"
        assert not (asking.project / ".git" / "config").exists()


def test_without_a_sandbox_only_the_servers_machine_runs_commands(served):
    server = served.serve()
    with served.client(server) as client:
        session = created(client)
        path = f"/bridle/sessions/{session}/shell"
        refused = client.post(path, json={"command": "echo far"})
        assert (refused.status_code, refused.json()["key"]) == (403, "command")
        with (
            short_path(local_socket(server)) as short,
            httpx2.Client(base_url="http://localhost", transport=httpx2.HTTPTransport(uds=short)) as near,
        ):
            _, call = ran(near, session, "echo near")
            assert call["state"]["output"].strip() == "near"
        assert client.post(path, json={"command": ""}).status_code == 400
        assert client.post(f"/session/{session}/shell", json={"command": "echo far"}).status_code == 403


def test_opencodes_clients_run_commands_by_the_same_rules(asking):
    server = asking.serve()
    with asking.client(server) as client:
        session = created(client)
        answer = client.post(f"/session/{session}/shell", json={"command": "echo there", "agent": "build"})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        (part,) = [part for part in found["parts"] if part["type"] == "tool"]
        assert (part["tool"], part["state"]["status"], part["state"]["output"].strip()) == (
            "bash",
            "completed",
            "there",
        )
        (prompted, *_) = client.get(f"/session/{session}/message").json()
        assert (prompted["info"]["role"], prompted["parts"][0]["text"]) == ("user", "!echo there")
        model = asking.home.script(calls(("bash", {"command": "echo x", "description": "Say"})), then="Done.")
        assert result(client, session, prompt(client, session, "Say x", model))["reason"] == "paused"
        busy = client.post(f"/session/{session}/shell", json={"command": "echo late"})
        assert (busy.status_code, busy.json()["_tag"]) == (409, "SessionBusyError")


def test_each_directory_has_its_own_sandbox_and_none_counts_for_another(served):
    """A trusted project may switch its sandbox off, and so may one below another."""
    below = served.project / "below"
    below.mkdir()
    (below / "bridle.toml").write_text('[sandbox]\nmode = "off"\n')
    del served.home.environment["BRIDLE_SANDBOX__MODE"]
    assert served.home.run("trust", str(below)).returncode == 0
    with served.client(served.serve()) as client:
        for directory, status in ((served.project, 200), (below, 403)):
            session = created(client, directory=str(directory))
            path, body = f"/bridle/sessions/{session}/shell", {"command": "echo far"}
            assert (directory, client.post(path, json=body).status_code) == (directory, status)
