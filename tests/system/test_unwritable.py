"""A disk that fills up or turns read-only under a turn: nothing starts unrecorded, and it goes on with room."""

import json
import os
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.cli_home import BRIDLE, Home, settings
from support.served_model import serving

from bridle.testing.scripted import Reply, ScriptedCall

FIRST = "echo first >> ran; touch waiting; until [ -e go ]; do sleep 0.02; done"
ROOT = os.geteuid() == 0


def bash(command):
    return Reply(text="I will.", calls=(ScriptedCall("bash", {"command": command}),))


def script():
    return bash(FIRST), bash("echo second >> ran")


@pytest.fixture
def home():
    """A person whose home is on a disk, not in memory: not everything can be had of a tmpfs."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        project = Path(folder) / "project"
        project.mkdir()
        data(Path(folder)).mkdir(parents=True, mode=0o700)
        yield Home(Path(folder), project)


def data(folder):
    return folder / ".local" / "share" / "bridle"


def configure(home, server):
    provider = f'[providers.ours]\nwire = "chat"\nbase_url = "{server.address}/v1"\nauth = "none"\n'
    settings(home, provider + '[permission]\nbash = "allow"\n')


def sh(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)


def until(path):
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.01)


class Run:
    """`bridle run`, stopped where its first command is under way."""

    def __init__(self, home, server, inside=(), *, until_words=False):
        configure(home, server)
        self.home = home
        self.server = server
        words = [*inside, BRIDLE, "run", "--dir", home.project, "--format", "json", "--model", "ours/scripted", "go"]
        self.process = subprocess.Popen(
            words,
            cwd=home.project,
            env=home.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = []
        try:
            self.hear_a_step() if until_words else until(home.project / "waiting")
        except AssertionError:
            self.process.kill()
            raise AssertionError(self.process.communicate()) from None

    def hear_a_step(self):
        for line in self.process.stdout:
            self.lines.append(line)
            if '"step_start"' in line:
                return
        raise AssertionError

    def go_on(self):
        """How it ends: its exit status, the result, and what it printed beside."""
        (self.home.project / "go").touch()
        try:
            out, beside = self.process.communicate(timeout=60)
        finally:
            self.process.kill()
        lines = [json.loads(line) for line in (*self.lines, *out.splitlines())]
        assert "Traceback" not in beside and "should not have happened" not in out + beside, out + beside
        assert lines and lines[-1]["type"] == "result", (out, beside)
        return self.process.returncode, lines[-1]

    @property
    def ran(self):
        path = self.home.project / "ran"
        return path.read_text().split() if path.exists() else []


class Folders:
    """The folders may not be written to; whoever is root gives up the right to do so all the same."""

    inside = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if ROOT else ()

    def __init__(self, folder):
        self.folder = folder
        self.then = self.inside

    def modes(self, mode):
        for path in (self.folder / "journal.db.locks", self.folder):
            path.chmod(mode)

    def freeze(self, process):
        self.modes(0o500)

    def thaw(self):
        self.modes(0o700)

    leave = thaw


class Immutable(Folders):
    """The folders, the journal and its log may not be changed, not even by who holds them open."""

    inside = ()

    def frozen(self):
        # The index of the log is left out: it is mapped, and the kernel ends whoever writes to a map that it may not.
        return [path for path in (self.folder, *self.folder.rglob("*")) if not path.name.endswith("-shm")]

    def freeze(self, process):
        sh("chattr", "+i", *reversed(self.frozen()))

    def thaw(self):
        sh("chattr", "-i", *self.frozen())

    leave = thaw


class DeadDisk(Folders):
    """Not a byte can be written to any file."""

    inside = ()

    def __init__(self, folder):
        super().__init__(folder)
        self.then = ("prlimit", "--fsize=0:0")

    def freeze(self, process):
        sh("prlimit", "--pid", str(process.pid), "--fsize=0:0")

    def thaw(self):
        """The limit has died with its process."""

    leave = thaw


def can_be_made_immutable():
    """Whether this machine, its file system and this user can do that to a file; not all containers can."""
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
        tried = [subprocess.run(["chattr", sign, file.name], capture_output=True, check=False) for sign in ("+i", "-i")]
    return all(done.returncode == 0 for done in tried)


WAYS = [DeadDisk, Immutable] if can_be_made_immutable() else [DeadDisk]


@contextmanager
def disk(way, home):
    made = way(data(home.folder))
    try:
        yield made
    finally:
        made.leave()


def refused(home, inside, *words):
    """One sentence that names the journal, and nothing else, from a command that cannot do its work."""
    done = within(home, inside, *words)
    said = [line for line in done.stderr.splitlines() if not line.startswith("session ")]
    assert (done.returncode, done.stdout, len(said)) == (1, "", 1), done
    assert said[0].startswith(f"bridle: {data(home.folder)}/journal.db"), said


def within(home, inside, *words):
    return subprocess.run(
        # What enters a namespace begins at its root.
        [*inside, "env", "-C", str(home.project), BRIDLE, *words],
        cwd=home.project,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_journal_that_turns_read_only_interrupts_the_turn_and_resume_goes_on(home, way):
    with serving(*script(), then="All done.") as server, disk(way, home) as made:
        run = Run(home, server, made.inside)
        made.freeze(run.process)
        status, result = run.go_on()
        session = result["session"]
        assert (status, result["reason"]) == (1, "interrupted")
        assert result["detail"].endswith(f"The turn has not ended; resume it with: bridle resume {session}")
        refused(home, made.then, "resume", session)
        assert (run.ran, len(server.bodies)) == (["first"], 1)
        made.thaw()
        assert "interrupted" in home.run("sessions").stdout
        done = home.run("resume", session)
        assert (done.returncode, done.stdout.splitlines()[-1], run.ran) == (0, "All done.", ["first", "second"])


def test_folders_that_turn_read_only_do_not_stop_who_holds_the_journal_open(home):
    with serving(*script(), then="All done.") as server, disk(Folders, home) as made:
        run = Run(home, server, made.inside)
        made.freeze(run.process)
        status, result = run.go_on()
        assert (status, result["reason"], result["text"]) == (0, "answered", "All done.")
        assert run.ran == ["first", "second"]
        refused(home, made.then, "run", "--model", "ours/scripted", "a session of its own")
        made.thaw()
        done = home.run("run", "--session", result["session"], "--model", "ours/scripted", "and now?")
        assert (done.returncode, done.stdout) == (0, "All done.\n")


class SmallDisk:
    """A few megabytes, in a namespace where everybody may mount."""

    def __init__(self, folder):
        self.folder = folder
        mount = f"mount -t tmpfs -o size=5m,mode=700 none {folder} && echo ready && exec sleep 300"
        words = ["unshare", "-Urm", "sh", "-c", mount]
        self.holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n"
        self.inside = ["nsenter", "-t", str(self.holder.pid), "-U", "-m", "--preserve-credentials"]

    def fill(self):
        sh(*self.inside, "sh", "-c", f"cat /dev/zero > {self.folder}/filler 2>/dev/null; true")

    def make_room(self):
        sh(*self.inside, "rm", f"{self.folder}/filler")

    def give_up_the_reserve(self):
        sh(*self.inside, "rm", f"{self.folder}/journal.db.reserve")

    def leave(self):
        self.holder.kill()
        self.holder.communicate()


def test_a_full_disk_ends_the_turn_and_the_session_goes_on_once_there_is_room(home):
    with serving(*script(), then="All done.") as server, disk(SmallDisk, home) as made:
        run = Run(home, server, made.inside)
        made.fill()
        status, result = run.go_on()
        assert (status, result["reason"]) == (1, "error")
        assert result["detail"].endswith("journal.db: the disk is full")
        assert (run.ran, len(server.bodies)) == (["first"], 1)
        shown = within(home, made.inside, "show", result["session"])
        assert (shown.returncode, "the disk is full" in shown.stdout) == (0, True), shown
        more = ("run", "--session", result["session"], "--model", "ours/scripted", "go on")
        # What was left of the reserve is room for others; without it nothing begins.
        made.fill()
        refused(home, made.inside, *more)
        made.make_room()
        done = within(home, made.inside, *more)
        assert (done.returncode, done.stdout.splitlines()[-1], run.ran) == (0, "All done.", ["first", "second"])


def test_a_full_disk_without_the_reserve_interrupts_the_turn_and_resume_goes_on(home):
    with serving(*script(), then="All done.") as server, disk(SmallDisk, home) as made:
        run = Run(home, server, made.inside)
        made.give_up_the_reserve()
        made.fill()
        status, result = run.go_on()
        session = result["session"]
        assert (status, result["reason"]) == (1, "interrupted")
        assert result["detail"].endswith(
            f"the disk is full. The turn has not ended; resume it with: bridle resume {session}"
        )
        refused(home, made.inside, "resume", session)
        assert (run.ran, len(server.bodies)) == (["first"], 1)
        made.make_room()
        done = within(home, made.inside, "resume", session)
        if done.returncode:
            # The last free bytes took the word that the turn must end, but not its ending: that is written first.
            assert "The turn failed" in done.stderr and "the disk is full" in done.stderr
            done = within(home, made.inside, "run", "--session", session, "--model", "ours/scripted", "go on")
        assert (done.returncode, done.stdout.splitlines()[-1], run.ran) == (0, "All done.", ["first", "second"])


def long_words():
    """Words for more than a second, and then a call."""
    pieces = [f"<{number:03d}>" for number in range(30)]
    command = ScriptedCall("bash", {"command": "echo late >> ran"})
    return Reply(text="".join(pieces), chunk=5, pace=0.05, calls=(command,))


def test_a_disk_that_fills_up_while_words_arrive_ends_the_turn_before_the_call_that_follows(home):
    with serving(long_words(), then="All done.") as server, disk(SmallDisk, home) as made:
        run = Run(home, server, made.inside, until_words=True)
        made.fill()
        status, result = run.go_on()
        assert (status, result["reason"], run.ran, len(server.bodies)) == (1, "error", [], 1)
        assert result["detail"].endswith("journal.db: the disk is full")
        made.make_room()
        more = ("run", "--session", result["session"], "--model", "ours/scripted", "go on")
        done = within(home, made.inside, *more)
        assert (done.returncode, done.stdout) == (0, "All done.\n")


@pytest.mark.parametrize("way", WAYS)
def test_a_journal_that_turns_read_only_while_words_arrive_interrupts_the_turn(home, way):
    with serving(long_words(), then="All done.") as server, disk(way, home) as made:
        run = Run(home, server, made.inside, until_words=True)
        made.freeze(run.process)
        status, result = run.go_on()
        assert (status, result["reason"], run.ran, len(server.bodies)) == (1, "interrupted", [], 1)
        assert result["detail"].endswith(f"resume it with: bridle resume {result['session']}")
        made.thaw()
        done = home.run("resume", result["session"])
        assert (done.returncode, done.stdout) == (0, "All done.\n")
