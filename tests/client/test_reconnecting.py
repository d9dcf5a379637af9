"""A client survives the death of its server in mid-answer: nothing is lost, doubled or out of order."""

import asyncio
from contextlib import aclosing

import pytest
from support.cli_home import calls

from bridle import AccessRefused, ServerAway
from bridle.client import connect
from bridle.client.record_stream import KnownText
from bridle.core.events import Entry, PartDelta, PartGrown, PartPut
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Text, TurnFinish
from bridle.errors import AlreadyAnswered, ConfigError, JournalError

SECONDS = 120
LONG = " ".join(f"word{number}" for number in range(60))


async def restarted(home, before):
    """Kill a server, and start another one at its port."""
    await asyncio.to_thread(before.kill)
    return await asyncio.to_thread(home.serve, "--port", str(before.port))


def ends(seen):
    return [event for event in seen if isinstance(event, Entry) for put in event.events if is_end(put)]


def is_end(event):
    return isinstance(event, PartPut) and isinstance(event.part, TurnFinish)


def test_a_killed_server_is_followed_across_its_restart(served):
    server = served.serve()
    model = served.home.script({"text": LONG, "chunk": 8, "pace": 0.04}, name="slow.json")

    async def story():
        async with asyncio.timeout(SECONDS), connect(server.url, token=served.token) as client:
            changes = []
            client.on_connection(changes.append)
            session = await client.create()
            prompt = await client.prompt(session, "Go", options=TurnOptions(model=model, on_ask="pause"))
            waiting = asyncio.create_task(client.wait(session, prompt))
            seen = []
            async with aclosing(client.follow(session)) as following:
                async for event in following:
                    seen.append(event)
                    if isinstance(event, PartDelta) and len(seen) > 12 and not changes and len(served.servers) == 1:
                        await restarted(served, server)
                    if ends([event]):
                        break
            result = await waiting
            assert (result.reason, result.text) == ("answered", LONG)
            entries = [event for event in seen if isinstance(event, Entry)]
            assert entries == (await client.entries(session))[: len(entries)]
            assert changes[:2] == [False, True]
            # Text that was shown fits together, of each try by itself.
            for part in {event.part for event in seen if isinstance(event, PartDelta)}:
                assert gaps(seen, part) == []
            # A request that is open while the server is away is answered by the next one.
            listing = asyncio.create_task(client.sessions())
            assert session in [row.info.id for row in await listing]

    asyncio.run(story())


def gaps(seen, part):
    """The deltas of a part that do not fit what was known before them."""
    known, found = 0, []
    for event in seen:
        if isinstance(event, PartDelta) and event.part == part:
            if event.offset > known:
                found.append((known, event))
            known = max(known, event.offset + len(event.text))
        elif isinstance(event, Entry):
            for each in event.events:
                if isinstance(each, PartPut) and each.part.id == part and isinstance(each.part, Text):
                    known = max(known, len(each.part.text))
                if isinstance(each, PartGrown) and each.id == part:
                    known = max(known, each.offset + len(each.text))
    return found


def test_deltas_that_do_not_fit_are_dropped():
    def entry(*events):
        return Entry(1, 0.0, 0.0, events)

    def delta(offset, text, kind="text"):
        return PartDelta("1.t", offset, text, kind)

    known = KnownText()
    known.take(entry(PartPut(Text("1.t", "one"))))
    assert known.fits(delta(3, " two"))
    assert not known.fits(delta(12, " four")), "three was missed"
    assert not known.fits(delta(3, " two")), "known already"
    known.take(entry(PartGrown("1.t", 7, " three")))
    assert known.fits(delta(13, " four"))
    assert known.fits(delta(90, "output", "output")), "output may have gaps"
    assert not KnownText().fits(delta(3, " two")), "its beginning came while the server was away"


def test_a_server_that_never_comes_back_is_told(served):
    server = served.serve()

    async def story():
        async with connect(server.url, token=served.token, patience=0.3) as client:
            session = await client.create()
            await asyncio.to_thread(server.kill)
            for asked in (client.load(session), client.fork(session), anext(client.follow(session))):
                with pytest.raises(ServerAway, match="cannot be reached"):
                    await asked
        with pytest.raises(ServerAway, match="is `bridle serve` running there"):
            async with connect(server.url, token=served.token):
                raise AssertionError

    asyncio.run(story())


def test_tokens_rights_and_addresses_are_checked(shared):
    url = shared.servers[0].url
    view = shared.new_token("wall", "--view")

    async def refused(error, match, url=url, **more):
        with pytest.raises(error, match=match):
            async with connect(url, **more):
                raise AssertionError

    async def story():
        await refused(ConfigError, "a valid token is needed", token="bridle_wrong")
        await refused(JournalError, "cannot be reached", "http://localhost:1", token="x")
        await refused(ConfigError, "in the clear", "http://example.org", token="x")
        await refused(ConfigError, "seen by others", "http://user:secret@localhost:4096")
        await refused(ConfigError, "is not the address", "ftp://localhost")
        await refused(ConfigError, "no server of yours", "unix:/tmp/none.sock")
        with pytest.raises(AccessRefused, match="not a directory that this server offers"):
            async with connect(url, token=shared.token, directory="/"):
                raise AssertionError
        async with connect(url, token=view) as client:
            assert client.server.right == "view"
            assert await client.sessions() == await client.sessions()
            with pytest.raises(AccessRefused, match="may only view"):
                await client.create()
        async with connect(url, token=shared.token) as client:
            session = await client.create()
            # The journal is not the one that this reader knows.
            with pytest.raises(ConfigError, match="none with the number 9"):
                await anext(client.follow(session, 9))

    asyncio.run(story())


def test_the_second_of_two_answers_learns_which_one_holds(shared):
    model = shared.home.script(
        calls(("bash", {"command": "echo a > b", "description": "Do"})), "Done.", name="two.json"
    )

    async def story():
        url, token = shared.servers[0].url, shared.token
        async with connect(url, token=token) as one, connect(url, token=token) as other:
            session = await one.create()
            options = TurnOptions(model=model, on_ask="pause")
            result = await one.wait(session, await one.prompt(session, "Go", options=options))
            (ask,) = result.asks
            await one.answer(session, ask.id, "reject", "not now")
            # The same answer again is the repetition of a request whose answer was lost.
            await one.answer(session, ask.id, "reject", "not now")
            with pytest.raises(AlreadyAnswered, match="reject: not now"):
                await other.answer(session, ask.id, "once")

    asyncio.run(story())
