"""Answers that a program's check refuses, and answers that are due when a limit is reached."""

import asyncio
import logging
import subprocess
import sys

from bridle import Agent, Retry, ScriptedModel, call
from bridle.core.messages import UserMessage
from bridle.core.parts import OUTPUT, Call
from bridle.core.states import Refused
from bridle.journal.memory import MemoryJournal


def numbers(request):
    """Another number in every step."""
    return call(OUTPUT, value=len(request.messages))


def test_a_check_is_asked_within_the_step_limit_and_not_less_often():
    seen = []

    def never(number: int) -> int:
        seen.append(number)
        raise Retry(f"{number} is not it")

    result = Agent(model=ScriptedModel(numbers), output=int, check=never, steps=9).run_sync("Guess.")
    assert (result.reason, result.steps, len(seen)) == ("step_cap", 9, 9)


def test_an_error_in_a_check_is_logged_with_its_traceback(caplog):
    def broken(number: int) -> int:
        return number // 0

    with caplog.at_level(logging.WARNING):
        Agent(model=ScriptedModel(numbers), output=int, check=broken, steps=2).run_sync("Guess.")
    assert "ZeroDivisionError" in caplog.text


def test_a_check_whose_process_ends_refuses_nothing():
    journal = MemoryJournal()

    async def leave():
        asking = asyncio.Event()

        async def slow(number: int) -> int:
            asking.set()
            await asyncio.sleep(600)
            return number

        agent = Agent(model=ScriptedModel(numbers), output=int, check=slow, journal=journal)
        async with agent.runtime() as runtime:
            await runtime.create("one")
            await runtime.prompt("one", "Guess.", options=agent.turn_options)
            await asking.wait()
            # The loop ends as in a process that is told to stop: every task is cancelled.
            drives = [task for task in asyncio.all_tasks() if "LocalEngine" in repr(task.get_coro())]
            assert drives
            for drive in drives:
                drive.cancel()
            await asyncio.wait(drives)
            return await runtime.load("one")

    state = asyncio.run(leave())
    assert state.running is not None
    assert [part for part in state.parts.values() if isinstance(part, Call) and isinstance(part.state, Refused)] == []


def test_the_closing_instruction_asks_for_the_answer_in_its_form():
    model = ScriptedModel([call(OUTPUT, value=5)])
    result = Agent(model=model, output=int, steps=1).run_sync("How many?")
    (request,) = model.requests
    words = [message.text for message in request.messages if isinstance(message, UserMessage)][-1]
    assert "Tools are off" in words and words.endswith(f"by calling `{OUTPUT}` now. Plain words are not read.")
    assert result.output == 5
    plain = ScriptedModel(["Five."])
    Agent(model=plain, steps=1).run_sync("How many?")
    assert OUTPUT not in str(plain.requests[0].messages)


DIES = """
import asyncio, os, sys
from bridle import Agent, Reply, ScriptedModel

async def main():
    agent = Agent(model=ScriptedModel(lambda request: Reply(text="...", delay=600.0)), journal=sys.argv[1])
    async with agent.runtime() as runtime:
        for number in range(60):
            session = await runtime.create(f"ses_{number}")
            await runtime.prompt(session, "go", options=agent.turn_options)
        while any([(await runtime.load(f"ses_{number}")).running is None for number in range(60)]):
            await asyncio.sleep(0.05)
        os._exit(9)

asyncio.run(main())
"""


def test_every_interrupted_turn_is_found_however_many_there_are(tmp_path):
    words = [sys.executable, "-c", DIES, str(tmp_path / "j.db")]
    assert subprocess.run(words, cwd=tmp_path).returncode == 9

    async def found():
        agent = Agent(model=ScriptedModel([]), journal=tmp_path / "j.db", directory=tmp_path)
        async with agent.runtime() as runtime:
            return len(await runtime.interrupted()), len(await runtime.interrupted(most=10))

    assert asyncio.run(found()) == (60, 10)
