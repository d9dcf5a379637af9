"""The life of a server: it leaves its turns to its next start, names who has its port, and runs detached."""

import asyncio
import os
import shlex
import socket
import sqlite3
import sys

import httpx2
import pytest
from support.cli_home import BRIDLE, begun, calls
from support.served_home import created, events, local_socket, prompt, result

from bridle.runtime import server_process
from bridle.runtime.server_process import ServerProcess

SLOW = {"text": "slow " * 200, "chunk": 5, "pace": 0.05}


def streaming(client, session):
    """Wait until a reply streams."""
    with events(client, f"/bridle/sessions/{session}/events") as told:
        assert next(kind for _, kind, _ in told if kind == "delta")


def test_a_stopped_server_leaves_its_turns_to_the_next_start_and_lists_those_of_others(served):
    model = served.home.script(SLOW, then=SLOW)
    server = served.serve("--grace", "0")
    with served.client(server) as client:
        session = created(client)
        id = prompt(client, session, "Go", model)
        streaming(client, session)
        # The reader has gone away, and the turn goes on.
        assert client.get(f"/bridle/sessions/{session}/status").json() == {"state": "busy"}
    assert "bridle serve: stopped" in server.stop()
    # A turn of the command line is not ours to continue.
    own = served.home.start("run", "--format", "json", "--model", model, "Other")
    other = begun(own)
    own.kill()
    own.communicate()
    served.home.script("Whole.")
    server = served.serve()
    with served.client(server) as client:
        assert result(client, session, id)["text"] == "Whole."
        finished = [
            part for part in client.get(f"/bridle/sessions/{session}").json()["parts"] if part["kind"] == "halt"
        ]
        assert finished == []
    told = server.stop()
    assert f"continues {session}" in told
    assert f"bridle resume {other}" in told


def test_work_gets_its_grace(served):
    model = served.home.script({"text": "word " * 20, "chunk": 5, "pace": 0.05})
    server = served.serve("--grace", "60")
    with served.client(server) as client:
        session = created(client)
        prompt(client, session, "Go", model)
        streaming(client, session)
    server.stop()
    with served.client(served.serve()) as client:
        parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
        assert [part["text"] for part in parts if part["kind"] == "text"] == ["word " * 20]


def test_only_turns_of_the_last_day_are_continued(served, monkeypatch):
    model = served.home.script({"text": "word " * 900, "chunk": 5, "pace": 0.05})
    server = served.serve()
    with served.client(server) as client:
        session = created(client)
        prompt(client, session, "Go", model)
        streaming(client, session)
    server.kill()

    async def start():
        process = ServerProcess([served.project], environment=served.home.environment)
        found = await process.resume()
        await process.leave(0)
        await process.close()
        return found

    monkeypatch.setattr(server_process, "RESUMED_SECONDS", -1.0)
    assert asyncio.run(start()) == ((), (session,))
    monkeypatch.undo()
    assert asyncio.run(start()) == ((session,), ())


def test_the_owner_of_a_taken_port_is_named(served):
    server = served.serve()
    done = served.home.run("serve", "--port", str(server.port))
    assert (done.returncode, f"Bridle server (process {server.process.pid})" in done.stderr) == (2, True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = served.home.run("serve", "--port", str(taken.getsockname()[1]))
        assert (done.returncode, f"process {os.getpid()} " in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--host", "0.0.0.0"), "--behind-proxy"),
        (("--host", "192.0.2.1"), "--tls-cert"),
        (("--tls-cert", "a.pem"), "--tls-key"),
        (("--cors-origin", "example.org"), "https://HOST"),
        (("--dir", "missing"), "not a directory"),
        (("stop",), "no server runs"),
        (("token", "new", "a b"), "name"),
        (("token", "revoke", "none"), "no token"),
    ],
)
def test_wrong_usage_is_told_with_the_way_out(served, words, told):
    done = served.home.run("serve", *words)
    assert done.returncode == 2
    assert told in done.stderr


def test_a_detached_server_is_found_and_stopped(served):
    done = served.home.started(BRIDLE, "serve", "--port", "0", "--detach")
    assert done.returncode == 0, done.stderr
    url = done.stderr.split()[2].rstrip(",")
    assert served.home.run("serve", "status").stdout.startswith(url)
    assert httpx2.get(f"{url}/health").json() == {"status": "ok"}
    assert done.stderr.endswith("stop it with: bridle serve stop\n")
    port = url.rpartition(":")[2]
    taken = served.home.started(BRIDLE, "serve", "--port", port, "--detach")
    assert taken.returncode == 2
    assert taken.stderr.startswith(f"bridle: the server did not start: port {port} is taken by another Bridle server")
    other = served.home.started(BRIDLE, "serve", "--port", "0", "--detach")
    way = other.stderr.split("stop it with: bridle ")[1].split()
    assert way[:3] == ["serve", "stop", "--port"]
    assert served.home.run(*way).returncode == 0
    stopped = served.home.run("serve", "stop")
    assert (stopped.returncode, stopped.stdout[:7]) == (0, "stopped")
    assert served.home.run("serve", "status").stdout == "no server runs\n"
    assert served.home.run("serve", "token", "list").stdout == "ann  drive\n"


