"""An always, kept for the project: it holds for later sessions, and a file that cannot be used holds up nobody."""

import asyncio

from stories import TOOLS

from bridle import Rule, ScriptedModel, call
from bridle.core.agent import Agent
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Notice
from bridle.runtime import Runtime
from bridle.users import UsersOwn


async def asked(path, folder):
    """How often a person is asked in two sessions if every answer is always, and what the reader is told."""
    agents = [Agent("build", model="m", permission=(Rule("python", "*", "ask"),))]
    models = {"m": ScriptedModel([call("look", key="a"), "done"])}
    asks, notices = 0, []
    user = UsersOwn(approvals=path)
    async with Runtime(models=models, tools=TOOLS, agents=agents, directory=folder, user=user) as runtime:
        for _ in range(2):
            session = await runtime.create()
            id = await runtime.prompt(session, "go", options=TurnOptions(agent="build", on_ask="pause"))
            result = await runtime.wait(session, id)
            while result.reason == "paused":
                asks += 1
                await runtime.answer(session, result.asks[0].id, "always")
                result = await runtime.wait(session, id)
            assert result.reason == "answered"
            parts = (await runtime.load(session)).parts.values()
            notices += [part.text for part in parts if isinstance(part, Notice)]
    return asks, notices


def test_an_always_is_asked_for_once_in_a_project(tmp_path):
    assert asyncio.run(asked(tmp_path / "approvals.toml", tmp_path)) == (1, [])


def test_without_a_file_an_always_ends_with_its_session(tmp_path):
    assert asyncio.run(asked(None, tmp_path)) == (2, [])


def test_an_always_that_cannot_be_kept_holds_for_the_session_and_the_reader_is_told(tmp_path):
    broken = tmp_path / "approvals.toml"
    broken.write_text("this is [no TOML")
    asks, notices = asyncio.run(asked(broken, tmp_path))
    assert (asks, len(notices)) == (2, 2)
    assert all(str(broken) in notice for notice in notices)
