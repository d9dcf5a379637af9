"""Commands with `--attach` print and exit as they do without, for sessions of a server."""

import json
import os
import re
import shlex
import sys
from pathlib import Path

import pytest
from support.cli_home import calls
from support.served_home import local_socket

BASH = ("bash", {"command": "echo one > made.txt", "description": "Write"})
NUMBERS = re.compile(r"ses_\w+|\d+\.\d+ s|\"(seconds|elapsed|next)\":[\d.]+|\d{4}-\d\d-\d\d \d\d:\d\d")


@pytest.fixture(params=["", "token"], ids=["by socket", "by token"])
def attach(request, shared):
    """The options for the server: on this machine no token is needed, and one that is given counts."""
    if not request.param:
        return ("--attach", shared.servers[0].url)
    file = shared.folder / "token"
    file.write_text(shared.token)
    file.chmod(0o600)
    return ("--attach", shared.servers[0].url, "--token-file", str(file))


@pytest.fixture
def by_socket(shared):
    return ("--attach", shared.servers[0].url)


def same(done):
    """What a command did, without ids and times, and without what is only shown live."""
    recorded = "".join(line for line in done.stdout.splitlines(keepends=True) if '"state":"pending"' not in line)
    return done.returncode, NUMBERS.sub("…", recorded), NUMBERS.sub("…", done.stderr)


def session_in(done):
    return re.search(r"ses_\w+", done.stdout + done.stderr)[0]


def both(shared, attach, *words):
    """Run a command in this home and on the server, and return what it did there."""
    here, there = shared.home.run(*words), shared.home.run(*words, *attach)
    assert same(there) == same(here)
    return here, there


def test_a_run_is_the_same_here_and_there(shared, attach):
    read = calls(("read", {"filePath": "none.md"}), ("bash", {"command": "echo x > y", "description": "Write"}))
    model = shared.home.script(read, "Done.", name="same.json")
    for more in (("--format", "json"), ()):
        _, there = both(shared, attach, "run", "--model", model, *more, "Hi!")
        assert there.returncode == 4, "the call was denied, since no person could be asked"
    both(shared, attach, "run", "--model", model, "--steps", "1", "--on-ask", "pause", "--format", "json", "Go")
    for wrong in (("--model", "nobody/nothing"), ("--agent", "nobody"), ("--session", "ses_no"), ("--steps", "-1")):
        _, there = both(shared, attach, "run", *wrong, "Hi!")
        assert there.returncode == 2
    lines = [json.loads(line) for line in there.stdout.splitlines()]
    assert lines == []


def test_an_ask_is_shown_answered_and_aborted_there(shared, by_socket):
    attach = by_socket
    # The second of two commands in one project would find the file as it is.
    (shared.project / "made.txt").write_text("one\n")
    model = shared.home.script(calls(BASH), "Done.", name="ask.json")
    here, there = both(shared, attach, "run", "--model", model, "--on-ask", "pause", "Write it")
    assert there.returncode == 5
    mine, theirs = session_in(here), session_in(there)
    shown = shared.home.run("show", theirs, *attach)
    assert same(shown) == same(shared.home.run("show", mine))
    ask = re.search(r"\[(\S+)\]\n", shown.stdout.replace(" [asking]", ""))[1]
    unknown = [shared.home.run("answer", id, "none", "once", *more) for id, more in ((mine, ()), (theirs, attach))]
    assert same(unknown[0]) == same(unknown[1]) and unknown[1].returncode == 2
    answered = [
        shared.home.run("answer", id, ask, "once", "--format", "json", *more)
        for id, more in ((mine, ()), (theirs, attach))
    ]
    assert same(answered[1]) == same(answered[0])
    assert answered[1].returncode == 0, answered[1].stderr
    nothing = [shared.home.run("resume", id, *more) for id, more in ((mine, ()), (theirs, attach))]
    assert same(nothing[1]) == same(nothing[0]) and nothing[1].returncode == 2
    model = shared.home.script(calls(BASH), name="open.json")
    here, there = both(shared, attach, "run", "--model", model, "--on-ask", "pause", "Write it")
    aborted = [
        shared.home.run("abort", id, *more) for id, more in ((session_in(here), ()), (session_in(there), attach))
    ]
    assert same(aborted[1]) == same(aborted[0]) and "is aborted" in aborted[1].stdout


