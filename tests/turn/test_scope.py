"""Effects in their scope: ended in time, left behind if they do not listen, and cancelled with whoever awaits them."""

import asyncio

import pytest
from support.virtual import run_virtually

from bridle.turn.scope import ABORTED, LATE, Scope


async def stubborn():
    """Does not listen, and comes back with something in the end."""
    try:
        await asyncio.sleep(1_000)
    except asyncio.CancelledError:
        await asyncio.sleep(50)
    return "after all"


async def yielding():
    """Is told to end, and has its result all the same."""
    try:
        await asyncio.sleep(1_000)
    except asyncio.CancelledError:
        return "just in time"


def outcome(work, seconds=None, abort_after=()):
    async def story(seams):
        scope = Scope()
        for after in abort_after:
            asyncio.get_running_loop().call_later(after, scope.abort)
        return await scope.run(work(), seconds), asyncio.get_running_loop().time() < 20

    return run_virtually(story)


def test_an_effect_ends_when_its_time_is_up_or_the_turn_is_aborted():
    assert outcome(lambda: asyncio.sleep(1_000), seconds=3) == (LATE, True)
    assert outcome(lambda: asyncio.sleep(1_000), abort_after=(3,)) == (ABORTED, True)
    assert outcome(lambda: asyncio.sleep(1, "result"), seconds=3) == ("result", True)


def test_who_does_not_listen_is_left_behind_and_the_first_reason_holds():
    assert outcome(stubborn, seconds=3, abort_after=(3.5, 4)) == (LATE, True)
    assert outcome(stubborn, abort_after=(3, 3.5)) == (ABORTED, True)


def test_a_result_that_comes_while_it_is_ended_counts():
    assert outcome(yielding, abort_after=(3,)) == ("just in time", True)


def test_after_an_abort_nothing_is_started():
    async def story(seams):
        scope = Scope()
        scope.abort()
        return await scope.run(never_started())

    async def never_started():
        raise AssertionError("it was started")

    assert run_virtually(story) == ABORTED


def test_whoever_is_cancelled_while_it_awaits_an_effect_takes_the_effect_with_it():
    ended = []

    async def work():
        try:
            await asyncio.sleep(1_000)
        finally:
            ended.append("the effect")

    async def story(seams):
        waiting = asyncio.get_running_loop().create_task(Scope().run(work(), 500))
        await asyncio.sleep(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await asyncio.sleep(0)

    run_virtually(story)
    assert ended == ["the effect"]
