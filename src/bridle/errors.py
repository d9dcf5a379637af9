"""The exception classes of Bridle as one hierarchy; only `BudgetRefused` is defined elsewhere, in `core.ledger`.

BridleError
├── ConfigError          a file, a flag or an argument is invalid; nothing was started
│   ├── AlreadyAnswered  another answer to the ask holds
│   └── TokenRefused     a server does not accept the token
├── JournalError
│   ├── JournalFailed    a record could not be written, so the turn has not ended
│   │   └── JournalFull  the disk is full
│   ├── JournalRefused   the file is damaged, newer than this program, or not a journal
│   ├── LeaseLost        another process writes to this session now
│   ├── LeaseGivenUp     this process hands its turns over to others, and records no new work
│   ├── NoSuchSession    no session has this id
│   └── ServerAway       a server cannot be reached
├── BudgetRefused        the ledger has no room; carries the shortage
├── ServerFailed         a tool server cannot be used
├── SnapshotFailed       the state of a project's files cannot be stored or restored
├── NoOutput             a run ended without the output that was asked for
├── TurnLeft             this process cannot drive a turn, which stays interrupted
└── ToolFailed           a tool ends with an error that the model reads
    └── Retry            the model is asked to try again
"""

from __future__ import annotations


class BridleError(Exception):
    """Base class of all errors that Bridle raises on purpose; its text is for people."""


class ConfigError(BridleError):
    """A file, a flag or an argument is invalid."""


class AlreadyAnswered(ConfigError):
    """Another answer to the ask came first and holds; the text says which."""


class TokenRefused(ConfigError):
    """A server does not accept the token: it is wrong, revoked or of another place."""


class AccessRefused(BridleError):
    """The rules do not allow this access without an ask, and here no person is asked."""


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


class LeaseGivenUp(JournalError):
    """This process hands the turn over to another one, and records no new work."""


class NoSuchSession(JournalError):
    """No session has this id."""


class ServerAway(JournalError):
    """A server cannot be reached. What was submitted before is safe there."""


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


def text_of(error: BaseException) -> str:
    """Return the text of an error of foreign code, also if making it fails."""
    try:
        return str(error)
    except Exception as failure:
        return f"its text cannot be made: {type(failure).__name__}"


def error_text(error: BaseException) -> str:
    """Return the type and the text of an error of foreign code, with the errors of a group."""
    if isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}: {'; '.join(map(error_text, error.exceptions))}"
    return f"{type(error).__name__}: {text_of(error)}"
