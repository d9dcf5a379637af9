"""A person chooses how calls are approved: by the rules, each edit and command, or automatically."""

import asyncio
from pathlib import Path

import pytest

from bridle import ConfigError, Rule, Runtime, RuntimeConfig, ScriptedModel, call
from bridle.core.agent import AgentDefinition
from bridle.core.inbox import TurnOptions
from bridle.tools.registry import builtin_tools

NEEDED = ("write", "task")


def wrote(name):
    return call("write", filePath=name, content="x\n")


def runtime_in(folder, *replies, verdict="allow", scout=()):
    rules = (Rule("edit", "*", verdict), Rule("task", "*", "allow"))
    agents = [
        AgentDefinition("build", model="m", permission=rules),
        AgentDefinition("scout", model="s", mode="subagent", permission=rules),
    ]
    return Runtime(
        RuntimeConfig(
            models={"m": ScriptedModel(replies), "s": ScriptedModel(scout)},
            agents=agents,
            subagents=None,
            tools=[tool for tool in builtin_tools() if tool.spec.name in NEEDED],
            directory=folder,
        )
    )


async def prompted(runtime, session):
    return await runtime.prompt(session, "go", options=TurnOptions(on_ask="person"))


def told(story):
    asyncio.run(asyncio.wait_for(story, 120))


def test_ask_asks_for_an_allowed_edit_also_after_always(tmp_path):
    async def story():
        async with runtime_in(tmp_path, wrote("a"), wrote("b"), wrote("c"), "Done.") as runtime:
            session = await runtime.create()
            await runtime.set_approvals(session, "ask")
            prompt = await prompted(runtime, session)
            for name in "ab":
                result = await runtime.wait(session, prompt)
                assert [ask.text for ask in result.asks] == [f"Allow edit: {name}?"]
                assert not Path(tmp_path, name).exists()
                await runtime.answer(session, result.asks[0].id, "always")
                await runtime.resume(session)
            result = await runtime.wait(session, prompt)
            # From the next call on: the open ask stays.
            await runtime.set_approvals(session, "rules")
            await runtime.answer(session, result.asks[0].id, "once")
            await runtime.resume(session)
            assert (await runtime.wait(session, prompt)).reason == "answered"
            assert (await runtime.load(session)).info.approvals == "rules"
            assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]

    told(story())


def test_auto_allows_what_would_ask_but_neither_protected_files_nor_what_the_rules_deny(tmp_path):
    async def story():
        replies = [wrote("a"), wrote("AGENTS.md"), wrote("b"), "Done."]
        async with runtime_in(tmp_path, *replies, verdict="ask") as runtime:
            session = await runtime.create()
            await runtime.set_approvals(session, "auto")
            prompt = await prompted(runtime, session)
            result = await runtime.wait(session, prompt)
            assert [ask.text for ask in result.asks] == ["Allow edit_protected: AGENTS.md?"]
            await runtime.set_approvals(session, "rules")
            for text in ("Allow edit: AGENTS.md?", "Allow edit: b?"):
                await runtime.answer(session, result.asks[0].id, "once")
                await runtime.resume(session)
                result = await runtime.wait(session, prompt)
                assert [ask.text for ask in result.asks] == [text]
        async with runtime_in(tmp_path, wrote("c"), "Done.", verdict="deny") as runtime:
            session = await runtime.create()
            await runtime.set_approvals(session, "auto")
            await runtime.wait(session, await prompted(runtime, session))
            assert not Path(tmp_path, "c").exists()

    told(story())


def test_subagents_that_run_and_those_that_start_follow_the_choice(tmp_path):
    async def story():
        task = call("task", description="x", prompt="x", subagent_type="scout")
        async with runtime_in(tmp_path, task, "Done.", scout=[wrote("a"), wrote("b"), "Done."]) as runtime:
            session = await runtime.create()
            await runtime.set_approvals(session, "ask")
            prompt = await prompted(runtime, session)
            result = await runtime.wait(session, prompt)
            assert [ask.text for ask in result.asks] == ["Allow edit: a?"]
            await runtime.set_approvals(session, "rules")
            await runtime.answer(session, result.asks[0].id, "once")
            await runtime.resume(session)
            assert (await runtime.wait(session, prompt)).reason == "answered"
            assert Path(tmp_path, "b").exists()

    told(story())


def test_an_imported_session_approves_nothing_automatically(tmp_path):
    async def story():
        raw = {}
        for approvals in ("auto", "ask"):
            async with runtime_in(tmp_path, "Hello.") as runtime:
                session = await runtime.create(f"ses_{approvals}")
                await runtime.wait(session, await prompted(runtime, session))
                await runtime.set_approvals(session, approvals)
                raw[approvals] = await runtime.export(session)
        async with runtime_in(tmp_path) as other:
            found = [(await other.load(await other.import_bundle(each))).info.approvals for each in raw.values()]
            assert found == ["rules", "ask"]
            with pytest.raises(ConfigError, match="approvals"):
                await other.set_approvals("ses_ask", "all")

    told(story())
