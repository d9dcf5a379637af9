"""Turns that were handed over and continue in another process: after a kill, a pause, a prompt, or an import."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
from support.mortal_handoff import POINTS, SESSION, agents
from support.paths import TESTS

from bridle import Agent, Context, Limits, Rule, ScriptedModel, call, tool
from bridle.core.events import PartPut
from bridle.core.parts import Handoff
from bridle.core.replay import verified
from bridle.journal.memory import MemoryJournal

TO_BILLING = call("transfer_to_billing")
PAID = []


@pytest.fixture(autouse=True)
def nothing_paid():
    PAID.clear()


@tool
def pay(amount: int) -> str:
    """Pay."""
    PAID.append(amount)
    return f"paid {amount}"


def results(messages):
    return [message.text for message in messages if hasattr(message, "call")]


@pytest.mark.parametrize("point", POINTS)
def test_the_agent_in_charge_when_the_process_was_killed_continues_in_another_one(tmp_path, point):
    path = tmp_path / "j.db"
    command = [sys.executable, "-m", "support.mortal_handoff", str(path)]
    killed = subprocess.run(command, cwd=TESTS, env={**os.environ, "DIES_AT": point}, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL

    async def finish():
        agent = agents(path)
        result = await agent.resume(SESSION)
        async with agent.runtime() as runtime:
            return agent, result, verified(await runtime.journal.load(SESSION)), await runtime.load(SESSION)

    agent, result, difference, session = asyncio.run(finish())
    assert (result.output, result.agent, result.steps, result.tool_calls) == ("It is paid.", "billing", 3, 2)
    told = ["From here on you are the agent billing, no longer triage.", "billing charged 5 to Ann"]
    assert (results(result.messages), difference) == (told, None)
    request = agent._handoffs[0]._model.requests[-1]
    assert "You bill Ann, as billing." in request.system
    assert sum(isinstance(part, Handoff) for part in session.parts.values()) == 1


def paying(journal, *, first, other=(), **more):
    """An agent that hands over to another one; the other may not pay without a person's approval."""
    asks = [Rule("python", "pay", "ask")]
    model = ScriptedModel([call("pay", amount=7), "paid"], ref="m/billing")
    billing = Agent("billing", model=model, tools=[pay], permission=asks, **dict(other))
    return Agent(
        "triage", model=ScriptedModel(first, ref="m/triage"), tools=[pay], handoffs=[billing], journal=journal, **more
    )


async def answered(agent, paused):
    """Approve every ask of a paused turn in another program, and return its result."""
    async with agent.runtime() as runtime:
        for ask in paused.asks:
            await runtime.answer(paused.session, ask.id, "once")
        await runtime.wait(paused.session, paused.prompt)
    return await agent.resume(paused.session)


def test_a_turn_that_pauses_after_a_handoff_is_answered_in_another_process(tmp_path):
    def made():
        return paying(tmp_path / "j.db", first=[TO_BILLING], on_ask="pause")

    paused = made().run_sync("go")
    assert (paused.reason, paused.agent, PAID) == ("paused", "billing", [])
    result = asyncio.run(answered(made(), paused))
    assert (result.output, result.agent, PAID) == ("paid", "billing", [7])


def test_an_ask_beside_the_handoff_is_judged_by_the_rules_of_the_agent_that_called(tmp_path):
    def made(*rules):
        first = [[TO_BILLING, call("pay", amount=1)]]
        return paying(tmp_path / "j.db", first=first, on_ask="pause", permission=[*rules])

    asks = Rule("python", "pay", "ask")
    paused = made(asks).run_sync("go")
    assert (paused.reason, paused.agent, [ask.text for ask in paused.asks]) == (
        "paused",
        "triage",
        ["Allow python: pay?"],
    )
    again = asyncio.run(answered(made(asks), paused))
    assert (again.reason, again.agent, PAID) == ("paused", "billing", [1])
    result = asyncio.run(answered(made(asks), again))
    assert (result.output, result.agent, PAID) == ("paid", "billing", [1, 7])


def test_a_prompt_after_the_handoff_joins_the_turn_of_the_agent_that_took_over():
    @tool
    async def interrupt(ctx: Context[None]) -> str:
        """Have the person say more meanwhile."""
        await next(iter(first._runtimes._open.values())).runtime.prompt(ctx.session, "And two.", id="more")
        for _ in range(100):
            # The turn notices it in the loop of this call, without any wait.
            await asyncio.sleep(0)
        return "they said more"

    model = ScriptedModel([call("interrupt"), "Both done."], ref="m/billing")
    billing = Agent("billing", model=model, tools=[interrupt])
    first = Agent("triage", model=ScriptedModel([TO_BILLING], ref="m/triage"), handoffs=[billing])
    result = first.run_sync("One.")
    assert (result.output, result.agent, result.steps) == ("Both done.", "billing", 3)
    assert model.requests[-1].messages[-1].text == "And two."
    again = first.run_sync("And two.", session=result.session, id="more")
    assert (again.output, again.agent, again.turn) == ("Both done.", "billing", 1)


def test_an_import_continues_with_the_agent_that_took_over_and_its_limits_never_grow(tmp_path):
    journal = MemoryJournal()
    first = paying(journal, first=[TO_BILLING], on_ask="pause", other={"limits": Limits(steps=9, tokens=50_000)})

    async def carried():
        paused = await first.run("go", limits=Limits(steps=30, tokens=90_000))
        async with first.runtime() as runtime:
            bundle = await runtime.export(paused.session)
        there = paying(MemoryJournal(), first=[], on_ask="pause", limits=Limits(steps=4))
        async with there.runtime() as runtime:
            session = await runtime.import_bundle(bundle)
            state = await runtime.load(session)
            terms = state.turn.start.agent, state.turn.limits.steps, state.turn.limits.tokens
            account = await runtime.journal.account(state.turn.start.account)
            await runtime.resume(session)
            again = await runtime.wait(session, paused.prompt)
            await runtime.answer(session, again.asks[0].id, "once")
            return paused, terms, account, await runtime.wait(session, paused.prompt)

    paused, terms, account, result = asyncio.run(carried())
    assert (paused.agent, terms, account.limits.tokens) == ("billing", ("billing", 10, 50_011), 50_011)
    assert (result.text, result.agent, PAID) == ("paid", "billing", [7])


def test_a_handoff_of_an_open_turn_brings_no_tool_that_was_only_asked_for(tmp_path):
    journal = MemoryJournal()
    first = paying(journal, first=[TO_BILLING], on_ask="pause")

    async def carried():
        paused = await first.run("go", tools={"pay": True})
        async with first.runtime() as runtime:
            bundle = (await runtime.export(paused.session)).replace(
                b'"agent": "billing",', b'"agent": "billing", "asked_tools": ["x"],'
            )
        async with paying(MemoryJournal(), first=[]).runtime() as runtime:
            session = await runtime.import_bundle(bundle)
            return await runtime.load(session), [
                event.part
                for entry in await runtime.journal.load(session)
                for event in entry.events
                if isinstance(event, PartPut) and isinstance(event.part, Handoff)
            ]

    state, [handoff] = asyncio.run(carried())
    assert (state.turn.start.asked_tools, handoff.asked_tools, state.turn.start.tool_switches) == ((), (), {})