def test_sessions_are_listed_and_changed_there(shared, by_socket):
    attach = by_socket
    model = shared.home.script("Hello.", name="list.json")
    session = session_in(shared.home.run("run", "--model", model, *attach, "A first prompt"))
    assert shared.home.run("sessions", "rename", session, "A greeting", *attach).returncode == 0
    assert shared.home.run("sessions", "pin", session, *attach).returncode == 0
    listed = both(shared, attach, "sessions", "--search", "greeting")[1].stdout
    assert "* A greeting" in listed and session in listed
    continued = shared.home.run("run", "--continue", "--model", model, *attach, "Again")
    assert session_in(continued) == session, continued.stderr
    forked = shared.home.run("run", "--session", session, "--fork", "--model", model, *attach, "Aside")
    assert session_in(forked) != session
    both(shared, attach, "sessions", "delete", "--yes", "ses_no")
    gone = shared.home.run("sessions", "delete", "--yes", session, session_in(forked), *attach)
    assert gone.stdout.count("deleted: ") == 2


def test_rights_that_a_server_does_not_give_are_refused_in_one_sentence(shared):
    url = shared.servers[0].url
    view = shared.new_token("reader", "--view")

    def refused(status, words, *given, **environment):
        done = shared.home.run(*given, **environment)
        assert (done.returncode, done.stdout) == (status, "")
        assert words in done.stderr and done.stderr.count("\n") == 1, done.stderr

    refused(2, "clients cannot allow everything", "run", "--attach", url, "--on-ask", "allow", "x")
    refused(2, "run `bridle trust` on the server's machine", "run", "--attach", url, "--trust", "x")
    refused(2, "clients can only switch tools off", "run", "--attach", url, "--tool", "bash=on", "x")
    refused(2, "--token-file has no effect without --attach", "run", "--token-file", "x", "x")
    refused(2, "a valid token is needed", "show", "s", "--attach", url, BRIDLE_TOKEN="wrong")
    refused(1, "may only view", "run", "--attach", url, "x", BRIDLE_TOKEN=view)
    refused(1, "is `bridle serve` running there", "sessions", "--attach", "http://localhost:1", BRIDLE_TOKEN="x")
    refused(2, "there is no token for https://example.org", "sessions", "--attach", "https://example.org")
    refused(2, "no server of yours runs at http://localhost:1", "sessions", "--attach", "http://localhost:1")
    refused(2, "in the clear", "sessions", "--attach", "http://example.org")
    refused(2, "there is no terminal here", "attach", url)
    open_file = shared.folder / "open-token"
    open_file.write_text(shared.token)
    open_file.chmod(0o644)
    refused(2, "can be read by others", "sessions", "--attach", url, "--token-file", str(open_file))
    os.mkfifo(shared.folder / "pipe", 0o600)
    for special in ("/dev/zero", str(shared.folder / "pipe")):
        refused(2, "it is not a regular file", "sessions", "--attach", url, "--token-file", special)
    # It is not repeated in the error, where others may read it.
    refused(2, "bridle: the token has spaces or characters", "sessions", "--attach", url, BRIDLE_TOKEN="two\nlines")


def test_a_token_is_kept_from_commands_and_never_becomes_a_setting(shared):
    model = shared.home.script(
        calls(("bash", {"command": "env > seen.txt", "description": "Look"})), "Done.", name="env.json"
    )
    done = shared.home.run("run", "--model", model, "--on-ask", "allow", "Look", BRIDLE_TOKEN="bridle_0123456789")
    assert done.returncode == 0, done.stderr
    assert "bridle_0123456789" not in (shared.project / "seen.txt").read_text()
    assert "PATH=" in (shared.project / "seen.txt").read_text()


def test_a_server_is_attached_to_by_people_only(shared):
    url = shared.servers[0].url
    bridle = shlex.quote(str(Path(sys.executable).parent / "bridle"))
    command = f"{bridle} sessions --attach {url} > one.txt 2>&1; {bridle} attach {url} > two.txt 2>&1; exit 0"
    model = shared.home.script(calls(("bash", {"command": command, "description": "Try"})), "Done.", name="try.json")
    done = shared.home.run("run", "--model", model, "--on-ask", "allow", "Try")
    assert done.returncode == 0, done.stderr
    for name, what in (("one.txt", "--attach"), ("two.txt", "`bridle attach`")):
        assert (shared.project / name).read_text() == (
            f"bridle: {what} is for people: it is refused inside a tool call of a Bridle session\n"
        )
    assert local_socket(shared.servers[0]).exists()


def test_commands_without_a_server_load_no_client(shared):
    code = (
        "import sys, bridle.surfaces.cli.run, bridle.surfaces.cli.manage, bridle.surfaces.cli.sessions\n"
        "print([name for name in sys.modules if name.startswith(('bridle.client', 'bridle.surfaces.server'))])"
    )
    done = shared.home.started(sys.executable, "-c", code)
    assert done.stdout == "[]\n", done.stderr
