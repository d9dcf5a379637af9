"""`bridle run` with real tools, killed at any moment: it resumes, and nothing that ended is done again."""

import asyncio
import json
import os
import pty
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

from support.cli_home import BRIDLE, Home

from bridle.core.fold import load
from bridle.core.parts import Call, Sentinel, TurnFinish
from bridle.core.states import Done, Failed, Refused
from bridle.journal.sqlite import SqliteJournal
from bridle.wire.entries import encode_events

ROUNDS = int(os.environ.get("ROUNDS", "12"))
"""How often a run is killed, over all lanes; `ROUNDS=200` is the long form."""
LANES = 4
"""People side by side, each with a home, a server and a project: most of the time all of them wait for a stream."""
PACE = 0.05
PIECES_IN_A_SECOND = int(1 / PACE)
CUT_OFF = "was cut off by the death of the process 3 times"
"""How a turn ends, on purpose, whose step was met by a kill three times over."""
PIECE = re.compile(r"<\d{4}\.\d{3}>")


def reply(index):
    """Every third reply only talks, for more than a second; the others talk and then call four tools."""
    only_talks = index % 3 == 2
    pieces = [f"<{index:04d}.{piece:03d}>" for piece in range(30 if only_talks else 6)]
    made = [
        ("bash", {"command": f"echo {index} >> ran; sleep 0.1; echo {index} >> ended"}),
        ("write", {"filePath": f"made/{index}.txt", "content": f"made {index}\n" * 50}),
        ("edit", {"filePath": f"pages/{index}.txt", "oldString": "before", "newString": "after"}),
        ("read", {"filePath": f"pages/{index + 1}.txt"}),
    ]
    calls = [] if only_talks else [{"name": name, "arguments": given} for name, given in made]
    return {"text": "".join(pieces), "chunk": len(pieces[0]), "pace": PACE, "calls": calls}


