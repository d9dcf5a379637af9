"""All exceptions of Bridle, as one hierarchy.

BridleError
├── ConfigError          a file, a flag or an argument is invalid; nothing was started
├── JournalError
│   ├── JournalFailed    a record could not be written, so the turn has not ended
│   │   └── JournalFull  the disk is full
│   ├── JournalRefused   the file is damaged, newer than this program, or not a journal
│   ├── LeaseLost        another process writes to this session now
│   └── NoSuchSession    no session has this id
├── BudgetRefused        the ledger has no room; carries the shortage
├── ServerFailed         a tool server cannot be used
├── SnapshotFailed       the state of a project's files cannot be stored or restored
├── NoOutput             a run ended without the output that was asked for
├── TurnLeft             this process cannot drive a turn, which stays interrupted
└── ToolFailed           a tool ends with an error that the model reads
    └── Retry            the model is asked to try again
"""

from __future__ import annotations

import sys


class BridleError(Exception):
    """Base class of all errors that Bridle raises on purpose; its text is for people."""


class ConfigError(BridleError):
    """A file, a flag or an argument is invalid."""


class JournalError(BridleError):
    """The journal cannot do what it was asked to do."""


class JournalFailed(JournalError):
    """A record could not be written, so its events have not happened."""


class JournalFull(JournalFailed):
    """The disk is full."""


class JournalRefused(JournalError):
    """The file cannot be written to: damaged, newer than this program, or not a journal."""


class LeaseLost(JournalError):
    """Another process writes to this session now."""


class NoSuchSession(JournalError):
    """No session has this id."""


class ServerFailed(BridleError):
    """A tool server cannot be used; the text says why."""


class SnapshotFailed(BridleError):
    """The state of a project's files cannot be stored or restored; the text says why."""


class ToolFailed(BridleError):
    """A tool ends with an error that the model reads."""


class Retry(ToolFailed):
    """Raised by a tool or an output check to have the model try again; the text tells the model what is wrong."""


class NoOutput(BridleError):
    """A run ended without the output that was asked for; the text says how it ended."""


class TurnLeft(BridleError):
    """This process cannot drive the turn, which stays interrupted; the text says what it lacks."""


def unsupported() -> str:
    """Return why Bridle cannot run on this system; empty if it can."""
    if sys.platform in ("linux", "darwin"):
        return ""
    return f"{sys.platform} is not supported: Bridle runs on Linux and macOS, and on Windows inside WSL"
