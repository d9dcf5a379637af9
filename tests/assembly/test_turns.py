"""A prompt's door checks agent, model and limits; its turn is prepared once, by the drive that opens it."""

import asyncio
from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_fields

from bridle import Agent, ConfigError, Runtime, RuntimeConfig, ScriptedModel, Settings
from bridle.assembly.user_setup import UserSetup
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Notice, TurnStart


def read_config(reads):
    """A runtime whose instructions are counted as they are read."""

    def instructions():
        reads.append("read")
        return f"Read {len(reads)} times."

    return RuntimeConfig(
        settings=Settings(agent="guide"),
        models={"m": ScriptedModel(["Hello."], ref="m")},
        agents=[AgentDefinition("guide", model="m", prompt="You guide.")],
        user=UserSetup(instructions=instructions),
    )


async def system_prompts(runtime, session):
    return [part.system for part in (await runtime.load(session)).parts.values() if isinstance(part, TurnStart)]


def test_a_turn_is_prepared_once_by_the_drive_that_opens_it():
    async def work():
        reads = []
        async with Runtime(read_config(reads)) as runtime:
            session = await runtime.create()
            result = await runtime.wait(session, await runtime.prompt(session, "hi"))
            (system,) = await system_prompts(runtime, session)
            assert (result.text, reads) == ("Hello.", ["read"])
            assert system.startswith("You guide.\n\nDirectory: ") and system.endswith("\n\nRead 1 times.")

    asyncio.run(work())


REFUSED = {
    "agent": (TurnOptions(agent="gone"), "there is no agent 'gone' (known: "),
    "model": (TurnOptions(model="gone/model"), "gone"),
    "variant": (TurnOptions(variant="hard"), "m has no variant 'hard' (known: none)"),
    "limits": (TurnOptions(limits={"cost": 1.0}), "a cost limit needs a price, and none is known for m"),
    "output": (TurnOptions(output={"type": "nonsense"}), "nonsense"),
}


@pytest.mark.parametrize("options, words", REFUSED.values(), ids=REFUSED)
def test_a_prompt_is_refused_at_the_door_before_anything_is_prepared_or_recorded(options, words):
    async def work():
        reads = []
        async with Runtime(read_config(reads)) as runtime:
            session = await runtime.create()
            with pytest.raises(ConfigError) as refused:
                await runtime.prompt(session, "hi", options=options)
            assert words in str(refused.value)
            assert (reads, await runtime.waiting_prompts(session), (await runtime.load(session)).parts) == ([], [], {})

    asyncio.run(work())


def test_one_configuration_makes_several_runtimes_and_a_field_of_it_is_replaced():
    async def answer(config):
        async with Runtime(config) as runtime:
            session = await runtime.create()
            return (await runtime.wait(session, await runtime.prompt(session, "hi"))).text

    agent = Agent("guide", model=ScriptedModel(["one"]))
    other = {"scripted/model": ScriptedModel(["other"])}
    texts = [asyncio.run(answer(each)) for each in (agent.config, agent.config, replace(agent.config, models=other))]
    assert texts == ["one", "one", "other"]


def test_a_session_is_told_once_that_its_model_is_treated_as_small():
    model = ScriptedModel(["One.", "Two."], ref="m")
    model.info = replace_fields(model.info, small=True, small_by_name=True, calls="text")

    async def work():
        async with Runtime(RuntimeConfig(settings=Settings(model="m"), models={"m": model})) as runtime:
            session = await runtime.create()
            for text in ("first", "second"):
                await runtime.wait(session, await runtime.prompt(session, text))
            return [part for part in (await runtime.load(session)).parts.values() if isinstance(part, Notice)]

    (notice,) = asyncio.run(work())
    assert notice.text.startswith("m is a small model by its name") and "small = false" in notice.text
    assert "its calls are read from text" in notice.text
    assert not notice.told
