"""Resources of tools: made once, shared by the calls of a runtime, and closed with it."""

import asyncio

import msgspec
import pytest

from bridle import Agent, Rule, ScriptedModel, call
from bridle.core.stream import ToolSpec
from bridle.tools.resources import Resources
from bridle.tools.tool import Output, StructTool, loader, struct_schema


class Counter:
    def __init__(self):
        self.number = 0
        self.closed = 0

    async def close(self):
        self.closed += 1


class Broken(Counter):
    async def close(self):
        raise OSError("it does not close")


class Nothing(msgspec.Struct):
    pass


def test_a_resource_is_made_once_and_closed_once():
    async def work():
        resources = Resources()
        first = resources.of(Counter)
        assert resources.of(Counter) is first
        await resources.close()
        await resources.close()
        assert first.closed == 1
        assert resources.of(Counter) is not first

    asyncio.run(work())


def test_one_that_fails_to_close_leaves_none_open():
    async def work():
        resources = Resources()
        first, _ = resources.of(Counter), resources.of(Broken)
        with pytest.raises(OSError, match="does not close"):
            await resources.close()
        assert first.closed == 1

    asyncio.run(work())


def test_the_calls_of_a_runtime_share_a_resource_which_ends_with_it(tmp_path):
    seen = []

    async def count(given, invocation):
        counter = invocation.commands.resources.of(Counter)
        counter.number += 1
        seen.append(counter)
        return Output(f"{counter.number}")

    spec = ToolSpec("count", "count", struct_schema(Nothing))
    tool = StructTool(spec, loader(Nothing), count, "count", needs=lambda given, directory: ())
    model = ScriptedModel([call("count"), "one", call("count"), "two"])
    agent = Agent("a", model=model, tools=[tool], permission=[Rule("*", "*", "allow")], directory=tmp_path)

    async def work():
        async with agent.runtime() as runtime:
            for _ in range(2):
                session = await runtime.create()
                await runtime.wait(session, await runtime.prompt(session, "go"))
            assert [(counter.number, counter.closed) for counter in seen] == [(2, 0), (2, 0)]

    asyncio.run(work())
    assert seen[0] is seen[1] and seen[0].closed == 1
