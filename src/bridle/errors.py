"""Every exception of Bridle.

BridleError
├── ConfigError          a file, a flag or an argument says something that cannot be; nothing was started
├── JournalError
│   ├── JournalFailed    a record could not be written, so the turn has not ended
│   │   └── JournalFull  there was no room on the disk
│   ├── JournalRefused   the file is damaged, newer than this program, or not a journal
│   ├── LeaseLost        another process writes to this session now
│   └── NoSuchSession    there is no session of this id
├── BudgetRefused        the ledger has no room; carries what is short
├── ServerFailed         a server of tools cannot be used
├── SnapshotFailed       the state of a project's files cannot be kept, or brought back
└── ToolFailed           a tool ends with an error that the model reads
"""

from __future__ import annotations

import sys


class BridleError(Exception):
    """Anything that Bridle raises on purpose; its text is for people."""


class ConfigError(BridleError):
    """A file, a flag or an argument says something that cannot be."""


class JournalError(BridleError):
    """The journal cannot do what was asked of it."""


class JournalFailed(JournalError):
    """A record could not be written, so what it says has not happened."""


class JournalFull(JournalFailed):
    """There is no room on the disk."""


class JournalRefused(JournalError):
    """The file cannot be written to: damaged, newer than this program, or no journal."""


class LeaseLost(JournalError):
    """Another process writes to this session now."""


class NoSuchSession(JournalError):
    """There is no session of this id."""


class ServerFailed(BridleError):
    """A server of tools cannot be used; the text says why."""


class SnapshotFailed(BridleError):
    """The state of a project's files cannot be kept, or brought back; the text says why."""


class ToolFailed(BridleError):
    """A tool ends with an error that the model reads."""


def unsupported() -> str:
    """Why Bridle cannot run on this system; empty if it can."""
    if sys.platform in ("linux", "darwin"):
        return ""
    return f"{sys.platform} is not supported: Bridle runs on Linux and macOS, and on Windows inside WSL"
