"""What keeps snapshots from being pruned: refs of ours, with the times in their names; and the facts of open ones."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

import msgspec

from bridle.errors import SnapshotFailed
from bridle.snapshots.git import Git
from bridle.snapshots.repository import Bounds, Taken, seen_at

REFS = "refs/bridle/"
OPEN = "open"
DAY = 86_400
AIM = 0.8
"""How much of the quota is left in use when something has to go."""


class Facts(msgspec.Struct, frozen=True):
    """What was there before some calls though it was not kept, written down so that it survives the process.

    Names are quoted: they need not be text.
    """

    tree: str
    large: dict[str, tuple[int, int]]
    others: list[str]
    """Files that are ignored or may not be read, folders that are ignored, and repositories of their own."""
    at_ns: int = 0
    numbers: dict[int, str] = {}
    """The inodes of the others: one that is met elsewhere later was moved there."""

    @classmethod
    def of(cls, taken: Taken, ignored: Sequence[str], root: Path) -> Facts:
        large = {quoted(name): facts for name, facts in taken.large.items()}
        others = (*taken.nested, *taken.unread, *ignored)
        numbers = {found.st_ino: quoted(name) for name in others if (found := seen_at(root / name)) is not None}
        return cls(taken.tree, large, [quoted(name) for name in others], taken.at_ns, numbers)

    def covering(self, path: str) -> str:
        """What was there at this path, or above it; empty if nothing was."""
        name = quoted(path)
        known = {*self.large, *self.others}
        while name:
            for found in (name, f"{name}/"):
                if found in known:
                    return found
            name = name.rpartition("/")[0]
        return ""


def quoted(name: str) -> str:
    return quote(os.fsencode(name))


def unquoted(name: str) -> str:
    return os.fsdecode(unquote_to_bytes(name))


class Claim(NamedTuple):
    """A change that was pinned: whose it was, from when to when, and the files before and after it."""

    session: str
    opened: int
    closed: int
    before: str
    after: str


@dataclass(slots=True)
class SnapshotPins:
    """The refs of one repository."""

    git: Git
    bounds: Bounds

    def hold(self, session: str, facts: Facts) -> None:
        """Keep a tree until the next one is held for this session: something may change it at this moment."""
        self.git.run("update-ref", f"{REFS}{session}/{OPEN}", facts.tree)
        path = self.git.folder / f"{OPEN}.{session}"
        path.touch(mode=0o600)
        path.write_bytes(msgspec.json.encode(facts))
        # Git writes each index anew, so that a second name keeps this one.
        self.index(session).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            self.index(session).hardlink_to(self.git.folder / "index")

    def index(self, session: str) -> Path:
        """What git knew of the files in the tree that is held."""
        return self.git.folder / f"{OPEN}.{session}.index"

    def facts(self, session: str) -> Facts | None:
        """What was written down with the tree that is held; None if that is not known."""
        try:
            return msgspec.json.decode((self.git.folder / f"{OPEN}.{session}").read_bytes(), type=Facts)
        except (OSError, msgspec.MsgspecError):
            return None

    def pin(self, session: str, name: str, times: tuple[float, float], trees: Sequence[str]) -> None:
        """Keep trees until the session goes, or they become too old."""
        moment = f"{int(times[1])}.{int(times[0])}"
        lines = (f"update {REFS}{session}/{moment}.{name}.{place} {tree}\n" for place, tree in enumerate(trees))
        self.git.run("update-ref", "--stdin", given="".join(lines).encode())

    def claims(self, others_than: Collection[str]) -> Iterator[Claim]:
        """The changes of all sessions but these."""
        listed = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", REFS).decode().splitlines()
        trees = {name: tree for tree, _, name in (line.partition(" ") for line in listed)}
        for name, before in trees.items():
            session, _, rest = name.removeprefix(REFS).partition("/")
            after = trees.get(name[:-1] + "1")
            if name.endswith(".0") and after is not None and session not in others_than:
                closed, opened = rest.split(".")[:2]
                yield Claim(session, int(opened), int(closed), before, after)

    def drop(self, session: str) -> None:
        """Let go of everything that was kept for a session."""
        if (self.git.folder / "HEAD").exists():
            listed = self.git.run("for-each-ref", "--format=delete %(refname)", f"{REFS}{session}/")
            self.git.run("update-ref", "--stdin", given=listed)
            (self.git.folder / f"{OPEN}.{session}").unlink(missing_ok=True)
            self.index(session).unlink(missing_ok=True)

    def prune(self, now: float) -> None:
        """Let go of what is too old, and of the oldest if all of it is too much; give the room back."""
        listed = self.git.run("for-each-ref", "--format=%(refname)", REFS).decode().split()
        refs = sorted((ref for ref in listed if not ref.endswith(f"/{OPEN}")), key=_time)
        gone = sum(now - _time(ref) > self.bounds.keep_days * DAY for ref in refs)
        size = self._bytes()
        if size > self.bounds.quota_bytes:
            # How much each of them takes is not known; what is still too much tomorrow goes tomorrow.
            gone = max(gone, len(refs) - int(len(refs) * AIM * self.bounds.quota_bytes / size))
        self.git.run("update-ref", "--stdin", given="".join(f"delete {ref}\n" for ref in refs[:gone]).encode())
        # What is being taken at this moment is not named by anything yet.
        self.git.run("gc", "--quiet", "--prune=10.minutes.ago")

    def _bytes(self) -> int:
        facts: Mapping[str, str] = dict(
            line.split(": ") for line in self.git.run("count-objects", "-v").decode().splitlines()
        )
        return (int(facts["size"]) + int(facts["size-pack"])) << 10

    def need(self, *trees: str) -> None:
        """Raises `SnapshotFailed` if one of them is not kept any more."""
        asked = "".join(f"{tree}\n" for tree in trees).encode()
        with self.git.alone():
            said = self.git.run("cat-file", "--batch-check=%(objecttype)", given=asked).decode().split("\n")
        if any(line != "tree" for line in said[: len(trees)]):
            raise SnapshotFailed("the files as they were are not kept any more, or were kept on another machine")


def _time(ref: str) -> int:
    """When something was kept, which is in its name."""
    moment = ref.rpartition("/")[2].partition(".")[0]
    return int(moment) if moment.isdecimal() else 0
