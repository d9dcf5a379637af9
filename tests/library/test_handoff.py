"""Agents that hand a turn over to each other: what changes with the agent, and what stays with the turn."""

import asyncio
from dataclasses import dataclass

import pytest

from bridle import Agent, ConfigError, Context, Limits, Price, Reply, Retry, Rule, ScriptedModel, call, tool
from bridle.core.events import PartPut
from bridle.core.parts import OUTPUT, Handoff
from bridle.core.replay import verified
from bridle.journal.memory import MemoryJournal
from bridle.wire.events import NoticeEvent

TO_BILLING, TO_TRIAGE = call("transfer_to_billing"), call("transfer_to_triage")
PRICE = Price(input=1.0, output=4.0)
SEEN = []


@tool
def charge(ctx: Context[None], amount: int) -> str:
    """Charge an amount."""
    SEEN.append((ctx.agent, ctx.turn, amount))
    return f"charged {amount}"


@tool
def look() -> str:
    """Look around."""
    return "nothing there"


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def billing(*replies, **more):
    more = {"instructions": "You bill.", "tools": [charge], "description": "Knows bills.", **more}
    return Agent("billing", model=ScriptedModel(list(replies), ref="m/billing", price=PRICE), **more)


def triage(*replies, to, **more):
    more = {"instructions": "You sort.", "tools": [look], **more}
    return Agent("triage", model=ScriptedModel(list(replies), ref="m/triage", price=PRICE), handoffs=to, **more)


def results(result):
    return [message.text for message in result.messages if hasattr(message, "call")]


def requests(agent):
    return [request for request in agent._model.requests if request.purpose != "title"]


def parts_of(entry):
    return [event.part for event in entry.events if isinstance(event, PartPut)]


def offered(request):
    return [spec.name for spec in request.tools]


def test_the_other_agent_continues_the_same_turn_with_its_own_model_words_and_tools():
    other = billing(call("charge", amount=5), "It is paid.")
    first = triage([call("look"), TO_BILLING], "Next.", to=[other])
    result = first.run_sync("Pay 5.")
    assert (result.output, result.agent, result.steps, result.tool_calls, result.turn) == (
        "It is paid.",
        "billing",
        3,
        3,
        1,
    )
    assert SEEN == [("billing", 1, 5)]
    assert results(result) == [
        "nothing there",
        "From here on you are the agent billing, no longer triage.",
        "charged 5",
    ]
    [asked], [request, _] = requests(first), requests(other)
    assert [spec.description for spec in asked.tools][1].endswith("which continues in your place. Knows bills.")
    assert (offered(asked), offered(request)) == (["look", "transfer_to_billing"], ["charge"])
    assert (asked.model, request.model) == ("m/triage", "m/billing")
    assert ("You sort." in asked.system, "You sort." in request.system) == (True, False)
    assert "You bill." in request.system
    assert result.models.keys() == {"m/triage", "m/billing"}
    again = first.run_sync("And now?", session=result.session)
    assert (again.output, again.agent, again.turn) == ("Next.", "triage", 2)
    assert "You sort." in requests(first)[-1].system


def test_the_reader_is_told():
    async def told():
        async with triage(TO_BILLING, to=[billing("paid")]).stream("go") as stream:
            return [event.text async for event in stream if isinstance(event, NoticeEvent)]

    assert asyncio.run(told()) == ["handed over to billing"]


def test_agents_that_name_each_other_hand_back_and_forth():
    other = billing(TO_TRIAGE, "never")
    first = triage(TO_BILLING, "All done.", to=[other])
    other.add_handoffs(first)
    result = first.run_sync("go")
    assert (result.output, result.agent, result.steps) == ("All done.", "triage", 3)
    assert offered(requests(other)[0]) == ["charge", "transfer_to_triage"]
    assert requests(first)[0].system == requests(first)[1].system


def test_agents_that_hand_over_for_ever_are_stopped():
    other = billing(*[TO_TRIAGE] * 9)
    first = triage(*[TO_BILLING] * 9, to=[other])
    other.add_handoffs(first)
    result = first.run_sync("go")
    assert (result.reason, result.steps) == ("doom_loop", 7)


def test_a_handoff_in_the_closing_step_is_refused_as_any_call():
    result = triage(call("look"), TO_BILLING, to=[billing("never")], steps=2).run_sync("go")
    assert (result.reason, result.agent, result.steps) == ("step_cap", "triage", 2)


def test_only_the_first_handoff_of_a_step_counts():
    refunds = Agent("refunds", model=ScriptedModel(["refunded"], ref="m/refunds"))
    result = triage([call("transfer_to_refunds"), TO_BILLING], to=[billing("never"), refunds]).run_sync("go")
    assert (result.output, result.agent) == ("refunded", "refunds")
    assert results(result)[1] == "not executed: this step has already handed over"


