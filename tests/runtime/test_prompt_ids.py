"""The same prompt id twice is one prompt; with other words it is a mistake, and refused."""

import pytest
from support.virtual import run_virtually

from bridle import Agent, ConfigError, Reply, ScriptedModel
from bridle.core.parts import File, Prompt


@pytest.mark.parametrize("when", ["waiting", "taken"])
def test_an_id_that_was_used_for_other_words_is_refused(when):
    model = ScriptedModel([Reply(text="one", delay=1.0)], then="more")

    async def work(seams):
        async with Agent(model=model, seams=seams).runtime() as runtime:
            session = await runtime.create()
            if when == "waiting":
                await runtime.prompt(session, "first", id="prm_0")
            id = await runtime.prompt(session, "words", id="prm_1", queue=True)
            if when == "taken":
                await runtime.wait(session, id)
            assert await runtime.prompt(session, "words", id="prm_1", queue=True) == id
            for text, files in (("other words", ()), ("words", (File("a.txt", "text"),))):
                with pytest.raises(ConfigError, match="prompt id 'prm_1' was used for another prompt"):
                    await runtime.prompt(session, text, id="prm_1", files=files, queue=True)
            await runtime.wait(session, id)
            return await runtime.load(session)

    state = run_virtually(work)
    prompts = [part for part in state.parts.values() if isinstance(part, Prompt) and part.id == "prm_1"]
    assert [(part.text, part.files) for part in prompts] == [("words", ())]
