"""Turns error answers of a server into the exceptions that a `Runtime` in this process would raise."""

from __future__ import annotations

import msgspec

from bridle import errors
from bridle.errors import AccessRefused, BridleError, ConfigError, JournalError, NoSuchSession, ServerAway, TokenRefused
from bridle.wire.native_answers import ErrorBody

KINDS: dict[str, type[BridleError]] = {
    kind.__name__: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BridleError)
}
"""The exceptions by the names that a server sends."""
STATUS: dict[int, type[BridleError]] = {
    400: ConfigError,
    401: TokenRefused,
    403: AccessRefused,
    404: NoSuchSession,
    405: ConfigError,
    409: ConfigError,
    413: ConfigError,
    431: ConfigError,
    503: ServerAway,
}
LONGEST_TEXT = 300


def failure_of(status: int, content: bytes) -> BridleError:
    """Return the exception for an answer with an error status."""
    try:
        body = msgspec.json.decode(content, type=ErrorBody)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # A proxy has answered, or a program that is no Bridle server.
        text = content[:LONGEST_TEXT].decode("utf-8", "replace").strip()
        return JournalError(f"the server answers {status}: {text}")
    kind = KINDS.get(body.kind) or STATUS.get(status, JournalError)
    return kind(body.error)
