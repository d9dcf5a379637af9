"""Parses web addresses into canonical form, and matches rule patterns by scheme, host, port, path; fetches nothing."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from bridle.core.rule_patterns import compiled

WEBFETCH, HOST = "webfetch", "host"
"""The permissions whose patterns are addresses and host names."""
PORTS = {"http": 80, "https": 443}
LONGEST_HOST = 253
THIS_MACHINE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")
"""Names and numbers of the local machine: a rule for one of them applies to all."""
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
ODD = re.compile(r"[\s\\\x00-\x20\x7f-\x9f\ud800-\udfff]")
"""Characters that some parsers drop and others keep."""
SHOWN = "/?:@!$&'()*+,;=%-._~[]|^{}\"<>`"
"""Characters of paths that are not escaped."""


class Address(NamedTuple):
    """The parts of an address that rules match."""

    scheme: str
    host: str
    port: int
    path: str
    """With the query, and never empty."""

    @property
    def place(self) -> str:
        """The host, with its port if that is not the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.place}{self.path}"


@lru_cache(maxsize=256)
def parsed(url: str) -> Address:
    """Return the parts of an address in canonical form; raises `ValueError` for anything but a plain web address."""
    if ODD.search(url):
        raise ValueError("an address with characters that are read in several ways")
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in PORTS or "@" in parts.netloc:
        raise ValueError("no web address, or one with a user in it")
    found = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]+)(?::([0-9]*))?", parts.netloc)
    if found is None:
        raise ValueError("no host")
    port = int(found[2]) if found[2] else PORTS[scheme]
    if not 0 < port < 65_536:
        raise ValueError("no port")
    query = f"?{_escaped(parts.query)}" if parts.query else ""
    return Address(scheme, host_of(found[1]), port, _without_dots(_escaped(parts.path)) + query)


def canonical(url: str) -> str:
    """Return the canonical spelling of an address; raises `ValueError` as `parsed` does."""
    return parsed(url).url


def host_of(text: str) -> str:
    """Return a host in canonical form: lower case, ASCII, numbers as four decimals; raises `ValueError`."""
    if text.startswith("["):
        number = ipaddress.IPv6Address(text[1:-1])
        if number.scope_id:
            raise ValueError("an address with a zone")
        return str(number.ipv4_mapped or number)
    host = unicodedata.normalize("NFKC", text).lower().removesuffix(".") if len(text) <= 4 * LONGEST_HOST else text
    if len(host) > LONGEST_HOST:
        raise ValueError("a host that is too long")
    if not host.isascii():
        host = host.encode("idna").decode("ascii").lower()
    if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", host):
        raise ValueError("no host")
    return _number(host) if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", host.rpartition(".")[2]) else host


def _number(host: str) -> str:
    """Return an IPv4 address from any spelling that resolvers accept: omitted parts, octal, hexadecimal."""
    labels = host.split(".")
    values = [_part(label) for label in labels]
    *before, last = values
    if len(values) > 4 or any(value > 255 for value in before) or last >= 256 ** (5 - len(values)):
        raise ValueError("no number of a host")
    whole = last + sum(value << (24 - 8 * place) for place, value in enumerate(before))
    return str(ipaddress.IPv4Address(whole))


def _part(label: str) -> int:
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _escaped(text: str) -> str:
    """Return percent-encoding in one form: letters plain, everything else in capitals."""
    whole = quote(text, safe=SHOWN)
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: _plain(found[1]), whole)


def _plain(code: str) -> str:
    letter = chr(int(code, 16))
    return letter if UNRESERVED.fullmatch(letter) else f"%{code.upper()}"


def _without_dots(path: str) -> str:
    """Return a path with `.` and `..` resolved."""
    kept: list[str] = []
    segments = path.split("/")[1:] or [""]
    for place, segment in enumerate(segments):
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
        if segment in (".", "..") and place == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def address_fits(pattern: str, url: str) -> bool:
    """Return whether a pattern matches an address: a star never crosses from one part into the next."""
    if pattern == "*":
        return True
    try:
        address = parsed(url)
    except ValueError:
        return False
    scheme, host, port, path = _wanted(pattern)
    return (
        _fits(scheme, address.scheme)
        and any(_fits(host, name) for name in _names_of(address.host))
        and (_fits(port, str(address.port)) if port else address.port == PORTS[address.scheme])
        and _fits(path, address.path)
    )


def host_fits(pattern: str, place: str) -> bool:
    """Return whether a pattern matches a host with or without its port; a star in the name does not match a port."""
    if pattern == "*":
        return True
    host, port = _place(pattern)
    name, _, number = place.partition(":")
    return any(_fits(host, each) for each in _names_of(name)) and (
        _fits(port, number) if port and number else port == number
    )


def _names_of(host: str) -> tuple[str, ...]:
    """Return all names of a host's machine that are known without a lookup."""
    here = host in THIS_MACHINE or host.endswith(".localhost") or re.fullmatch(r"127(\.[0-9]+){3}", host)
    return (host, *THIS_MACHINE) if here else (host,)


@lru_cache(maxsize=1024)
def _wanted(pattern: str) -> tuple[str, str, str, str]:
    """Return scheme, host, port and path of a pattern; each is matched separately, and no port means the default."""
    scheme, found, rest = pattern.partition("://")
    if not found:
        scheme, rest = "*", pattern
    place, slash, path = rest.partition("/")
    host, port = _place(place)
    return scheme.lower(), host, port, _escaped(f"/{path}") if slash else "*"


def _place(text: str) -> tuple[str, str]:
    """Return the host of a pattern, in canonical form unless it has wildcards, and its port."""
    found = re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9*?]+))?", text)
    host, port = (found[1], found[2] or "") if found is not None else (text, "")
    try:
        host = host_of(host)
    except ValueError:
        # A host with wildcards, or one that no address has.
        host = host.lower().removesuffix(".")
    return host, port.lstrip("0") or port


def _fits(pattern: str, text: str) -> bool:
    return compiled(pattern).fullmatch(text) is not None
