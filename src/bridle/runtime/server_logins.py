"""`ServerLogins`: makes, checks and revokes the tokens of a server, and the codes and pages that log in with them."""

from __future__ import annotations

import re

from bridle.core.access import Grant, GrantKind, PageSecrets, Right, digest_of
from bridle.errors import ConfigError
from bridle.journal.server_records import ServerRecords
from bridle.seams import Clock, unguessable_key

CODE_SECONDS = 120.0
PAGE_SECONDS = 30 * 86_400.0
TOKEN_PREFIX = "bridle_"
"""The prefix of tokens, by which scanners for secrets recognize them."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LOCAL = "local"
"""The name of clients on the local socket."""


class ServerLogins:
    """The rights of clients at one place. Methods raise `JournalError`."""

    def __init__(self, records: ServerRecords, place: str, clock: Clock) -> None:
        self._records = records
        self._place = place
        self._clock = clock

    async def new_token(self, name: str, right: Right) -> str:
        """Return a new token; raises `ConfigError` if its name is invalid or taken."""
        if not NAME.fullmatch(name) or name == LOCAL:
            raise ConfigError(f"a token's name is of letters, digits, `.`, `_` and `-`, and not `{LOCAL}`: {name!r}")
        if any(grant.name == name for grant in await self.tokens()):
            raise ConfigError(f"there is a token {name} already: revoke it first, or choose another name")
        secret = f"{TOKEN_PREFIX}{unguessable_key()}"
        await self._add(secret, name, "token", right)
        return secret

    async def tokens(self) -> list[Grant]:
        """Return the tokens of this place, by name."""
        return [grant for grant in await self._records.grants(self._place) if grant.kind == "token"]

    async def revoke(self, name: str) -> int:
        """Revoke a token with the pages that it has logged in; return how many grants ended."""
        return len(await self._records.revoke(name, self._place))

    async def token(self, secret: str) -> Grant | None:
        """Return the grant of a token; None if it is unknown, revoked or of another place."""
        return await self._valid(digest_of(secret), "token")

    async def page(self, cookie: str, header: str) -> Grant | None:
        """Return the grant of a page by both of its secrets."""
        return await self._valid(digest_of(f"{cookie} {header}"), "page")

    async def holds(self, digest: str) -> bool:
        """Return whether a token or a page is still valid."""
        return await self._found(digest) is not None

    async def new_code(self, name: str, right: Right, maker: str = "") -> str:
        """Return a code with which a page logs in once, within two minutes, with this name and right.

        `maker` is the digest of the token or page that asks for it; an empty one is the local socket.
        """
        await self._clear()
        code = unguessable_key()
        made = await self._records.find(maker) if maker else None
        await self._add(code, name, "code", right, seconds=CODE_SECONDS, maker=(made and made.maker) or maker)
        return code

    async def exchange(self, code: str) -> PageSecrets | None:
        """Return the secrets of a page for a code, which is used up; None for an invalid one."""
        digest = digest_of(code)
        if await self._valid(digest, "code") is None:
            return None
        # Of two pages with the same code, one gets it.
        grant = await self._records.take(digest)
        if grant is None:
            return None
        secrets = PageSecrets(unguessable_key(), unguessable_key(), grant.right)
        secret = f"{secrets.cookie} {secrets.header}"
        await self._add(secret, grant.name, "page", grant.right, seconds=PAGE_SECONDS, maker=grant.maker)
        return secrets

    async def _valid(self, digest: str, kind: GrantKind) -> Grant | None:
        grant = await self._found(digest)
        return grant if grant is not None and grant.kind == kind else None

    async def _found(self, digest: str) -> Grant | None:
        """Return a grant if it and its maker are valid: one made while its token was being revoked is not."""
        now = self._clock.wall()
        grant = await self._records.find(digest)
        if grant is None or not grant.holds(self._place, now):
            return None
        maker = await self._records.find(grant.maker) if grant.maker else grant
        return grant if maker is not None and maker.holds(self._place, now) else None

    async def _add(
        self, secret: str, name: str, kind: GrantKind, right: Right, *, seconds: float = 0.0, maker: str = ""
    ) -> None:
        now = self._clock.wall()
        grant = Grant(
            digest=digest_of(secret),
            name=name,
            kind=kind,
            right=right,
            place=self._place,
            created=now,
            expires=now + seconds if seconds else 0.0,
            maker=maker,
        )
        await self._records.add(grant)

    async def _clear(self) -> None:
        """Delete expired codes and pages."""
        now = self._clock.wall()
        for grant in await self._records.grants(self._place):
            if not grant.holds(self._place, now):
                await self._records.take(grant.digest)