@contextmanager
def served(home, requests):
    """The scripted model as its own process, on loopback."""
    script = home.folder / "scenario.json"
    script.write_text(json.dumps({"replies": [reply(index) for index in range(requests)], "then": "No more."}))
    words = [BRIDLE, "testing", "serve", script]
    server = subprocess.Popen(words, env=home.environment, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().split()[-1]
    finally:
        server.kill()
        server.communicate()


def settle_in(folder, requests):
    """A person with a project full of pages."""
    project = folder / "project"
    for name in ("made", "pages"):
        (project / name).mkdir(parents=True)
    for index in range(requests + 1):
        (project / "pages" / f"{index}.txt").write_text(f"before {index}\n")
    return Home(folder, project)


def configure(home, address):
    config = home.folder / ".config" / "bridle" / "config.toml"
    config.parent.mkdir(parents=True)
    provider = f'[providers.ours]\nwire = "chat"\nbase_url = "{address}"\nauth = "none"\n'
    config.write_text(provider + '[permission]\nbash = "allow"\nedit = "allow"\n')


class Lane:
    """One person, whose runs are killed one after the other."""

    def __init__(self, folder, seed, kills):
        self.chance = random.Random(seed)
        self.kills = kills
        self.requests = 8 * kills + 8
        self.home = settle_in(folder, self.requests)
        self.journal = folder / ".local" / "share" / "bridle" / "journal.db"
        self.session = ""
        self.ended = {}
        self.told = Counter()
        self.lost = []
        self.beside = folder / "beside"

    def work(self):
        with served(self.home, self.requests) as address:
            configure(self.home, address)
            while self.told["kills"] < self.kills:
                self.go_on(self.next_words(), self.chance.uniform(0.0, 2.0))
            if self.next_words()[0] == "resume":
                done = self.home.run("resume", self.session)
                assert done.returncode == (CUT_OFF in done.stderr) and "bridle:" not in done.stderr, done.stderr
        self.check_the_whole()
        return self.told

    def next_words(self):
        """What a person would do now: resume what was interrupted, or ask for more."""
        _, session = self.recorded()
        if session is not None and session.running is not None:
            return ("resume", self.session)
        more = ("--session", self.session) if self.session else ()
        return ("run", "--model", "ours/scripted", *more, "go on")

    def go_on(self, words, seconds):
        """Live for so long, then die; whoever ends before that must have ended well."""
        master, slave = pty.openpty()
        os.set_blocking(master, False)
        with self.beside.open("w") as beside:
            process = subprocess.Popen(
                [BRIDLE, *words],
                cwd=self.home.project,
                env=self.home.environment,
                stdin=subprocess.DEVNULL,
                stdout=slave,
                stderr=beside,
            )
            if self.lived(process, seconds):
                process.kill()
                self.told["kills"] += 1
                self.told[f"kills of {words[0]}"] += 1
            process.wait()
        shown = read_all(master)
        os.close(master)
        os.close(slave)
        said = self.beside.read_text()
        given_up = CUT_OFF in said
        self.told["given up"] += given_up
        assert process.returncode in ((1, -9) if given_up else (0, -9)), (words, said)
        assert "bridle:" not in said, (words, said)
        self.check(shown)

    def lived(self, process, seconds):
        """Whether it lives after so long: since it was started, since it began to work, or since a command did."""
        kind = self.chance.choice(["from its start", "from its work", "from its work", "from a command"])
        if kind != "from its start":
            wait_for(lambda: self.beside.stat().st_size, process, 20.0)
        if kind == "from a command":
            begun = self.ran("ran").total()
            wait_for(lambda: self.ran("ran").total() > begun, process, 2.0)
            seconds = self.chance.uniform(0.0, 0.15)
        wait_for(lambda: False, process, seconds)
        return process.poll() is None

    def recorded(self):
        """The entries of the session, and what they make; None as long as there is no session.

        Read from a copy: whoever resumes shall find the files as the dead process left them.
        """
        if not self.journal.exists():
            return [], None
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "journal.db"
            for end in ("", "-wal"):
                path = self.journal.with_name(f"journal.db{end}")
                if path.exists():
                    shutil.copy(path, f"{copy}{end}")
            with closing(sqlite3.connect(copy)) as raw:
                assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            entries = asyncio.run(self.read(copy))
        return entries, load(entries) if entries else None

    async def read(self, path):
        journal = SqliteJournal(path)
        try:
            rows = await journal.sessions()
            self.session = rows[0].info.id if rows else ""
            return await journal.load(self.session) if rows else []
        finally:
            await journal.close()

    def check(self, shown):
        """What is on the disk after a death, before anybody has touched it."""
        entries, session = self.recorded()
        text = "".join(encode_events(entry).decode() for entry in entries)
        lost = set(PIECE.findall(shown)) - set(PIECE.findall(text))
        assert len(lost) <= PIECES_IN_A_SECOND, lost
        self.lost.append(len(lost))
        ran = self.ran("ran")
        assert set(ran.values()) <= {1}, ran
        calls = [] if session is None else [part for part in session.parts.values() if isinstance(part, Call)]
        now = {part.id: part.state for part in calls if isinstance(part.state, (Done, Failed, Refused))}
        assert {id: now.get(id) for id in self.ended} == self.ended
        self.ended = now

    def ran(self, name):
        """How often each command has begun, or ended."""
        path = self.home.project / name
        return Counter(path.read_text().split()) if path.exists() else Counter()

    def check_the_whole(self):
        """Every effect has its record, and every record its effect."""
        _, session = self.recorded()
        parts = list(session.parts.values())
        assert session.running is None
        failed = [part for part in parts if isinstance(part, Sentinel) and CUT_OFF in part.text]
        reasons = Counter(part.reason for part in parts if isinstance(part, TurnFinish))
        self.told.update(reasons)
        assert {name: count for name, count in reasons.items() if name != "answered"} == (
            {"error": len(failed)} if failed else {}
        )
        states = {(part.name, number(part)): part.state for part in parts if isinstance(part, Call)}
        self.told.update(standing(state) for state in states.values())
        # A page that was not read may not be edited; that happens where the reply that read it met its death.
        stand = {(name, standing(state)) for (name, _), state in states.items()}
        assert {how for name, how in stand if name != "edit"} <= {"done", "unknown_outcome"}
        assert {how for name, how in stand if name == "edit"} <= {"done", "unknown_outcome", "failed"}
        commands = {index: standing(state) for (name, index), state in states.items() if name == "bash"}
        ran, ended = self.ran("ran"), self.ran("ended")
        assert set(ran) <= set(commands) and set(ran.values()) <= {1}
        assert {index for index, state in commands.items() if state == "done"} <= set(ended)
        self.check_files({(name, index): standing(state) for (name, index), state in states.items()})

    def check_files(self, stand):
        """Files are written whole or not at all, and what was recorded as done is there."""
        project = self.home.project
        for path in (project / "made").iterdir():
            assert path.read_text() == f"made {path.stem}\n" * 50
            assert ("write", path.stem) in stand
        for path in (project / "pages").iterdir():
            after = path.read_text() == f"after {path.stem}\n"
            assert after or path.read_text() == f"before {path.stem}\n"
            how = stand.get(("edit", path.stem), "never asked for")
            assert how in (("done", "unknown_outcome") if after else ("never asked for", "failed", "unknown_outcome"))
        written = {index for (name, index), how in stand.items() if (name, how) == ("write", "done")}
        assert written <= {path.stem for path in (project / "made").iterdir()}


def wait_for(happened, process, seconds):
    """Return once it has happened, the process has ended, or the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None and not happened():
        time.sleep(0.005)


def number(call):
    """The first number in what a call was given; no two calls of a tool share one."""
    return re.search(r"\d+", call.arguments).group()


def standing(state):
    return state.refusal.name if isinstance(state, Refused) else type(state).__name__.lower()


def read_all(handle):
    found = b""
    try:
        while piece := os.read(handle, 65_536):
            found += piece
    except (BlockingIOError, OSError):
        pass
    return found.decode(errors="replace")


def test_kills_at_random_moments_lose_at_most_a_second_and_repeat_nothing(tmp_path):
    kills = [len(range(lane, ROUNDS, LANES)) for lane in range(LANES)]
    lanes = []
    for lane, each in enumerate(kills):
        (tmp_path / str(lane)).mkdir()
        lanes.append(Lane(tmp_path / str(lane), lane, each))
    with ThreadPoolExecutor(LANES) as threads:
        told = sum(threads.map(Lane.work, lanes), Counter())
    print({**told, "pieces lost at most": max(max(lane.lost) for lane in lanes)})
    assert told["kills"] == ROUNDS