def test_the_limits_of_the_turn_stay_and_those_of_the_other_agent_count_from_its_first_step():
    def run(other, **more):
        calls = [call("charge", amount=n) for n in range(9)]
        return triage(call("look"), TO_BILLING, to=[billing(*calls, **other)], **more).run_sync("go")

    result = run({"steps": 3}, steps=20)
    assert (result.reason, result.steps, [amount for *_, amount in SEEN]) == ("step_cap", 5, [0, 1])
    assert (run({"steps": 30}, steps=4).steps, run({}, steps=4).steps) == (4, 4)
    result = run({"limits": Limits(tool_calls=2)})
    assert (result.reason, result.tool_calls) == ("tool_budget", 4)
    result = run({"limits": Limits(tokens=1_200)})
    assert result.reason == "token_budget"
    assert result.tokens <= 1_200 + 30


def test_an_agent_whose_model_has_no_price_is_refused_before_the_turn_if_money_is_limited():
    other = Agent("billing", model=ScriptedModel(["paid"], ref="m/free"))
    between = Agent("between", model=ScriptedModel([TO_BILLING], ref="m/between", price=PRICE), handoffs=[other])
    first = triage(call("transfer_to_between"), to=[between])
    assert first.run_sync("go").agent == "billing"
    with pytest.raises(ConfigError, match="needs a price, and none is known for m/free"):
        first.run_sync("go", limits=Limits(cost=1.0))
    with pytest.raises(ConfigError, match="none is known for m/free"):
        triage(TO_BILLING, to=[Agent("billing", model=ScriptedModel(ref="m/free"), limits=Limits(cost=1.0))]).run_sync(
            "go"
        )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            RuntimeError("no words"),
            "billing cannot take over: the instructions of agent billing failed: RuntimeError: no words",
        ),
        (ConfigError("no words"), "billing cannot take over: no words"),
    ],
)
def test_an_agent_that_cannot_take_over_leaves_the_turn_where_it_is(error, told):
    def fails(ctx):
        raise error

    result = triage(TO_BILLING, "I go on.", to=[billing(instructions=fails)]).run_sync("go")
    assert (result.output, result.agent) == ("I go on.", "triage")
    assert results(result) == [told]


@dataclass
class City:
    name: str


def test_the_answer_is_checked_by_the_agent_that_gives_it():
    def grand(city):
        if city.name.islower():
            raise Retry("write it large")
        return City(city.name + "!")

    def never(city):
        raise Retry("wrong check")

    replies = [call(OUTPUT, name="oslo"), call(OUTPUT, name="Oslo")]
    other = Agent("billing", model=ScriptedModel(replies, ref="m/billing"), output=City, check=grand)
    first = Agent("triage", model=ScriptedModel([TO_BILLING]), output=City, check=never, handoffs=[other])
    result = first.run_sync("go")
    assert (result.output, result.agent, result.steps) == (City("Oslo!"), "billing", 3)
    plain = triage(TO_BILLING, to=[billing(*replies)])
    given = asyncio.run(plain.run("go", output=City))
    assert given.output == City("Oslo" if given.steps == 3 else "oslo")


def test_an_answer_beside_a_handoff_ends_the_turn_without_one():
    other = Agent("billing", model=ScriptedModel(ref="m/billing"), output=City)
    first = Agent(
        "triage", model=ScriptedModel([[call(OUTPUT, name="Rome"), TO_BILLING]]), output=City, handoffs=[other]
    )
    result = first.run_sync("go")
    assert (result.output, result.agent) == (City("Rome"), "triage")


@dataclass
class Shop:
    name: str


@tool
def sell(ctx: Context[Shop]) -> str:
    """Sell."""
    return f"{ctx.agent} sells at {ctx.deps.name}"


def test_the_dependencies_are_those_of_the_turn():
    def other(**more):
        return Agent[Shop, str]("billing", model=ScriptedModel([call("sell"), "sold"], ref="m/b"), tools=[sell], **more)

    def made(**more):
        return Agent[Shop, str]("triage", model=ScriptedModel([TO_BILLING]), **more)

    with pytest.raises(ConfigError, match="triage: run: deps are missing"):
        made(handoffs=[other()]).run_sync("go")
    result = made(handoffs=[other()]).run_sync("go", deps=Shop("the corner"))
    assert results(result)[1] == "billing sells at the corner"
    own = other(deps=lambda metadata: Shop("never"))
    result = made(handoffs=[own], deps=lambda metadata: Shop(metadata["shop"])).run_sync(
        "go", metadata={"shop": "home"}
    )
    assert results(result)[1] == "billing sells at home"


def test_instructions_and_tools_of_the_run_hold_for_every_agent():
    other = billing("done")
    first = triage(TO_BILLING, to=[other])
    first.run_sync("go", system="Be brief.", tools={"charge": False})
    [request] = requests(other)
    assert ("Be brief." in request.system, offered(request)) == (True, [])


