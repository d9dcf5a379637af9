"""Named accounts: turns pay into their days and months, and end at the budgets that are stored for them."""

import asyncio
import logging

import pytest
from support.virtual import run_virtually

from bridle import (
    Agent,
    Budget,
    ConfigError,
    Context,
    Limits,
    Price,
    ReachedLimit,
    Reply,
    Runtime,
    RuntimeConfig,
    ScriptedModel,
    Settings,
    call,
    tool,
)
from bridle.config.settings import Allowance, LimitSettings
from bridle.core.budget import BudgetChange
from bridle.core.inbox import TurnOptions
from bridle.core.parts import Notice, Sentinel
from bridle.core.states import Usage
from bridle.journal.memory import MemoryJournal

PRICE = Price(1_000.0, 1_000.0)
"""A dollar for a thousand tokens."""
DAY = 86_400
USE = Usage(100, 100)
"""20 cents."""


def says(text="ok"):
    return Reply(text=text, usage=USE)


def priced(play=lambda request: says(), **more):
    return ScriptedModel(play, price=PRICE, max_output_tokens=1_024, **more)


def tenants(seams, model=None, journal=None, **more):
    return Agent("clerk", model=model or priced(), seams=seams, journal=journal or MemoryJournal(), **more)


@tool
def look(n: int) -> str:
    """Look."""
    return f"seen {n}"


def looking(request):
    usage = Usage(100, 900)
    return Reply(calls=(call("look", n=len(request.messages)),) if request.tools else (), text="so far", usage=usage)


def test_a_turn_pays_into_the_day_and_the_month_of_its_account_and_of_no_other():
    async def work(seams):
        agent = tenants(seams)
        async with agent.runtime() as runtime:
            await runtime.set_budget("ann", Budget(daily=Limits(cost=5.0), monthly=Limits(tokens=90_000)))
            await agent.run("go", account="ann")
            await agent.run("go", account="ann")
            await agent.run("go")
            ann, bob, user = [await runtime.account(name) for name in ("ann", "bob", "")]
            rows = {id: row.spent.cost for id, row in runtime.journal._accounts.items() if "/1" not in id[-3:]}
        return ann, bob, user, rows

    ann, bob, user, rows = run_virtually(work)
    assert rows == {"ann/day/2023-11-14": 0.4, "ann/month/2023-11": 0.4}
    assert (ann.account, ann.today.spent.cost, ann.month.spent.tokens) == ("ann", 0.4, 400)
    assert (ann.today.left, ann.month.left) == (Limits(cost=4.6), Limits(tokens=89_600))
    assert ann.budget == Budget(daily=Limits(cost=5.0), monthly=Limits(tokens=90_000))
    assert ann.stored == BudgetChange(ann.budget, 1_700_000_000.0)
    assert [each.today.spent.cost for each in (bob, user)] == [0, 0]
    assert (bob.stored, bob.today.left) == (None, Limits())


def test_an_account_that_ends_a_turn_is_named_in_notice_instruction_sentinel_and_result():
    async def work(seams):
        agent = tenants(seams, priced(looking), tools=[look])
        async with agent.runtime() as runtime:
            await runtime.set_budget("tenant-7", Budget(daily=Limits(cost=8.0)))
            result = await agent.run("go", account="tenant-7")
            return result, await runtime.load(result.session), await runtime.account("tenant-7")

    result, session, use = run_virtually(work)
    spent = result.limit.spent
    assert (result.reason, result.limit) == ("cost_budget", ReachedLimit("cost", "day", spent, 8.0, "tenant-7"))
    assert 0 < spent <= use.today.spent.cost <= 8.0 and use.today.reserved.cost == 0
    words = f"Daily cost limit of tenant-7 reached (${spent:.2f} of $8.00)"
    parts = session.parts.values()
    assert [part.text for part in parts if isinstance(part, Sentinel)] == [words]
    assert words in next(part.text for part in parts if isinstance(part, Notice) and part.about == "closing")


def test_at_80_percent_of_an_account_the_turn_is_told_once_with_its_name():
    async def work(seams):
        agent = tenants(seams, priced(looking), tools=[look], steps=16)
        async with agent.runtime() as runtime:
            await runtime.set_budget("ann", Budget(daily=Limits(tokens=40_000), monthly=Limits(tokens=90_000)))
            await agent.run("go", account="ann")
            result = await agent.run("go", account="ann", limits=Limits(steps=60))
            state = await runtime.load(result.session)
            return result, [part.text for part in state.parts.values() if getattr(part, "about", "") == "budget"]

    result, told = run_virtually(work)
    assert (result.reason, result.limit.name, result.limit.account) == ("token_budget", "tokens", "ann")
    (notice,) = told
    assert notice.startswith("Daily token limit of ann nearly reached (32000 of 40000)")


