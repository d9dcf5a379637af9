"""Detects and hides secrets in environment variables, text and settings: for commands, exports, reports and `repr`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

HIDDEN = "[hidden]"
TOKEN_VARIABLE = "BRIDLE_TOKEN"
"""The environment variable with the token for a server. Commands never get it."""
_SECRET = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^KEY$|SECRET|TOKEN|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|_PAT$|_PWD$|"
    r"_PASS$|^PASS$|_CREDS?$|_DSN$|WEBHOOK|_JWT$|_AUTH$|_KEY_BASE$|COOKIE|HEADERS$|^PG(PASSFILE|SERVICEFILE|SSLKEY)$",
    re.IGNORECASE,
)
_TOKEN_SHAPE = (
    r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{15,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|"
    r"AIza[\w-]{30,}|ya29\.[\w-]{20,}|npm_\w{30,}|pypi-[\w-]{30,}|hf_\w{20,}|[rs]k_live_\w{16,}|SG\.[\w.-]{16,}|"
    r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*|bridle_[0-9a-f]{40,})"
)
"""Tokens of well-known providers and of Bridle's servers, recognized by their prefixes."""
_SHAPED = re.compile(rf"-----BEGIN [A-Z ]*PRIVATE KEY|{_TOKEN_SHAPE}|://[^/\s:@]+:[^/\s@]+@")
_LOGIN = re.compile(
    # A password may contain a space; an ssh address with only a user name is no secret.
    r"""://[^/\s@]*:[^@\n]{0,4000}@|(?<!ssh)://[^\s"'<>]{0,4000}@|^\s*[\w.+%-]+:[^\s/@]+@[\w\[]|"""
    r"authorization\s*[:=]\s*\S|cookie:\s*\S|\bbearer\s+\S|^\s*basic\s+(?=\S*[\d=])[A-Za-z0-9+/]{8,}={0,2}\s*$",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(passw(?:or)?d|passphrase|pwd|secret|token|(?:api|account|access|private)[-_]?key)"
    r"""["']?\s*([=:])\s*["']?(\S)""",
    re.IGNORECASE,
)
_LISTS = re.compile(r"PATH$|_DIRS$|^(OLD)?PWD$|^HOME$|^LANG|^LC_|COLORS$|^PS\d$|^R?PROMPT", re.IGNORECASE)
"""Variables that hold paths, locales, colors or prompts, where `:` and `@` are harmless separators."""
_ADDRESSES = re.compile(
    r"(?<!no)(?<!no_)proxy$|_INDEX(_URL)?$|_FIND_LINKS$|_REGISTRY(_SERVER)?$|^npm_config_registry$|^OTEL_\w+_ENDPOINT$",
    re.IGNORECASE,
)
"""Variables with addresses of proxies, package indexes and collectors, which are useful without a login too."""
_GIT_PAIRS = re.compile(r"GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+)")
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"


def is_secret(name: str) -> bool:
    """Return whether a variable's name suggests that it holds a secret."""
    return _SECRET.search(name) is not None


def looks_secret(value: str) -> bool:
    """Return whether a value looks like a key, contains a login or assigns a secret, regardless of its name."""
    return bool(_SHAPED.search(value) or _LOGIN.search(value)) or any(
        not _is_harmless(value, found) for found in _GIVEN.finditer(value)
    )


def _is_harmless(value: str, found: re.Match[str]) -> bool:
    """Return whether a match is a path list (`/a/secret:/b`), a folder (`OLDPWD=/a`) or an expansion (`${PWD:0:9}`)."""
    name, sign, first = found.groups()
    before = value[: found.start()].rstrip(_WORD)
    if before.endswith(("$", "${")):
        return True
    return first in "/.~$" and (name == "PWD" or (sign == ":" and before.endswith("/")))


def without_secrets(
    environment: Mapping[str, str], *, known: Collection[str] = (), passes: Collection[str] = ()
) -> dict[str, str]:
    """Return the environment for a command, without variables that are `known`, named like or look like secrets.

    Variables in `passes` are always kept. Proxies and package indexes are kept without their logins.
    """
    found: dict[str, str] = {}
    for name, value in environment.items():
        if name in passes:
            found[name] = value
        elif name not in known and not is_secret(name):
            plain = _plain(name, value)
            if plain is not None:
                found[name] = plain
    pairs = {name for name in environment if _GIT_PAIRS.fullmatch(name)}
    if pairs <= found.keys():
        return found
    # Git fails if one of its numbered settings is missing.
    return {name: value for name, value in found.items() if name not in pairs or name in passes}


