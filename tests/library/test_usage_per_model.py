"""Usage per model: of a turn, its subagents, and the agents that its tools run."""

import asyncio

import msgspec

from bridle import Agent, Context, ModelUse, Price, Reply, Runtime, RuntimeConfig, ScriptedModel, call, tool
from bridle.core.limits import NOTHING
from bridle.core.parts import TurnFinish
from bridle.core.states import Report, Usage
from bridle.testing.scripted import ScriptedError

TASK = call("task", description="look", prompt="Look it up.", subagent_type="scout")


def agents(journal=None):
    helper = Agent("helper", model=ScriptedModel(["helped"], price=Price(3.0, 3.0), ref="test/helper"))

    @tool
    async def help_me(ctx: Context[None]) -> str:
        """Run an agent twice."""
        return (await ctx.run(helper, "one")).output + (await ctx.run(helper, "two")).output

    looks = ScriptedModel(["found"], price=Price(2.0, 2.0), ref="test/scout")
    scout = Agent("scout", model=looks, description="Looks things up.")
    model = ScriptedModel([[TASK, TASK], call("help_me"), "done"], price=Price(1.0, 1.0), ref="test/lead")
    return Agent("lead", model=model, tools=[help_me], subagents=[scout], journal=journal)


def test_the_use_of_each_model_in_a_tree_is_told_and_survives(tmp_path):
    path = tmp_path / "j.db"
    result = agents(path).run_sync("go")
    uses, prices = result.models, {"test/lead": 1.0, "test/scout": 2.0, "test/helper": 3.0}
    inputs = {name: use.usage.input for name, use in uses.items()}
    assert inputs == {"test/lead": 30, "test/scout": 20, "test/helper": 20}
    for name, use in uses.items():
        assert (use.tokens, round(use.cost, 10)) == (use.usage.total, round(use.tokens * prices[name] / 1e6, 10))
    assert sum(use.tokens for use in uses.values()) == result.tokens == result.usage.total
    assert round(sum(use.cost for use in uses.values()), 9) == round(result.cost, 9)

    async def later():
        async with Runtime(RuntimeConfig(journal=path)) as runtime:
            return await runtime.wait(result.session, result.prompt)

    assert asyncio.run(later()).models == result.models


def test_a_paused_turn_tells_its_use_so_far_and_a_failed_try_counts_for_its_model():
    @tool(needs=lambda: True)
    def pay() -> str:
        """Pay."""
        return "paid"

    paused = Agent("payer", model=ScriptedModel([call("pay")]), tools=[pay], on_ask="pause").run_sync("go")
    assert [use.tokens for use in paused.models.values()] == [paused.tokens]
    assert paused.tokens > 0

    model = ScriptedModel([Reply(error=ScriptedError("busy", status=503), text="half"), "whole"])
    retried = Agent("again", model=model).run_sync("go")
    assert (retried.text, [use.tokens for use in retried.models.values()]) == ("whole", [retried.tokens])


def test_records_without_the_use_of_models_are_read_as_unknown():
    finish = TurnFinish("1.finish", 1, "answered", NOTHING, Usage(input=3))
    report = Report("ses_1", "answered", NOTHING, Usage(input=3))
    for old in (finish, report):
        raw = msgspec.json.encode(old)
        assert b"models" not in raw
        assert msgspec.json.decode(raw, type=type(old)).models == {}
    assert ModelUse(Usage(input=1), 1, 0.5).plus(ModelUse(Usage(input=2), 2, 0.5)) == ModelUse(Usage(input=3), 3, 1.0)
