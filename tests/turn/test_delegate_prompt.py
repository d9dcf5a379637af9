"""Prompts that a subagent works on, and subagents that a prompt names: nobody is asked once more."""

import asyncio

import pytest
from support.virtual import run_virtually

from bridle import Agent, Rule, ScriptedModel, call
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Call, Prompt
from bridle.core.states import Done, Refused


def told(root, *, child="gold", permission=(), options=None, **prompt):
    """A session whose person has prompted with a subagent in mind: its calls, its answer, its model."""
    digger = Agent("digger", model=ScriptedModel([child] * 3, ref="digger"), description="digs")
    model = ScriptedModel(root)

    async def work(seams):
        top = Agent("root", model=model, subagents=[digger], permission=permission, on_ask="deny", seams=seams)
        async with top.runtime() as runtime:
            session = await runtime.create()
            result = await runtime.wait(
                session, await runtime.prompt(session, "dig  for\ngold", options=options, **prompt)
            )
            return await runtime.load(session), result

    state, result = run_virtually(work)
    return [part for part in state.parts.values() if isinstance(part, Call)], result, model


def test_a_subtask_is_begun_without_a_model_and_its_report_goes_on():
    (made,), result, model = told(lambda request: "It found gold.", subtask="digger")
    assert isinstance(made.state, Done) and "gold" in made.state.output
    assert '"prompt":"dig  for\\ngold"' in made.arguments and '"description":"dig for gold"' in made.arguments
    assert (result.text, len(model.requests)) == ("It found gold.", 1)


def test_a_subtask_that_may_not_be_begun_is_the_model_s():
    made, result, model = told(["I dig."], subtask="digger", options=TurnOptions(tools={"task": False}))
    assert (made, result.text, len(model.requests)) == ([], "I dig.", 1)


TASK = call("task", description="d", prompt="p", subagent_type="digger")


@pytest.mark.parametrize(("wants", "kind"), [(("digger",), Done), ((), Refused), (("other",), Refused)])
def test_a_subagent_that_a_prompt_names_needs_no_further_word(wants, kind):
    (made,), _, _ = told([TASK, "Done."], permission=[Rule("task", "*", "ask")], wants=wants)
    assert isinstance(made.state, kind)


def test_a_prompt_that_is_no_longer_in_view_is_not_begun_again():
    from bridle.core.messages import AssistantText, Messages, UserMessage
    from bridle.core.stream import ModelRequest, TextDelta
    from bridle.turn.delegate_prompt import DelegatingModel

    model = DelegatingModel(ScriptedModel(["x"]), Prompt("prm", "dig", (), 1, (), "digger"))
    request = ModelRequest(
        "1.1.1", "s", "step", "m", "", Messages([UserMessage("summary", AssistantText("short"))]), (), "auto", 1, {}
    )

    async def texts():
        return [event.text async for event in model.stream(request) if isinstance(event, TextDelta)]

    assert asyncio.run(texts()) == ["x"]


def test_a_turn_without_a_prompt_has_its_own_model():
    from bridle.core.session import Session
    from bridle.turn.delegate_prompt import delegating

    model = ScriptedModel(["x"])
    assert delegating(model, Session()) is model