def test_subagents_and_agents_that_tools_run_pay_into_the_account_of_their_root():
    @tool
    async def ask(ctx: Context[None]) -> str:
        """Ask another agent."""
        return (await ctx.run(Agent("nested", model=priced(ref="n")), "go")).output

    async def work(seams):
        scout = Agent("scout", description="Scouts.", model=priced(ref="s"), seams=seams)
        task = call("task", description="look", prompt="look", subagent_type="scout")
        replies = [Reply(calls=(task, call("ask")), usage=USE), says("done")]
        model = ScriptedModel(replies, price=PRICE)
        agent = tenants(seams, model, tools=[ask], subagents=[scout])
        async with agent.runtime() as runtime:
            result = await agent.run("go", account="ann")
            return result, await runtime.account("ann")

    result, use = run_virtually(work)
    assert (result.output, sorted(result.models)) == ("done", ["n", "s", "scripted/model"])
    assert use.today.spent.cost == use.month.spent.cost == pytest.approx(result.cost) == pytest.approx(0.8)


def test_a_session_keeps_its_account_and_a_configuration_has_one_for_all_others():
    async def work(seams):
        journal = MemoryJournal()
        agent = tenants(seams, journal=journal)
        first = await agent.run("go", account="ann")
        await agent.run("go on", session=first.session)
        agent = tenants(seams, journal=journal, account="shop")
        async with agent.runtime() as runtime:
            fork = await runtime.fork(first.session)
            for given in ({"session": fork}, {}, {"account": "bob"}, {"session": first.session, "account": "bob"}):
                await agent.run("go on", **given)
            await runtime.compact(first.session)
            await runtime.parked(first.session)
            owners = (await runtime.load(first.session)).turn.start.owner
            return owners, [(await runtime.account(name)).today.spent.tokens for name in ("ann", "bob", "shop", "")]

    owner, spent = run_virtually(work)
    assert (owner, spent[0], spent[2], spent[3]) == ("bob", 600, 200, 200)
    assert spent[1] >= 400


def test_days_and_months_begin_in_utc():
    async def work(seams):
        agent = tenants(seams, priced(lambda request: Reply(text="ok", usage=Usage(100, 900))))
        found = []
        async with agent.runtime() as runtime:
            await runtime.set_budget("ann", Budget(daily=Limits(cost=8.0), monthly=Limits(cost=14.0)))
            # 22:13 of November 14, the next day, and the first of December.
            for seconds in (0, 2 * 3_600, 16 * DAY):
                await asyncio.sleep(seconds)
                limits = [(await agent.run("go", account="ann")).limit for _ in range(12)]
                use = await runtime.account("ann")
                found.append((limits[0], limits[-1].scope, use.today.spent.cost, use.month.spent.cost))
        return found, sorted(id for id in runtime.journal._accounts if id.startswith("ann/"))

    found, rows = run_virtually(work)
    # Each day begins with room, and is closed by its own limit or, on the second, by the month's.
    assert [(before, scope) for before, scope, *_ in found] == [(None, "day"), (None, "month"), (None, "day")]
    (first, november), (second, both), (third, december) = [amounts for _, _, *amounts in found]
    assert (november, both, december) == (first, pytest.approx(first + second), third)
    days = [f"ann/day/2023-{day}" for day in ("11-14", "11-15", "12-01")]
    assert rows == [*days, "ann/month/2023-11", "ann/month/2023-12"]


def test_a_cost_limit_of_an_account_needs_the_price_of_every_model():
    async def work(seams):
        task = call("task", description="look", prompt="look", subagent_type="scout")
        scout = Agent("scout", description="Scouts.", model=ScriptedModel(["found"], ref="no/price"), seams=seams)
        lead = tenants(seams, ScriptedModel([task, "told"], price=PRICE), subagents=[scout])
        plain = Agent(model=ScriptedModel(["ok"]), seams=seams, journal=lead.config.journal)
        texts = []
        async with lead.runtime() as runtime:
            for budget in (Budget(daily=Limits(tokens=10**6)), Budget(monthly=Limits(cost=90.0))):
                await runtime.set_budget("ann", budget)
                result = await lead.run("go", account="ann")
                texts.append(next(message.text for message in result.messages if hasattr(message, "call")))
                before = len(await runtime.sessions())
                try:
                    texts.append((await plain.run("go", account="ann")).text)
                except ConfigError as refused:
                    texts.append(str(refused))
            assert len(await runtime.sessions()) == before
            assert (await plain.run("go")).reason == "answered"
        return texts

    texts = run_virtually(work)
    assert texts[0].endswith("found") and texts[1] == "ok"
    assert "NOT complete, it ended with error" in texts[2] and "a cost limit needs a price" in texts[2]
    assert texts[3].startswith("a cost limit needs a price, and none is known for scripted/model")


