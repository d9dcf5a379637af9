"""The sandbox as a model meets it: what commands can do in it, what not, and what they are told."""

import asyncio
import os
import shlex
import subprocess
import sys

import pytest
from support.sheltered import BASH, Sheltered

from bridle import Agent, ScriptedModel, call
from bridle.assembly.command_environment import CommandEnvironment
from bridle.config.settings import SandboxSettings, Settings
from bridle.core.parts import Call
from bridle.core.permission import Access
from bridle.process.sandbox import sandbox_program


def test_this_machine_has_a_sandbox():
    assert sandbox_program()[1] == ""


def test_the_agent_makes_a_commit(shut_in):
    assert not shut_in("echo one > file && git add file && git commit -qm 'A first one' && git tag v1").failed
    log = subprocess.run(
        ["git", "log", "--format=%s %d"], cwd=shut_in.project, capture_output=True, text=True, check=True
    )
    assert log.stdout == "A first one  (HEAD -> main, tag: v1)\n"


NEVER = {
    "a hook": "echo 'touch /tmp/x' > .git/hooks/pre-commit",
    "a hook by another way": "cp /bin/true .git/hooks/post-checkout",
    "the folder of hooks": "rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/pre-commit",
    "git moved away": "mv .git elsewhere && mkdir .git",
    "the settings of git": "program=git; $program config core.fsmonitor ./evil",
    "the settings of git as a file": "echo '[core]' >> .git/config",
    "the settings of git by a link": "ln -sf /tmp/evil .git/config",
    "another project": "echo x > {other}/file",
    "the system": "echo x > /etc/cron.d/evil",
    "a device": "mknod disk b 8 0",
    "a mount": "mount -t tmpfs none /mnt",
    "a remount": "mount -o remount,rw /",
    "a namespace of its own": "unshare -Urm sh -c 'mount -o remount,rw,bind /'",
    "the project's own rules": "echo '[permission]' > bridle.toml",
    "the project's own tools": "echo x > .bridle/tools/evil.py",
    "a process outside": "kill -0 {pid}",
}


@pytest.mark.parametrize("command", NEVER.values(), ids=NEVER)
def test_what_a_command_can_never_do(shut_in, command):
    (shut_in.project / "bridle.toml").write_text("")
    (shut_in.project / ".bridle" / "tools").mkdir(parents=True)
    config = (shut_in.project / ".git" / "config").read_text()
    hooks = sorted(path.name for path in (shut_in.project / ".git" / "hooks").iterdir())
    output = shut_in(command.format(other=shut_in.other, pid=os.getpid()))
    assert output.failed, output.text
    assert (shut_in.project / ".git" / "config").read_text() == config
    assert sorted(path.name for path in (shut_in.project / ".git" / "hooks").iterdir()) == hooks
    assert list(shut_in.other.iterdir()) == []
    assert (shut_in.project / "bridle.toml").read_text() == ""


UNSEEN = {
    "the private key": "cat ~/.ssh/*; ls -A ~/.ssh",
    "the password": "cat ~/.netrc",
    "every session": "cat {state}/journal.db; ls {state}",
    "agent": "env | grep -c SSH_AUTH_SOCK; ls /run",
}


@pytest.mark.parametrize("command", UNSEEN.values(), ids=UNSEEN)
def test_what_a_command_never_sees(shut_in, command):
    text = shut_in(command.format(state=shut_in.home.parent / "state")).text
    assert not [secret for secret in UNSEEN if secret in text]
    assert "id_rsa" not in text and "journal" not in text.replace("journal.db: No such file", "")


def test_what_it_may_do(shut_in):
    assert not shut_in("echo x > file; mkdir -p deep/er; echo z > /tmp/scratch").failed
    assert (shut_in.project / "file").read_text() == "x\n"
    # A long output that was stored is there to be read, though what lies beside it is not.
    assert shut_in(f"cat {shut_in.home.parent}/state/outputs/s/call.txt").text == "a long output\n"


def test_the_network_is_off_and_the_way_to_ask_for_it_is_said(shut_in):
    output = shut_in("pip download --retries 1 requests")
    assert output.failed
    assert 'run this again with outside: ["network"]' in output.text
    assert BASH.accesses(BASH.check({"command": "ls", "outside": ["network"]}), shut_in.project)[-1] == (
        Access("network", "ls")
    )


