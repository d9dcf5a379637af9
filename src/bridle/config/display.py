"""Formats a setting's value as text with secrets hidden, for the settings list and the trust question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from bridle.values.secrets import HIDDEN, is_secret, redacted
from bridle.workspace.substitution import PLACE


def value_in_words(key: str, value: Any) -> str:
    """Return a setting's value as JSON; a value whose key names a secret is hidden."""
    private = any(part in key for part in (".headers.", ".environment.")) or key.endswith((".key", ".client_secret"))
    if isinstance(value, str) and value and (private or is_secret(key.rpartition(".")[2])):
        return "".join(place[0] for place in PLACE.finditer(value)) or HIDDEN
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        value = without_secret_words(value)
    # JSON has no dates, so a TOML date is shown as a string.
    return redacted(msgspec.json.encode(value, enc_hook=str).decode())


def without_secret_words(words: Sequence[str]) -> list[str]:
    """Return the words of a command with the values of flags like --token hidden."""
    flags = ["", *words]
    secret = [is_secret(flag.lstrip("-").replace("-", "_")) and flag.startswith("-") for flag in flags]
    return [HIDDEN if hidden else each for hidden, each in zip(secret, words, strict=False)]