def test_each_agent_has_its_own_rules_and_subagents():
    scout = Agent("scout", model=ScriptedModel(["scouted"], ref="m/scout"))
    seer = Agent("seer", model=ScriptedModel(["seen"], ref="m/seer"))
    deny = [Rule("python", "charge", "deny")]
    starts = [call("task", description="d", prompt="p", subagent_type=name) for name in ("scout", "seer")]
    other = billing([call("charge", amount=1), *starts], "done", subagents=[seer])
    result = triage(TO_BILLING, to=[other], permission=deny, subagents=[scout]).run_sync("go")
    assert SEEN == [("billing", 1, 1)]
    told = results(result)[2:]
    assert told[0] == 'There is no subagent "scout". There are: seer.'
    assert told[1].endswith("seen")


def test_a_rule_may_have_a_person_approve_the_handoff():
    asks = [Rule("python", "transfer_to_*", "ask")]
    result = triage(TO_BILLING, "I stay.", to=[billing("never")], permission=asks).run_sync("go")
    assert (result.output, result.agent) == ("I stay.", "triage")


def test_subagents_hand_over_too():
    other = billing("It is paid.")
    first = triage(TO_BILLING, to=[other])
    task = call("task", description="d", prompt="p", subagent_type="triage")
    lead = Agent("lead", model=ScriptedModel([task, "All done."], ref="m/lead"), subagents=[first])
    result = lead.run_sync("go")
    assert (result.output, result.agent) == ("All done.", "lead")
    assert results(result)[0].endswith("It is paid.")


def test_a_subagent_in_the_background_reports_to_the_agent_that_took_over():
    scout = Agent("scout", model=ScriptedModel([Reply(text="scouted", delay=0.2)], ref="m/scout"))
    start = call("task", description="d", prompt="p", subagent_type="scout", background=True)
    other = billing("I wait.", "With what the scout found.")
    result = triage([start, TO_BILLING], to=[other], subagents=[scout]).run_sync("go")
    assert (result.output, result.agent) == ("With what the scout found.", "billing")
    assert requests(other)[-1].messages[-1].text.endswith("scouted")


def test_agents_that_cannot_hand_over_to_each_other_are_refused_when_they_are_made():
    def transfer_to_billing() -> str:
        """Mine."""
        return ""

    def problem(*others, **more):
        with pytest.raises(ConfigError) as refused:
            triage(to=others, **more)
        return str(refused.value).removeprefix("agent triage: handoffs: ")

    taken = "'transfer_to_billing' is the tool that hands over to billing: give yours another name"
    assert problem(billing(), tools=[transfer_to_billing]) == taken
    twice = [Agent(name, model=ScriptedModel()) for name in ("a b", "a_b")]
    assert problem(*twice) == "two agents would have the tool 'transfer_to_a_b': give one of them another name"
    assert (
        problem(billing(), billing())
        == "two agents would have the tool 'transfer_to_billing': give one of them another name"
    )
    assert problem(billing(output=City)).startswith("billing has another output")
    assert problem(billing(steps=0)) == "billing has 0 steps and could not continue a turn"
    assert problem(Agent("triage", model=ScriptedModel())) == "two agents are called 'triage'"
    alone = triage(to=[])
    with pytest.raises(ConfigError, match="cannot hand over to itself"):
        alone.add_handoffs(alone)
    with pytest.raises(ConfigError, match="two agents are called"):
        alone.add_handoffs(Agent("triage", model=ScriptedModel()))
    assert triage("still here", to=[]).run_sync("go").output == "still here" and alone.config.agents[-1].handoffs == ()
    other = billing("paid")
    assert triage(TO_BILLING, to=[other, other]).run_sync("go").output == "paid"


def test_replay_undo_fork_and_export_follow_a_handoff():
    journal = MemoryJournal()
    first = triage(TO_BILLING, TO_BILLING, to=[billing("paid", "paid again")], journal=journal)

    def agents_in(state):
        return state.turns, state.agents, state.turn.start.agent

    async def travel():
        one = await first.run("go")
        two = await first.run("more", session=one.session)
        assert [each.agent for each in (one, two)] == ["billing", "billing"]
        entries = await journal.load(one.session)
        assert verified(entries) is None
        async with first.runtime() as runtime:
            copies = [await runtime.fork(one.session, 2), await runtime.fork(one.session)]
            seen = [agents_in(await runtime.load(copy)) for copy in copies]
            bundle = await runtime.export(one.session)
            await runtime.undo(one.session)
            seen.append(agents_in(await runtime.load(one.session)))
        async with triage(to=[billing()], journal=MemoryJournal()).runtime() as elsewhere:
            seen.append(agents_in(await elsewhere.load(await elsewhere.import_bundle(bundle))))
        return seen, entries

    seen, entries = asyncio.run(travel())
    one, undone, both = [(n, {1: "billing", **more}, "billing") for n, more in ((1, {}), (2, {}), (2, {2: "billing"}))]
    assert seen == [one, both, undone, both]
    handoffs = [part for entry in entries for part in parts_of(entry) if isinstance(part, Handoff)]
    assert [part.id for part in handoffs] == ["1.1.handoff", "2.1.handoff"]