def test_with_the_network_allowed_a_server_outside_is_reached(shut_in):
    serve = (
        "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler)\n"
        "print(s.server_port, flush=True); s.serve_forever()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", serve], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            port = server.stdout.readline().strip()
            python = shlex.quote(sys.executable)
            fetch = f"{python} -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}').status)\""
            assert shut_in(fetch).failed
            assert shut_in(fetch, outside=["network"]).text == "200\n"
        finally:
            server.kill()


def test_another_folder_is_written_to_once_it_is_allowed(shut_in):
    command = f"echo x > {shut_in.other}/file"
    refused = shut_in(command)
    assert "run this again with outside:" in refused.text
    assert not shut_in(command, outside=[str(shut_in.other)]).failed
    assert (shut_in.other / "file").read_text() == "x\n"


def test_settings_of_git_are_written_once_that_is_allowed(shut_in):
    needed = BASH.accesses(BASH.check({"command": "git config user.name x"}), shut_in.project)
    assert Access("git_config", "git config user.name x") in needed
    # The call was judged before it runs, so what it needs is what it was given.
    assert not shut_in("git config user.name x").failed


def test_a_work_tree_elsewhere_commits_too(shut_in):
    shut_in("echo one > file && git add file && git commit -qm one")
    tree = shut_in.home.parent / "tree"
    subprocess.run(["git", "worktree", "add", "-q", tree], cwd=shut_in.project, check=True)
    shut_in.project = tree
    assert not shut_in("echo two > file && git commit -qam two").failed


def test_too_many_processes_and_too_large_files_are_ended(place):
    small = Sheltered(place, processes=40, file_mb=1, memory_mb=256)
    many = small("for i in $(seq 200); do sleep 20 & done; wait")
    assert "more than 40 processes" in many.text
    large = small("head -c 2000000 /dev/zero > large; ls -l large | cut -d' ' -f5")
    assert "1048576" in large.text
    greedy = small(f"{shlex.quote(sys.executable)} -c 'x = bytearray(2_000_000_000)'")
    assert greedy.failed and "MemoryError" in greedy.text


def calls_of(session):
    return [part for part in session.parts.values() if isinstance(part, Call)]


def _turn(settings, *replies, **more):
    agent = Agent("a", model=ScriptedModel([*replies, "done"]), tools=[BASH], settings=settings, **more)
    runtime = agent.runtime()

    async def work():
        async with runtime:
            session = await runtime.create()
            result = await runtime.wait(session, await runtime.prompt(session, "go"))
            return result, await runtime.load(session)

    return asyncio.run(work())


def test_in_the_sandbox_a_command_needs_no_question_and_without_one_it_does(tmp_path):
    shut_in, free = Settings(sandbox=SandboxSettings()), Settings(sandbox=SandboxSettings(mode="off"))
    _, session = _turn(shut_in, call("bash", command="echo $((1+1))"), directory=tmp_path)
    assert [made.state.output for made in calls_of(session)] == ["2\n"]
    _, session = _turn(free, call("bash", command="echo $((1+1))"), directory=tmp_path)
    assert [made.state.refusal.name for made in calls_of(session)] == ["unasked"]


def test_where_a_sandbox_is_required_and_there_is_none_nothing_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox_program.cache_clear()
    try:
        result, _ = _turn(Settings(sandbox=SandboxSettings(mode="required")), call("bash", command="true"))
        assert (result.reason, "no sandbox is available: bubblewrap is not installed" in result.text) == ("error", True)
    except Exception as error:
        assert "no sandbox is available: bubblewrap is not installed" in str(error)
    finally:
        monkeypatch.undo()
        sandbox_program.cache_clear()


def test_its_absence_is_said_in_plain_words(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox_program.cache_clear()
    try:
        commands = CommandEnvironment(SandboxSettings(), {})
        assert commands.warning() == (
            "commands run without a sandbox, so each one needs your permission: "
            "bubblewrap is not installed (Debian: apt-get install bubblewrap)"
        )
    finally:
        monkeypatch.undo()
        sandbox_program.cache_clear()