def _plain(name: str, value: str) -> str | None:
    if _ADDRESSES.search(name):
        return without_logins(value)
    if _LISTS.search(name):
        return None if _SHAPED.search(value) else value
    return None if looks_secret(value) else value


_PARTING = re.compile(r"""([\s,|\[\]"']+)""")
_ADDRESS = re.compile(r"(?:[\w.-]+=)?(?:[\w+.-]+:)?//[\w.*-]*(?::\d*)?(/.*)?")
_UNCLEAR = re.compile(r"[\\?;#]")
_TOKEN = re.compile(
    r"(?=[^/]*\d)(?=[^/]*[A-Za-z])[^/]{20,}|(?=[^/]*\d)(?=[^/]*[a-z])(?=[^/]*[A-Z])[A-Za-z0-9]{12,}|[A-Za-z0-9]{32,}"
)
_RANDOM = re.compile(r"(?=[A-Za-z]{0,40}\d)(?=\d{0,40}[A-Za-z])[A-Za-z0-9]{20,}")


def without_logins(value: str) -> str | None:
    """Return addresses, paths or plain words with logins removed; None if a secret may remain.

    It gives up when in doubt: a login with a space or a slash is indistinguishable from an address and its path.
    """
    pieces = _PARTING.split(value)
    alone = sum(map(bool, pieces[::2])) == 1
    found: list[str] = []
    for number, piece in enumerate(pieces):
        plain = piece if number % 2 else _without_login(piece, alone=alone)
        if plain is None:
            return None
        found.append(plain)
    text = "".join(found)
    return None if looks_secret(text) else text


def _without_login(piece: str, *, alone: bool) -> str | None:
    scheme, slashes, rest = piece.rpartition("//") if piece.count("//") == 1 else ("", "", piece)
    login, at, host = rest.rpartition("@")
    if not piece.isprintable() or _UNCLEAR.search(piece) or "/" in login or (at and not slashes and not alone):
        return None
    piece = scheme + slashes + host
    if "//" not in piece:
        return None if _RANDOM.search(piece) else piece
    address = _ADDRESS.fullmatch(piece)
    if address is None or "%" in piece:
        return None
    path = address[1] or ""
    # Tokens of conda channels follow a path segment `t`.
    return None if "/t/" in path or any(map(_TOKEN.fullmatch, path.split("/"))) else piece


_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_WHOLE = re.compile(_TOKEN_SHAPE)
_IN_ADDRESS = re.compile(r"(://[^/\s:@]+:)[^/\s@]+(?=@)")
_ASSIGNED = re.compile(r"""([\w.-]*)(["']?\s*[=:]\s*["']?)([^\s"',;&?]{4,})""")
_SENT = re.compile(
    r"""(authorization["']?\s*[=:]\s*["']?(?:\w+ +)?|\bbearer +(?=\S{0,99}\d|\S{16}))[^\s"',;]{4,}""", re.IGNORECASE
)
REDACTED = "[redacted]"


def redacted(text: str) -> str:
    """Return a text with secrets replaced; it removes too much rather than too little."""
    text = _KEY_BLOCK.sub(REDACTED, text)
    text = _WHOLE.sub(REDACTED, text)
    text = _IN_ADDRESS.sub(rf"\g<1>{REDACTED}", text)
    text = _SENT.sub(rf"\g<1>{REDACTED}", text)
    return _ASSIGNED.sub(_without_value, text)


def _without_value(found: re.Match[str]) -> str:
    """Replace a value assigned to a secret name, also in an assignment nested in the value."""
    name, sign, value = found.groups()
    if is_secret(name.replace("-", "_")):
        return f"{name}{sign}{REDACTED}"
    inner, equals, rest = value.partition("=")
    return f"{name}{sign}{inner}=" + (REDACTED if is_secret(inner) else rest) if equals else found[0]


def shown_fields(value: msgspec.Struct, private: Collection[str]) -> list[tuple[str, Any]]:
    """Return the fields of a struct that differ from their defaults; those that may hold secrets are hidden."""
    found: list[tuple[str, Any]] = []
    for field in msgspec.structs.fields(value):
        given = getattr(value, field.name)
        if given and given != field.default:
            found.append((field.name, _hidden(given) if field.name in private else given))
    return found


def shown(value: msgspec.Struct) -> str:
    """Return a struct for `repr`, as its `__rich_repr__` says."""
    fields = ", ".join(f"{name}={redacted(repr(given))}" for name, given in value.__rich_repr__())
    return f"{type(value).__name__}({fields})"


def _hidden(given: Any) -> Any:
    return dict.fromkeys(given, HIDDEN) if isinstance(given, Mapping) else HIDDEN