def test_limits_of_the_settings_hold_for_each_account_without_a_budget():
    async def work(seams):
        daily = LimitSettings(daily=Allowance(cost=3.0))
        agent = tenants(seams, settings=Settings(limits=daily))
        async with agent.runtime() as runtime:
            await runtime.set_budget("bob", Budget())
            for name in ("ann", "bob", "", "cy"):
                for _ in range(9):
                    result = await agent.run("go", account=name)
                limit = result.limit and (result.limit.scope, result.limit.account)
                found.append((name, result.reason, limit))
            return [(await runtime.account(name)).today.limits.cost for name in ("ann", "bob", "")]

    found = []
    assert run_virtually(work) == [3.0, None, 3.0]
    closed = [(name, "cost_budget", ("day", name)) for name in ("ann", "", "cy")]
    assert found == [closed[0], ("bob", "answered", None), *closed[1:]]


def test_the_last_change_of_a_budget_holds_is_logged_and_recorded_with_its_time(caplog):
    async def work(seams):
        journal = MemoryJournal()
        async with Runtime(RuntimeConfig(journal=journal, seams=seams)) as runtime:
            for cost in (5.0, 5.0, 2.0):
                await runtime.set_budget("ann", Budget(daily=Limits(cost=cost, tokens=1_000)))
                await asyncio.sleep(60)
        return await journal.budgets("ann", 9), await journal.budgets("bob")

    caplog.set_level(logging.INFO, "bridle")
    changes, others = run_virtually(work)
    assert [(each.budget.daily.cost, each.at - 1_700_000_000) for each in changes] == [(2.0, 120), (5.0, 0)]
    words = "budget of ann: daily 1000 tokens and ${}, monthly unlimited"
    assert (others, caplog.messages) == ([], [words.format(5.0), words.format(2.0)])


@pytest.mark.parametrize("name", ["a/b", "a:b", ".a", "a b", "a" * 300, 7, None, "ä\n"])
def test_names_of_accounts_that_no_id_can_hold_are_refused_where_they_are_given(name):
    agent = Agent(model=ScriptedModel(["ok"]))
    refused = "( is not a valid name: use letters| must be text, not )"

    async def work():
        async with agent.runtime() as runtime:
            session = await runtime.create()
            for what, given in {
                "set_budget: account": lambda: runtime.set_budget(name, Budget()),
                "account": lambda: runtime.account(name),
                "prompt: account": lambda: runtime.prompt(session, "go", options=TurnOptions(account=name)),
            }.items():
                with pytest.raises(ConfigError, match=f"^{what}.*{refused}"):
                    await given()
            assert await runtime.waiting_prompts(session) == []

    asyncio.run(work())
    with pytest.raises(ConfigError, match=f"^run: account.*{refused}"):
        agent.run_sync("go", account=name)
    with pytest.raises(ConfigError, match=f"^(RuntimeConfig: )?account.*{refused}"):
        Runtime(RuntimeConfig(account=name))


@pytest.mark.parametrize(
    ("account", "budget", "words"),
    [
        ("", Budget(), "set_budget: account must not be empty: the user's own limits are"),
        ("ann", None, "set_budget: budget must be Budget, not None"),
        ("ann", Budget(daily=Limits(cost=-1)), "set_budget: budget: daily: cost must not be negative"),
        ("ann", Budget(monthly=Limits(tokens=0)), "set_budget: budget: monthly: tokens must be more than 0"),
        ("ann", Budget(monthly=Limits(steps=5)), "set_budget: budget: monthly: steps cannot be limited .*tokens, cost"),
        ("ann", Budget(daily="all"), "set_budget: budget: "),
    ],
)
def test_a_budget_that_cannot_hold_is_refused_and_not_stored(account, budget, words):
    async def work():
        async with Runtime() as runtime:
            with pytest.raises(ConfigError, match=f"^{words}"):
                await runtime.set_budget(account, budget)
            return await runtime.journal.budgets(account)

    assert asyncio.run(work()) == []


def test_a_session_with_the_name_of_an_account_is_deleted_without_its_spending():
    async def work(seams):
        agent = tenants(seams)
        async with agent.runtime() as runtime:
            await runtime.create("ann")
            await agent.run("go", session="ann", account="ann")
            await runtime.delete("ann")
            return (await runtime.account("ann")).month.spent.tokens, await runtime.journal.account("ann/1")

    assert run_virtually(work) == (200, None)


def test_an_imported_session_is_paid_by_this_machine_and_not_by_the_name_in_its_file():
    async def work(seams):
        there, here = tenants(seams), tenants(seams, account="here")
        result = await there.run("go", account="ann")
        async with there.runtime() as runtime:
            bundle = await runtime.export(result.session)
        async with here.runtime() as runtime:
            await runtime.import_bundle(bundle)
            assert await runtime.import_bundle(bundle) == result.session
            await here.run("go on", session=result.session)
            return [(await runtime.account(name)).today.spent.tokens for name in ("ann", "here")]

    assert run_virtually(work) == [0, 200]
