"""`Grant`: the rights of a client of the server, as stored under the digest of its secret."""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

Right = Literal["view", "drive"]
"""`view` reads; `drive` also submits and changes."""
GrantKind = Literal["token", "code", "page"]
"""A token that a person made, a code that logs a page in once, or a page that is logged in."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The rights of one client, valid at one place."""

    digest: str
    """SHA-256 of the secret; the secret itself is not stored."""
    name: str
    """The name of the token; codes and pages have that of the client that made them."""
    kind: GrantKind
    right: Right
    place: str
    created: float
    expires: float = 0.0
    """Wall time of the end; 0 means none."""
    maker: str = ""
    """Digest of the token that a code or a page comes from, and ends with; empty if the local socket made it."""

    def holds(self, place: str, now: float) -> bool:
        """Return whether the grant is valid at a place and a time."""
        return self.place == place and (not self.expires or now < self.expires)


class PageSecrets(msgspec.Struct, frozen=True):
    """What a page gets for its code: the value of a cookie, and of a header that it keeps."""

    cookie: str
    header: str
    right: Right


def digest_of(secret: str) -> str:
    """Return the digest under which a grant is stored. Secrets are random, so that a plain hash suffices."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def may(right: Right, needed: Right) -> bool:
    """Return whether a right includes the needed one."""
    return right in ("drive", needed)
