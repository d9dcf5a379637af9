"""`SnapshotPins`: keeps snapshots as git refs, with notes on files they lack; prunes them by age and quota."""

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
"""Fraction of the quota that stays in use after pruning."""


class Facts(msgspec.Struct, frozen=True):
    """Files that existed before some tool calls but are not in the snapshot; stored so that they survive the process.

    Names are percent-encoded, because they need not be valid text.
    """

    tree: str
    large: dict[str, tuple[int, int]]
    others: list[str]
    """Ignored or unreadable files, ignored folders, and nested repositories."""
    at_ns: int = 0
    numbers: dict[int, str] = {}
    """Inodes of `others`, to recognize a file that was moved."""

    @classmethod
    def of(cls, taken: Taken, ignored: Sequence[str], root: Path) -> Facts:
        large = {quoted(name): facts for name, facts in taken.large.items()}
        others = (*taken.nested, *taken.unread, *ignored)
        numbers = {found.st_ino: quoted(name) for name in others if (found := seen_at(root / name)) is not None}
        return cls(taken.tree, large, [quoted(name) for name in others], taken.at_ns, numbers)

    def covering(self, path: str) -> str:
        """Return the known name at this path or the nearest one above it; empty if there is none."""
        return covering({*self.large, *self.others}, path)


def covering(known: Collection[str], path: str) -> str:
    """Return the known name, in its quoted form, at this path or nearest above it; empty if there is none."""
    name = quoted(path)
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
    """A pinned change: its session, start and end time, and the trees before and after it."""

    session: str
    opened: int
    closed: int
    before: str
    after: str


@dataclass(slots=True)
class SnapshotPins:
    """The snapshot refs of one repository."""

    git: Git
    bounds: Bounds

    def hold(self, session: str, facts: Facts) -> None:
        """Keep a tree while calls may change the files, until the next `hold` for this session."""
        self.git.run("update-ref", f"{REFS}{session}/{OPEN}", facts.tree)
        path = self.git.folder / f"{OPEN}.{session}"
        path.touch(mode=0o600)
        path.write_bytes(msgspec.json.encode(facts))
        # Git replaces the index file on each write, so a hard link preserves this version.
        self.index(session).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            self.index(session).hardlink_to(self.git.folder / "index")

    def index(self, session: str) -> Path:
        """Return the path of the git index that belongs to the held tree."""
        return self.git.folder / f"{OPEN}.{session}.index"

    def facts(self, session: str) -> Facts | None:
        """Return the facts stored with the held tree; None if they are missing or unreadable."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode((self.git.folder / f"{OPEN}.{session}").read_bytes(), type=Facts)
        return None

    def pin(self, session: str, name: str, times: tuple[float, float], trees: Sequence[str]) -> None:
        """Keep trees until the session is dropped or they are pruned for age or quota."""
        moment = f"{int(times[1])}.{int(times[0])}"
        lines = (f"update {REFS}{session}/{moment}.{name}.{place} {tree}\n" for place, tree in enumerate(trees))
        self.git.run("update-ref", "--stdin", given="".join(lines).encode())

    def claims(self, others_than: Collection[str]) -> Iterator[Claim]:
        """Yield the pinned changes of all sessions except these."""
        listed = self.git.run("for-each-ref", "--format=%(objectname) %(refname)", REFS).decode().splitlines()
        trees = {name: tree for tree, _, name in (line.partition(" ") for line in listed)}
        for name, before in trees.items():
            session, _, rest = name.removeprefix(REFS).partition("/")
            after = trees.get(name[:-1] + "1")
            if name.endswith(".0") and after is not None and session not in others_than:
                closed, opened = rest.split(".")[:2]
                yield Claim(session, int(opened), int(closed), before, after)

    def drop(self, session: str) -> None:
        """Delete all refs and facts of a session. Does nothing without a repository."""
        if (self.git.folder / "HEAD").exists():
            listed = self.git.run("for-each-ref", "--format=delete %(refname)", f"{REFS}{session}/")
            self.git.run("update-ref", "--stdin", given=listed)
            (self.git.folder / f"{OPEN}.{session}").unlink(missing_ok=True)
            self.index(session).unlink(missing_ok=True)

    def prune(self, now: float) -> None:
        """Delete refs older than `keep_days`, and the oldest ones above the quota; then free the disk space."""
        listed = self.git.run("for-each-ref", "--format=%(refname)", REFS).decode().split()
        refs = sorted((ref for ref in listed if not ref.endswith(f"/{OPEN}")), key=_time)
        gone = sum(now - _time(ref) > self.bounds.keep_days * DAY for ref in refs)
        size = self._bytes()
        if size > self.bounds.quota_bytes:
            # The size of each snapshot is unknown; an excess that remains is removed the next day.
            gone = max(gone, len(refs) - int(len(refs) * AIM * self.bounds.quota_bytes / size))
        self.git.run("update-ref", "--stdin", given="".join(f"delete {ref}\n" for ref in refs[:gone]).encode())
        # Objects of a snapshot in progress have no ref yet.
        self.git.run("gc", "--quiet", "--prune=10.minutes.ago")

    def _bytes(self) -> int:
        facts: Mapping[str, str] = dict(
            line.split(": ") for line in self.git.run("count-objects", "-v").decode().splitlines()
        )
        return (int(facts["size"]) + int(facts["size-pack"])) << 10

    def need(self, *trees: str) -> None:
        """Raise `SnapshotFailed` if one of these trees no longer exists."""
        asked = "".join(f"{tree}\n" for tree in trees).encode()
        with self.git.alone():
            said = self.git.run("cat-file", "--batch-check=%(objecttype)", given=asked).decode().split("\n")
        if any(line != "tree" for line in said[: len(trees)]):
            raise SnapshotFailed("the snapshot of these files no longer exists, or is on another machine")


def _time(ref: str) -> int:
    """Return the time in a ref's name; 0 if it has none."""
    moment = ref.rpartition("/")[2].partition(".")[0]
    return int(moment) if moment.isdecimal() else 0
