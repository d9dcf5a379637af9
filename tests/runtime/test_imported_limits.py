"""Limits come from here: an imported turn spends and does no more than a new one."""

import asyncio
import json

import pytest
from support.bundles import REPLIES, asking, part, paused, ran, runtime_in

from bridle import ConfigError, Rule, Settings, call
from bridle.config.settings import Allowance, Behavior, LimitSettings
from bridle.core.limits import Limits
from bridle.runtime.transfer import import_bundle


@pytest.fixture(autouse=True)
def nothing_has_run():
    ran.clear()


def foreign_account(bundle):
    part(bundle, "turn_start")["account"] = "day/2026-01-01"


def many_steps(bundle):
    """The cap is set for all of these."""


def another_session(bundle):
    asking(bundle)["state"] = {"type": "waiting", "child": "ses_victim"}


def another_parent(bundle):
    part(bundle, "turn_start")["mandate"] = {"parent": "ses_v", "call": "1.1.1.0.0", "account": "ses_v/1", "depth": 1}


def a_subagent(bundle):
    asking(bundle)["state"] = {"type": "waiting", "child": "ses_one.1.1.1.0.0"}
    part(bundle, "call")["arguments"] = '{"subagent_type": "general", "prompt": "p", "description": "d"}'


DRAWN = {
    "has started general, which your rules do not allow": a_subagent,
    "spends from account 'day/2026-01-01'": foreign_account,
    "150 steps, and your ceiling is 20": many_steps,
    "waits for ses_victim": another_session,
    "works for ses_v": another_parent,
}


@pytest.mark.parametrize(("words", "tamper"), DRAWN.items(), ids=[tamper.__name__ for tamper in DRAWN.values()])
def test_an_imported_turn_that_draws_on_what_is_not_its_own_is_refused(words, tamper, tmp_path):
    async def work():
        bundle = await paused(tmp_path)
        tamper(bundle)
        settings = Settings(behavior=Behavior(ceiling=20))
        part(bundle, "turn_start")["cap"] = 150 if tamper is many_steps else 20
        async with runtime_in(tmp_path, Rule("task", "*", "deny"), settings=settings) as runtime:
            with pytest.raises(ConfigError, match=words):
                await import_bundle(runtime, json.dumps(bundle).encode())
            return await runtime.sessions()

    assert asyncio.run(work()) == []


def test_an_imported_turn_is_charged_to_the_day_on_which_it_goes_on(tmp_path):
    async def work():
        bundle = await paused(tmp_path)
        part(bundle, "turn_start")["at"] = 1_000.0
        settings = Settings(limits=LimitSettings(daily=Allowance(cost=5.0)))
        async with runtime_in(tmp_path, Rule("python", "*", "allow"), settings=settings) as runtime:
            session = await import_bundle(runtime, json.dumps(bundle).encode())
            await runtime.resume(session)
            assert (await runtime.wait(session, "prm")).reason == "answered"
            assert await runtime.journal.account("day/1970-01-01") is None
            return (await runtime.account()).today.spent.cost

    assert asyncio.run(work()) > 0


def generous(bundle):
    """The turn brings more than anybody here has."""
    part(bundle, "turn_start")["limits"] = {"tool_calls": 900}


def without_limits(bundle):
    part(bundle, "turn_start")["limits"] = {}


def extended(bundle):
    entries = bundle["sessions"][0]["entries"]
    longer = {"kind": "extension", "id": "1.extension.ext", "limit": "tool_calls", "by": 900.0}
    entries.append({**entries[-1], "sequence": len(entries) + 1, "events": [{"event": "put", "part": longer}]})


@pytest.mark.parametrize("tamper", [generous, without_limits, extended])
def test_an_imported_turn_may_do_no_more_than_a_new_one_here(tamper, tmp_path):
    calls = [call("touch", name=str(number)) for number in range(9)]

    async def work():
        bundle = await paused(tmp_path)
        tamper(bundle)
        settings = Settings(
            limits=LimitSettings(tool_calls=3, tokens=50_000, cost=2.0, seconds=60.0), behavior=Behavior(max_steps=12)
        )
        allowed = Rule("python", "*", "allow")
        raw = json.dumps(bundle).encode()
        async with runtime_in(tmp_path, allowed, settings=settings, replies=[REPLIES[0], *calls, "Done."]) as runtime:
            session = await import_bundle(runtime, raw)
            turn = (await runtime.load(session)).running
            assert (turn.cap, turn.limits) == (12, Limits(12, 3, 50_000, 2.0, 60.0))
            assert (await runtime.journal.account(turn.start.account)).limits == Limits(tokens=50_000, cost=2.0)
            await runtime.resume(session)
            result = await runtime.wait(session, "prm")
        return result.reason

    assert asyncio.run(work()) == "tool_budget"
    assert len(ran) == 3


def test_the_same_file_is_imported_again_whatever_limits_there_are_by_now(tmp_path):
    async def work():
        raw = json.dumps(await paused(tmp_path)).encode()
        for most in (3, 30):
            settings = Settings(limits=LimitSettings(tool_calls=most))
            async with runtime_in(tmp_path / "x", settings=settings, journal=tmp_path / "journal.db") as runtime:
                session = await import_bundle(runtime, raw)
        return session

    assert asyncio.run(work()) == "ses_one"
