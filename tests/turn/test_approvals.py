"""An always, kept for the project: it holds for later sessions, and a file that cannot be used holds up nobody."""

import asyncio

import pytest
from support.stories import TOOLS

from bridle import Agent as Bundled, Rule, ScriptedModel, Settings, call
from bridle.assembly.user_setup import UserSetup
from bridle.config.settings import SandboxSettings
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Notice
from bridle.core.states import Done, Failed, Refused
from bridle.runtime import Runtime, RuntimeConfig
from bridle.tools.registry import builtin_tools


async def asked(path, folder):
    """How often a person is asked in two sessions if every answer is always, and what the reader is told."""
    agents = [AgentDefinition("build", model="m", permission=(Rule("python", "*", "ask"),))]
    models = {"m": ScriptedModel([call("look", key="a"), "done"])}
    asks, notices = 0, []
    user = UserSetup(approvals=path)
    async with Runtime(
        RuntimeConfig(models=models, tools=TOOLS, agents=agents, directory=folder, user=user)
    ) as runtime:
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


PROTECTED = {
    "run by direnv": ("write", {"filePath": ".envrc", "content": "x"}),
    "run by an editor": ("write", {"filePath": ".vscode/tasks.json", "content": "x"}),
    "obeyed by agents": ("write", {"filePath": "AGENTS.md", "content": "x"}),
    "by a redirection": ("bash", {"command": "echo x > .envrc"}),
    "settings of git": ("bash", {"command": "git config core.fsmonitor ./x"}),
}


@pytest.mark.parametrize("name,arguments", PROTECTED.values(), ids=PROTECTED)
def test_an_answer_given_beforehand_never_opens_a_protected_path(tmp_path, name, arguments):
    result, states = unattended(tmp_path, call(name, **arguments), call("webfetch", url="http://127.0.0.1:9/"))
    assert [type(state) for state in states] == [Refused, Failed]
    assert states[0].refusal.name == "unasked"
    assert (result.exit_status, sorted(tmp_path.iterdir())) == (4, [])


def test_a_rule_may_still_open_a_protected_path(tmp_path):
    rule = Rule("edit_protected", ".envrc", "allow")
    _, states = unattended(tmp_path, call("write", filePath=".envrc", content="x"), rules=[rule])
    assert [type(state) for state in states] == [Done]


def unattended(folder, *calls, rules=()):
    """A turn whose asks are allowed beforehand: how it ended, and what became of its calls."""
    settings = Settings(sandbox=SandboxSettings(mode="off"))
    made = ScriptedModel([*calls, "done"])
    agent = Bundled(
        model=made, tools=builtin_tools(), permission=rules, on_ask="allow", directory=folder, settings=settings
    )

    async def work():
        async with agent.runtime() as runtime:
            session = await runtime.create()
            options = TurnOptions(agent="agent", on_ask="allow")
            result = await runtime.wait(session, await runtime.prompt(session, "go", options=options))
            parts = (await runtime.load(session)).parts.values()
            return result, [part.state for part in parts if isinstance(part, Call)]

    return asyncio.run(work())
