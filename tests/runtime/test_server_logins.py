"""Tokens, codes and pages of a server: what a secret gives, where and how long, and what is stored of it."""

import asyncio
import sqlite3
from dataclasses import dataclass

import pytest

from bridle.errors import ConfigError
from bridle.journal.server_records import MemoryRecords, server_records
from bridle.journal.sqlite import SqliteJournal
from bridle.runtime.server_logins import CODE_SECONDS, PAGE_SECONDS, ServerLogins


@dataclass
class Hand:
    """A clock that is set by hand."""

    now: float = 1_000_000.0

    def wall(self):
        return self.now


def logins(place="here", records=None, clock=None):
    return ServerLogins(records if records is not None else MemoryRecords(), place, clock or Hand())


def run(story):
    asyncio.run(story())


def test_a_code_works_once_within_two_minutes_with_the_right_of_its_maker():
    async def story():
        clock = Hand()
        known = logins(clock=clock)
        code = await known.new_code("ann", "view")
        page = await known.exchange(code)
        assert page is not None and page.right == "view"
        assert await known.exchange(code) is None
        late = await known.new_code("ann", "drive")
        clock.now += CODE_SECONDS
        assert await known.exchange(late) is None
        clock.now += PAGE_SECONDS
        assert await known.page(page.cookie, page.header) is None

    run(story)


def test_of_two_pages_with_one_code_one_gets_in():
    async def story():
        known = logins()
        code = await known.new_code("ann", "drive")
        found = await asyncio.gather(*(known.exchange(code) for _ in range(10)))
        assert sum(page is not None for page in found) == 1

    run(story)


def test_a_secret_counts_as_what_it_is():
    async def story():
        known = logins()
        token, code = await known.new_token("ann", "drive"), await known.new_code("ann", "drive")
        page = await known.exchange(await known.new_code("ann", "drive"))
        assert await known.token(token) is not None
        for other in (code, page.cookie, page.header, f"{page.cookie} {page.header}", "", token[:-1], token + " "):
            assert await known.token(other) is None
        assert await known.exchange(token) is None
        assert await known.page(page.header, page.cookie) is None
        assert await known.page("", f"{page.cookie} {page.header}") is None

    run(story)


def test_what_a_token_has_made_ends_with_it_also_when_it_was_made_meanwhile():
    async def story():
        known = logins()
        token = await known.new_token("ann", "drive")
        client = await known.token(token)
        page = await known.exchange(await known.new_code("ann", "drive", client.digest))
        below = await known.page(page.cookie, page.header)
        of_page = await known.exchange(await known.new_code("ann", "drive", below.digest))
        assert await known.holds(below.digest)
        assert await known.revoke("ann") == 3
        # Requests that were admitted before go on: what they make counts no more.
        for maker in (client.digest, below.digest):
            assert await known.exchange(await known.new_code("ann", "drive", maker)) is None
        # A new token of the same name does not revive them.
        await known.new_token("ann", "drive")
        late = await known.new_code("ann", "drive", client.digest)
        assert await known.exchange(late) is None
        assert await known.page(of_page.cookie, of_page.header) is None
        assert not await known.holds(below.digest)

    run(story)


def test_a_token_is_of_one_place_and_one_name():
    async def story():
        records = MemoryRecords()
        here, there = logins("here", records), logins("there", records)
        token = await here.new_token("ann", "drive")
        assert await there.token(token) is None
        assert await there.tokens() == []
        assert await there.revoke("ann") == 0
        with pytest.raises(ConfigError, match="already"):
            await here.new_token("ann", "view")
        for wrong in ("", "local", "a b", "-a", "a" * 65, "ä"):
            with pytest.raises(ConfigError):
                await here.new_token(wrong, "drive")
        assert await there.new_token("ann", "drive") != token

    run(story)


def test_the_database_has_no_secret_in_it(tmp_path):
    async def story():
        journal = SqliteJournal(tmp_path / "journal.db")
        known = logins(records=server_records(journal))
        token, code = await known.new_token("ann", "drive"), await known.new_code("ann", "drive")
        page = await known.exchange(await known.new_code("ann", "drive"))
        await journal.close()
        with sqlite3.connect(tmp_path / "journal.db") as database:
            dump = "\n".join(database.iterdump())
        database.close()
        for secret in (token, code, page.cookie, page.header):
            assert secret not in dump
            assert secret.encode().hex() not in dump.lower()

    run(story)