REACH = """
import os, socket, sys
asked = [socket.socket(socket.AF_UNIX) for _ in range(100)]
if len(sys.argv) < 3 or not os.fork():
    for each in asked:
        each.connect(sys.argv[1])
    if len(sys.argv) > 2:
        os._exit(0)
else:
    # The process that connected is gone before the server looks at it.
    os.wait()
for each in asked:
    each.settimeout(20)
    try:
        each.sendall(b"GET /health HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n")
        print("got", each.recv(99))
    except OSError as error:
        print("got", error)
"""


@pytest.mark.parametrize("words", ["", "gone"])
def test_a_command_of_a_call_does_not_reach_the_local_socket(served, words):
    server = served.serve()
    (served.folder / "reach.py").write_text(REACH)
    reach = shlex.join([sys.executable, f"{served.folder}/reach.py", str(local_socket(server))])
    command = f"{reach} {words} 2>&1"
    model = served.home.script(calls(("bash", {"command": command, "description": "Ask"})), then="Done.")
    with served.client(server) as client:
        session = created(client)
        id = prompt(client, session, "Ask", model)
        assert result(client, session, id)["reason"] == "paused"
        (ask,) = client.get(f"/bridle/sessions/{session}").json()["asks"]
        client.post(f"/bridle/sessions/{session}/answers", json={"ask": ask["id"], "choice": "once"})
        assert result(client, session, id)["reason"] == "answered"
        parts = client.get(f"/bridle/sessions/{session}").json()["parts"]
        (output,) = [part["state"]["output"] for part in parts if part["kind"] == "call"]
    assert "200 OK" not in output
    assert output.count("got") == 100, output


def test_a_later_answer_is_told_the_one_that_counts_whoever_gave_it(served):
    asking = [calls(("bash", {"command": f"echo {number}", "description": "Say"})) for number in range(3)]
    model = served.home.script(*asking, then="Done.")
    with served.client(served.serve()) as client:
        session = created(client)
        id = prompt(client, session, "Go", model)
        path, told = f"/bridle/sessions/{session}/answers", []
        for words in ((), ("once",), ("reject", "--feedback", "not this one")):
            assert result(client, session, id)["reason"] == "paused"
            (ask,) = client.get(f"/bridle/sessions/{session}").json()["asks"]
            if words:
                # Another process answers, and the server reads it from the record.
                done = served.home.run("answer", session, ask["id"], *words)
                assert done.returncode in (0, 5), done.stderr
            else:
                assert client.post(path, json={"ask": ask["id"], "choice": "once"}).status_code == 202
            again = client.post(path, json={"ask": ask["id"], "choice": "reject"})
            assert again.status_code == 409
            told.append(again.json()["answer"]["choice"])
        assert told == ["once", "once", "reject"]
        assert client.post(path, json={"ask": "none", "choice": "once"}).json()["answer"] is None


def test_each_of_several_servers_acts_on_sessions_of_its_own_place(served):
    here = served.serve()
    served.home.environment["BRIDLE_WORKERS__PLACE"] = "there"
    mine, served.token = served.token, served.new_token("ann")
    there = served.serve()
    with served.client(here, mine) as near, served.client(there) as far:
        # A token is of one place.
        assert near.get("/bridle/server", headers={"Authorization": f"Bearer {served.token}"}).status_code == 401
        session = created(near)
        assert far.get(f"/bridle/sessions/{session}").status_code == 200
        assert session in far.post("/bridle/sessions/query", json={}).text
        place = near.get(f"/bridle/sessions/{session}").json()["info"]["place"]
        acts = [("POST", path) for path in ("prompts", "abort", "undo", "resume", "shell", "compact")]
        for method, path in [*acts, ("DELETE", "")]:
            body = {"text": "x"} if path == "prompts" else {"command": "ls"} if path == "shell" else {}
            refused = far.request(method, f"/bridle/sessions/{session}/{path}".rstrip("/"), json=body)
            assert (path, refused.status_code, f"machine {place}:" in refused.text) == (path, 409, True)
        assert far.post(f"/session/{session}/prompt_async", json={"parts": []}).status_code == 409
        # Both drive their own, side by side.
        model = served.home.script("Done.")
        other = created(far)
        assert result(far, other, prompt(far, other, "Go", model))["text"] == "Done."
        assert result(near, session, prompt(near, session, "Go", model))["text"] == "Done."


def test_a_damaged_session_is_shown_as_that_and_keeps_no_other_from_being_listed(served):
    model = served.home.script("Done.", then="Done.")
    server = served.serve()
    with served.client(server) as client:
        whole, damaged = created(client), created(client)
        for session in (whole, damaged):
            result(client, session, prompt(client, session, "Go", model))
    server.stop()
    with sqlite3.connect(served.folder / ".local" / "share" / "bridle" / "journal.db") as database:
        # Keys begin with the number of the session: the last one is of the session that was created last.
        database.execute("UPDATE entry SET events = x'00' WHERE key = (SELECT max(key) FROM entry)")
    database.close()
    with served.client(served.serve()) as client:
        rows = {row["session"]: row["state"] for row in client.get("/bridle/sessions").json()["sessions"]}
        assert rows == {whole: "idle", damaged: "damaged"}
        with events(client, "/bridle/events") as told:
            assert {row["session"] for row in next(told)[2]["sessions"]} == {whole, damaged}
        answer = client.get(f"/bridle/sessions/{damaged}")
        assert (answer.status_code, "damaged" in answer.json()["error"]) == (500, True)
