"""Work that a cancelled caller waits for."""

import asyncio

import pytest

from bridle.errors import JournalFailed
from bridle.seams import begin, uninterrupted


async def cancelled_during(work):
    """Cancel a task that waits for this work, let the work end, and return how the task ended."""
    goes_on = asyncio.Event()

    async def slow():
        await goes_on.wait()
        return await work()

    caller = begin(uninterrupted(slow()))
    await asyncio.sleep(0.01)
    caller.cancel()
    await asyncio.sleep(0.01)
    assert not caller.done()
    goes_on.set()
    await asyncio.wait([caller])
    return caller


async def answers():
    return 7


async def fails():
    raise JournalFailed("the disk is gone")


@pytest.mark.parametrize("work", [answers, fails])
def test_a_cancelled_caller_is_cancelled_however_the_work_ends(work):
    assert asyncio.run(cancelled_during(work)).cancelled()


def test_a_caller_reads_why_the_work_failed():
    with pytest.raises(JournalFailed, match="the disk is gone"):
        asyncio.run(uninterrupted(fails()))
