"""`RetryPolicy`, and `next_try`, which decides whether to retry a failed model request, and after which delay."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

UNAUTHORIZED = 401
RETRYABLE = frozenset({408, 429, 500, 502, 503, 504, 529, *range(520, 525)})


class RetryPolicy(msgspec.Struct, frozen=True):
    """Limits on the retries of a request."""

    retries: int = 5
    total_seconds: float = 600.0
    longest_wait: float = 120.0
    first_delay: float = 1.0
    longest_delay: float = 60.0
    jitter: float = 1.0
    floor: float = 0.5


class RetryAfter(msgspec.Struct, frozen=True):
    """Retry after this many seconds."""

    seconds: float


class GiveUp(msgspec.Struct, frozen=True):
    """Do not retry."""

    why: str


def retryable(status: int | None, *, marked: bool | None) -> bool:
    """Return whether this failure may be temporary: as `marked` by the adapter, otherwise by its status."""
    return status in RETRYABLE if marked is None else marked


def why_final(status: int | None, model: str) -> str:
    """Return why a failure of a model is not retried, with the command that helps."""
    provider, slash, _ = model.partition("/")
    if status == UNAUTHORIZED and slash and ":" not in provider:
        return f"its key is missing or wrong: bridle auth login {provider}"
    return "this error does not pass by itself"


def asked_delay(headers: Mapping[str, str], now: float) -> float | None:
    """Return the delay in seconds that the provider asked for; None if it gave none that can be parsed."""
    fields = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(fields.get("retry-after-ms"))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    after = fields.get("retry-after")
    if after is None:
        return None
    seconds = _number(after)
    if seconds is not None:
        return max(0.0, seconds)
    # Imported only when a provider sends a date, because email.utils imports sockets.
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(after).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < float("inf") else None


def next_try(
    policy: RetryPolicy,
    *,
    failures: int,
    waited: float,
    headers: Mapping[str, str],
    now: float,
    chance: float,
) -> RetryAfter | GiveUp:
    """Return the decision after this many failures of one request; `chance` is a number from 0 to 1."""
    if failures > policy.retries:
        return GiveUp(f"gave up after {policy.retries} retries")
    asked = asked_delay(headers, now)
    if asked is not None and asked > policy.longest_wait:
        return GiveUp(f"asked to wait {asked:.0f} s, longer than retry.longest_wait ({policy.longest_wait:.0f} s)")
    delay = asked
    if delay is None:
        delay = min(policy.first_delay * 2 ** (failures - 1) + chance * policy.jitter, policy.longest_delay)
    delay = max(delay, policy.floor)
    if waited + delay > policy.total_seconds:
        return GiveUp(f"gave up after {policy.total_seconds:.0f} s of retries")
    return RetryAfter(delay)
