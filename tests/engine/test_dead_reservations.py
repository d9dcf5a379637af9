"""Reservations of sessions whose process is gone, settled by another session that needs what they hold."""

import asyncio

from bridle import Runtime, RuntimeConfig, ScriptedModel
from bridle.core.agent import AgentDefinition
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.scope import Scope
from bridle.turn.settle import settle_left


def test_a_session_that_has_ended_its_turn_meanwhile_is_left_as_it_is():
    async def work():
        models, agents = {"m": ScriptedModel(["done"])}, [AgentDefinition("build", model="m")]
        async with Runtime(RuntimeConfig(models=models, agents=agents)) as runtime:
            session = await runtime.create()
            await runtime.wait(session, await runtime.prompt(session, "go"))
            before = await runtime.entries(session)
            async with runtime.leased(session) as lease:
                setup = runtime._drives
                record = setup.record(await setup.load(session), lease)
                await settle_left(ActiveTurn(record, runtime.turns, runtime.seams, Scope(), others=None))
            assert await runtime.entries(session) == before

    asyncio.run(work())
