"""Which variables of an environment are secret: commands that a model runs do not get them unasked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^KEY$|SECRET|TOKEN|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|_PAT$|_PWD$|"
    r"_PASS$|^PASS$|_CREDS?$|_DSN$|WEBHOOK|_JWT$|_AUTH$|_KEY_BASE$|COOKIE",
    re.IGNORECASE,
)
_SHAPED = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(gh[pousr]_\w{20}|github_pat_\w{20}|glpat-[\w-]{15}|sk-[\w-]{20}|"
    r"xox[abprs]-[\w-]{10}|AKIA[0-9A-Z]{16}|AIza[\w-]{30}|ya29\.[\w-]{20}|npm_\w{30}|pypi-[\w-]{30}|hf_\w{20}|[rs]k_live_\w{16}|"
    r"SG\.[\w-]{16}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)|://[^/\s:@]+:[^/\s@]+@"
)


def is_secret(name: str) -> bool:
    """Whether a variable is called like one that holds something secret."""
    return _SECRET.search(name) is not None


def looks_secret(value: str) -> bool:
    """Whether a value has the shape of a key, or is an address with a password in it, whatever it is called."""
    return _SHAPED.search(value) is not None


def without_secrets(
    environment: Mapping[str, str], *, known: Collection[str] = (), passes: Collection[str] = ()
) -> dict[str, str]:
    """The environment for a command: without what is called or looks secret, or is `known` to be; but `passes` does."""
    return {
        name: value
        for name, value in environment.items()
        if name in passes or not (name in known or is_secret(name) or looks_secret(value))
    }


_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_WHOLE = re.compile(
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|"
    r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|npm_\w{30,}|pypi-[\w-]{30,}|hf_\w{20,}|[rs]k_live_\w{16,}|SG\.[\w.-]{16,}|"
    r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*)"
)
_IN_ADDRESS = re.compile(r"(://[^/\s:@]+:)[^/\s@]+(?=@)")
_ASSIGNED = re.compile(r"""([\w.-]*)(["']?\s*[=:]\s*["']?)([^\s"',;&?]{4,})""")
REDACTED = "[redacted]"


def redacted(text: str) -> str:
    """A text without what is called or looks secret in it; it may take away too much, so that it takes enough."""
    text = _KEY_BLOCK.sub(REDACTED, text)
    text = _WHOLE.sub(REDACTED, text)
    text = _IN_ADDRESS.sub(rf"\g<1>{REDACTED}", text)
    return _ASSIGNED.sub(_without_value, text)


def _without_value(found: re.Match[str]) -> str:
    """What is assigned to a secret name goes; in what is assigned to another there may be an assignment again."""
    name, sign, value = found.groups()
    if is_secret(name):
        return f"{name}{sign}{REDACTED}"
    inner, equals, rest = value.partition("=")
    return f"{name}{sign}{inner}=" + (REDACTED if is_secret(inner) else rest) if equals else found[0]
