"""Live deltas between processes: who gets them, how they are gathered, and what is dropped."""

import asyncio
import zlib
from base64 import b64encode

import pytest
from support.postgres import new_schema, server_url

from bridle.core.events import PartDelta
from bridle.journal.postgres import PostgresJournal
from bridle.journal.postgres_deltas import MOST_BYTES, announcements, packed, unpacked

PATIENT = 60.0


class Process:
    """A journal as another process has it, what it sends as deltas, and what it hears."""

    def __init__(self, schema):
        self.journal = PostgresJournal(server_url(), schema=schema)
        self.sent, self.heard = [], []
        notify = self.journal.deltas._notify

        async def counted(channel, payload):
            self.sent += [payload] if channel.endswith("_deltas") else []
            await notify(channel, payload)

        self.journal.deltas._notify = counted

    async def listening(self):
        await self.journal.sessions()
        self.journal._changes.begin()
        while not self.journal._changes.hears:
            await asyncio.sleep(0.01)

    async def known(self, session):
        while session not in self.journal.deltas._followed:
            await asyncio.sleep(0.01)


def played(story):
    async def whole():
        schema = new_schema()
        there = [Process(schema) for _ in range(3)]
        try:
            for each in there:
                await each.listening()
            await asyncio.wait_for(story(*there), PATIENT)
        finally:
            for each in there:
                await each.journal.close()

    asyncio.run(whole())


def text(part, offset, words):
    return PartDelta(part, offset, words, "text")


def test_deltas_reach_the_process_that_follows_gathered_and_in_order():
    async def story(driver, follower, other):
        assert not driver.journal.deltas._followed
        with (
            follower.journal.deltas.hear("ses_a", follower.heard.append),
            other.journal.deltas.hear("ses_b", other.heard.append),
        ):
            await driver.known("ses_a")
            driver.journal.deltas.send("ses_a", PartDelta("c", 0, "", "arguments", "write"))
            for at, word in enumerate(["one ", "two ", "six "]):
                driver.journal.deltas.send("ses_a", text("p", at * 4, word))
                driver.journal.deltas.send("ses_a", PartDelta("q", at * 4, word, "output"))
            driver.journal.deltas.send("ses_a", text("p", 40, "after a gap"))
            while len(follower.heard) < 3:
                await asyncio.sleep(0.01)
        assert sorted(follower.heard, key=lambda delta: delta.part) == [
            PartDelta("c", 0, "", "arguments", "write"),
            text("p", 0, "one two six "),
            PartDelta("q", 0, "one two six ", "output"),
        ]
        assert (len(driver.sent), other.heard) == (1, [])

    played(story)


def test_a_session_without_followers_elsewhere_sends_nothing():
    async def story(driver, follower, other):
        with driver.journal.deltas.hear("ses_a", driver.heard.append):
            with follower.journal.deltas.hear("ses_b", follower.heard.append):
                await driver.known("ses_b")
            await follower.known("ses_a")
            with follower.journal.deltas.hear("ses_c", follower.heard.append):
                # Notifications come in order: its own have come as well.
                await driver.known("ses_c")
            driver.journal.deltas.send("ses_a", text("p", 0, "mine"))
            follower.journal.deltas.send("ses_a", text("p", 0, "yours"))
            while not driver.heard:
                await asyncio.sleep(0.01)
        assert (driver.sent, driver.heard) == ([], [text("p", 0, "yours")])

    played(story)


def test_a_process_that_begins_to_listen_late_learns_who_follows():
    async def story(driver, follower, other):
        with follower.journal.deltas.hear("ses_a", follower.heard.append):
            await driver.known("ses_a")
            late = Process(driver.journal.server.schema)
            try:
                await late.listening()
                await late.known("ses_a")
            finally:
                await late.journal.close()

    played(story)


def test_a_notification_that_cannot_be_read_is_dropped_and_the_next_one_arrives():
    async def story(driver, follower, other):
        with follower.journal.deltas.hear("ses_a", follower.heard.append):
            await driver.known("ses_a")
            for junk in ("", "x", "x !", "x aGk=", f"x {packed('x', [])}"):
                await driver.journal.deltas._notify(f"{driver.journal.server.schema}_deltas", junk)
            driver.journal.deltas.send("ses_a", text("p", 0, "good"))
            while not follower.heard:
                await asyncio.sleep(0.01)
        assert follower.heard == [text("p", 0, "good")]

    played(story)


def test_what_is_too_long_is_dropped_and_leaves_the_rest():
    """Nothing compresses these letters, and PostgreSQL refuses more than 8,000 bytes."""
    flood = "".join(chr(0x4E00 + (n * 7919) % 20_000) for n in range(6_000))

    async def story(driver, follower, other):
        with follower.journal.deltas.hear("ses_a", follower.heard.append):
            await driver.known("ses_a")
            driver.journal.deltas.send("ses_a", PartDelta("q", 0, flood, "output"))
            driver.journal.deltas.send("ses_a", text("p", 0, "small"))
            while not follower.heard:
                await asyncio.sleep(0.01)
            driver.journal.deltas.send("ses_a", PartDelta("q", len(flood), "more", "output"))
            while len(follower.heard) < 2:
                await asyncio.sleep(0.01)
        assert follower.heard == [text("p", 0, "small"), PartDelta("q", len(flood), "more", "output")]
        assert all(len(payload) < MOST_BYTES for payload in driver.sent)

    played(story)


@pytest.mark.parametrize("number", [1, 300, 2_000])
def test_any_number_of_sessions_is_announced_whole(number):
    sessions = [f"ses_{n:026}" for n in range(number)]
    found = [*announcements("me", sessions)]
    assert all(len(words) < MOST_BYTES for words in found)
    assert [word for words in found for word in words.split()[1:]] == sessions


def test_a_notification_does_not_unpack_to_any_size():
    """A bomb of another program on the same server fills no memory."""
    bomb = b64encode(zlib.compress(b"[" + b" " * 50_000_000 + b"]")).decode()
    with pytest.raises(ValueError, match="truncated"):
        unpacked(bomb)
