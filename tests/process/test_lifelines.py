"""Commands that depend on a lease end when the process that holds it signals no more, and run on while it does."""

import asyncio
import os
from contextlib import suppress

import pytest

from bridle.process.lifelines import BYTES, Lifelines
from bridle.process.output_stream import OutputStream
from bridle.seams import SystemClock, in_thread

NOW = SystemClock().since_boot
LONG = 600.0
BEGUN = "echo begun; "


async def output_of(line, folder, lifelines):
    """What a command prints until it ends by itself or for want of signals, and its exit status."""
    stream = OutputStream(["/bin/sh", "-c", line], folder=folder, lifelines=lifelines)
    said = []
    status = await asyncio.wait_for(stream.run(said.append), 60)
    return "".join(said), status


def played(line, folder, lifelines):
    return asyncio.run(output_of(line, folder, lifelines))


def test_a_command_ends_when_no_signal_moves_its_end(tmp_path):
    end = NOW() + 2
    silent = Lifelines(lambda: end, LONG)
    assert played(f"{BEGUN} (setsid sleep {LONG} &); sleep {LONG}", tmp_path, silent) == ("begun\n", 137)


def test_a_command_runs_on_while_signals_move_its_end(tmp_path):
    moments = iter([NOW() + 3])
    signalled = Lifelines(lambda: next(moments, NOW() + LONG), 0.05)
    assert played("sleep 3.5; echo done", tmp_path, signalled) == ("done\n", 0)


def test_a_signal_may_end_a_command_before_its_time(tmp_path):
    moments = iter([NOW() + LONG])
    signalled = Lifelines(lambda: next(moments, NOW()), 0.05)
    # It may come before the command has started.
    assert played(f"sleep {LONG}", tmp_path, signalled)[1] in (127, 137)


@pytest.mark.parametrize("left", [0.0, -LONG])
def test_a_command_whose_time_is_over_before_it_starts_does_nothing(left, tmp_path):
    end = NOW() + left
    assert played("touch there", tmp_path, Lifelines(lambda: end, LONG)) == ("", 127)
    assert list(tmp_path.iterdir()) == []


def test_pipes_that_are_full_or_broken_hold_up_no_signal_of_others(tmp_path):
    async def story():
        full, broken, sound = os.pipe(), os.pipe(), os.pipe()
        os.close(broken[0])
        lifelines = Lifelines(lambda: NOW() + LONG, 0.001)
        for _, handle in (full, broken, sound):
            lifelines.add(handle)
        with suppress(BlockingIOError):
            while True:
                os.write(full[1], bytes(4096))
        for _ in range(3):
            assert len(await asyncio.wait_for(in_thread(lambda: os.read(sound[0], BYTES)), 60)) == BYTES
        for _, handle in (full, broken, sound):
            lifelines.remove(handle)
        assert lifelines._task is None
        for handle in (*full, broken[1], *sound):
            os.close(handle)

    asyncio.run(story())
