"""Several processes and tenants on one SQLite file: no budget is overspent, and a change holds in all of them."""

import asyncio
import subprocess
import sys

import pytest
from support.paths import TESTS
from support.tenants import RUNS, agent
from support.virtual import run_virtually

from bridle import Agent, Budget, Limits, Price, Reply, ScriptedModel, Settings, call, tool
from bridle.config.settings import Allowance, LimitSettings
from bridle.core.limits import NOTHING
from bridle.core.states import Usage
from bridle.journal.sqlite import SqliteJournal

PROCESSES = 4
EACH = 0.001
"""The cost of one request in US dollars."""


def start(folder, *words):
    command = [sys.executable, "-m", "support.tenants", str(folder), *words]
    return subprocess.Popen(command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def budgets(folder, **costs):
    """Store daily budgets of tenants, as one process does, and return their use."""

    async def work():
        async with agent(folder).runtime() as runtime:
            for name, cost in costs.items():
                await runtime.set_budget(name, Budget(daily=Limits(cost=cost)))
            return [await runtime.account(name) for name in ("ann", "bob", "")]

    return asyncio.run(work())


def test_tenants_in_several_processes_are_not_overspent_and_not_seen_by_each_other(tmp_path):
    # Ann's runs would cost more than a budget of ten requests, Bob's fit.
    budgets(tmp_path, ann=10 * EACH, bob=1.0)
    for process in [start(tmp_path) for _ in range(PROCESSES)]:
        process.communicate(timeout=120)
        assert process.returncode == 0
    ann, bob, user = budgets(tmp_path)
    spent = [round(use.month.spent.cost / EACH) for use in (ann, bob, user)]
    assert (spent[1:], 4 < spent[0] <= 10) == ([PROCESSES * RUNS, 0], True)
    assert ann.today.spent.cost <= ann.budget.daily.cost == 10 * EACH
    assert [use.today.reserved for use in (ann, bob)] == [NOTHING, NOTHING]
    assert (bob.account, bob.budget.daily.cost, bob.today.left.cost) == ("bob", 1.0, pytest.approx(1 - spent[1] * EACH))


@pytest.mark.parametrize(("cost", "ending"), [(2 * EACH, "cost_budget"), (2.0, "answered")])
def test_a_budget_that_another_process_changes_holds_at_the_next_reservation(tmp_path, cost, ending):
    budgets(tmp_path, ann=1.0)
    process = start(tmp_path, "ann")
    assert process.stdout.readline() == "inside\n"
    # Also the month, and the other tenant, are free.
    budgets(tmp_path, ann=cost, bob=EACH)
    told, _ = process.communicate("go on\n", timeout=120)
    assert told.startswith(ending)
    assert ("account='ann'" in told and f"allowed={cost}" in told) is (ending == "cost_budget")


def steps_cost(tmp_path, steps, *, days):
    """Return the statements about accounts and budgets of a turn of so many steps, after so many earlier days."""
    looks = iter(range(steps))

    @tool
    def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    def play(request):
        return call("look", n=n) if request.tools and (n := next(looks, None)) is not None else "done"

    async def work(seams):
        journal = SqliteJournal(tmp_path / f"{steps} {days}.db", seams=seams)
        model = ScriptedModel(play, price=Price(1.0, 1.0))
        agent = Agent(model=model, tools=[look], seams=seams, journal=journal)
        async with agent.runtime() as runtime:
            for day in range(days):
                await runtime.set_budget("ann", Budget(daily=Limits(cost=50.0 + day)))
                await agent.run("go", account="ann", tools={"look": False})
                await asyncio.sleep(86_400)
            await runtime.set_budget("ann", Budget(daily=Limits(cost=50.0)))
            counted = []
            for connection in (journal._database.writer, journal._database.reader):
                connection.set_trace_callback(counted.append)
            result = await agent.run("go", account="ann")
            assert (result.reason, result.steps) == ("answered", steps + 1)
        await journal.close()
        return sum("account" in statement for statement in counted)

    return run_virtually(work)


def test_the_cost_of_a_step_in_the_ledger_does_not_grow_with_the_turn_the_days_or_the_budgets(tmp_path):
    few, more, many = (steps_cost(tmp_path, steps, days=0) for steps in (10, 30, 50))
    assert many - more == more - few
    assert steps_cost(tmp_path, 10, days=20) == few


def test_a_limit_of_tokens_in_the_settings_bounds_the_users_own_day():
    async def work(seams):
        limits = LimitSettings(daily=Allowance(tokens=6_000))
        model = ScriptedModel(lambda request: Reply(text="ok", usage=Usage(100, 900)), max_output_tokens=1_024)
        agent = Agent(model=model, seams=seams, settings=Settings(limits=limits))
        async with agent.runtime() as runtime:
            results = [await agent.run("go") for _ in range(9)]
            return results[-1].limit, (await runtime.account()).today

    limit, today = run_virtually(work)
    assert (limit.name, limit.scope, limit.account, limit.allowed) == ("tokens", "day", "", 6_000)
    assert 0 < today.spent.tokens <= 6_000 and today.left.tokens == 6_000 - today.spent.tokens
