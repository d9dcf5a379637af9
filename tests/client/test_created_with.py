"""A session has what it was created with, in this process and over HTTP."""

import pytest

from bridle import ConfigError, NoSuchSession
from bridle.core.inbox import TurnOptions
from bridle.core.parts import TurnStart


def test_a_session_has_what_it_was_created_with_until_a_prompt_says_otherwise(told):
    async def story(sessions, home):
        model = home.home.script("One.", "Two.", "Three.", name="created.json")
        facts = {"title": "Plans", "agent": "plan", "model": model, "denied": ("bash", "web*")}
        session = await sessions.create(**facts)
        info = (await sessions.load(session)).info
        assert {name: getattr(info, name) for name in facts} == facts
        prompt = await sessions.prompt(session, "Go")
        await sessions.wait(session, prompt)
        later = await sessions.prompt(session, "Go", options=TurnOptions(agent="build", tools={"read": False}))
        await sessions.wait(session, later)
        state = await sessions.load(session)
        starts = [part for part in state.parts.values() if isinstance(part, TurnStart)]
        assert [start.agent for start in starts] == ["plan", "build"]
        assert {start.model for start in starts} == {model}
        assert not {"bash", "webfetch"} & {name for start in starts for name in start.tools}
        assert {"read", "edit"} & {*starts[0].tools}
        forked = await sessions.load(await sessions.fork(session, 1))
        assert (forked.info.denied, forked.info.agent) == (("bash", "web*"), "plan")
        for wrong in ({"agent": "nobody"}, {"model": "nobody/nothing"}):
            with pytest.raises(ConfigError, match="nobody"):
                await sessions.create("ses_refused", **wrong)
        with pytest.raises(NoSuchSession):
            await sessions.load("ses_refused")

    told(story)
