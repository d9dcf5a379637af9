"""Journals that an older version wrote are loaded without loss, follow from their record, and go on.

The databases stand in `tests/data/journals`, each with a JSON file of what the version that wrote it has loaded.
"""

import json
from collections import Counter
from functools import cache
from typing import NamedTuple

import pytest
from data.journals.reading import (
    FILES,
    HERE,
    MACHINE,
    PACKED,
    amounts,
    builtins,
    lost,
    read_again,
    read_journal,
    read_raw,
    unpack,
)
from data.journals.scenarios import FOLDER, NEXT, SCENARIOS, SESSION, open_runtime
from support.virtual import run_virtually

from bridle import Budget, Limits
from bridle.core.inbox import TurnOptions
from bridle.core.limits import Spent
from bridle.core.replay import verified


class Loaded(NamedTuple):
    """A journal as it is loaded: as plain data, what was recorded and is not there, and what does not follow."""

    told: dict
    missing: list
    different: dict


LEAST = 36
LEAST_WITH_LOG = 3
ENDED = ("done", "failed", "refused")
EMPTY = ("reserved", "held", "keeps", "children", "live")


def stored(suffix):
    """The names of the scenarios that have a file of this kind."""
    return {path.name[: -len(end)] for end in (suffix, suffix + PACKED) for path in HERE.glob(f"*{end}")}


def working(name, folder, work):
    """Run work on a copy of a stored journal, in virtual time, with the models and tools of its scenario."""
    path, ran = unpack(name, folder), []

    async def run(seams):
        async with open_runtime(SCENARIOS[name], name, path, ran=ran, seams=seams) as runtime:
            return await work(runtime, ran)

    return run_virtually(run)


async def entries_of(runtime):
    return {row.info.id: await runtime.journal.load(row.info.id) for row in await runtime.sessions()}


async def calls_of(runtime):
    """Every call of every session: its tool, its key and the word for its state."""
    found = []
    for row in await runtime.sessions():
        for part in (await runtime.load(row.info.id)).parts.values():
            told = builtins(part)
            if told["kind"] == "call":
                given = json.loads(told.get("changed") or told["arguments"] or "{}")
                found.append((told["name"], given.get("key", ""), builtins(part.state)["type"]))
    return found


def keys(calls, *states):
    return Counter((name, key) for name, key, state in calls if state in states)


async def ended(runtime, prompt, choice):
    """The result of a prompt, with every ask on the way answered in the same way."""
    result = await runtime.wait(SESSION, prompt)
    while result.reason == "paused":
        assert result.asks, "a turn that cannot go on must say what it awaits"
        for ask in result.asks:
            await runtime.answer(SESSION, ask.id, choice, "blue" if ask.kind == "question" else "")
        result = await runtime.wait(SESSION, prompt)
    return result


def test_every_scenario_has_its_journal_and_its_expectation():
    assert stored(FILES[0]) == stored(".json") == set(SCENARIOS)
    assert len(SCENARIOS) >= LEAST
    assert len(stored(FILES[1])) >= LEAST_WITH_LOG


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """What the current version loads from a journal, from one opening for all tests: opening costs most of the time."""

    @cache
    def load(name):
        raw = read_raw(unpack(name, tmp_path_factory.mktemp("raw")))

        async def work(runtime, ran):
            again = await read_again(runtime)
            accounts = {id: builtins(await runtime.journal.account(id)) for id in raw.accounts}
            missing = [
                *lost(raw.infos, again.infos, "info"),
                *lost(raw.entries, again.entries, "entry"),
                *lost(raw.items, again.items, "item"),
                *lost(raw.accounts, accounts, "account"),
            ]
            different = {id: verified(entries) for id, entries in (await entries_of(runtime)).items()}
            return Loaded(await read_journal(runtime, raw.accounts), missing, different)

        return working(name, tmp_path_factory.mktemp("loaded"), work)

    return load


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_old_journal_loads_as_it_did(name, loaded):
    assert loaded(name).told == json.loads((HERE / f"{name}.json").read_text())


@pytest.mark.parametrize("name", SCENARIOS)
def test_nothing_that_was_recorded_is_lost_on_loading(name, loaded):
    """A renamed field with a default would be dropped in silence: what is encoded again must hold all that was read."""
    assert loaded(name).missing == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_decision_follows_from_an_old_record(name, loaded):
    assert set(loaded(name).different.values()) == {None}


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_old_session_goes_on_and_ends_well(name, tmp_path):
    """An open turn is resumed; a session without one takes a new prompt."""
    scenario = SCENARIOS[name]

    async def work(runtime, ran):
        before = await calls_of(runtime)
        if scenario.waits:
            await runtime.resume(SESSION)
        else:
            await runtime.prompt(SESSION, "go on", id=NEXT)
        results = [await ended(runtime, prompt, scenario.answer) for prompt in scenario.waits or (NEXT,)]
        assert (results[-1].reason, bool(results[-1].text.strip())) == (scenario.ends, True), results[-1].detail
        await check_calls(runtime, before, ran)
        await check_record(runtime)
        await check_ledger(runtime, json.loads((HERE / f"{name}.json").read_text())["accounts"])

    working(name, tmp_path, work)


def test_days_and_months_of_an_old_journal_are_the_users_and_named_ones_begin_beside_them(tmp_path):
    async def work(runtime, ran):
        before = await runtime.account()
        await runtime.set_budget("ann", Budget(daily=Limits(cost=1.0)))
        prompt = await runtime.prompt(SESSION, "go on", options=TurnOptions(account="ann"))
        assert (await ended(runtime, prompt, "once")).reason == "answered"
        return before, await runtime.account(), await runtime.account("ann")

    before, after, ann = working("allowances", tmp_path, work)
    assert (
        before.today.spent == before.month.spent == Spent(steps=2, tool_calls=1, tokens=24, cost=6.000000000000001e-05)
    )
    assert (after, ann.today.spent.steps) == (before, 1)
    assert ann.budget == Budget(daily=Limits(cost=1.0))


async def check_calls(runtime, before, ran):
    """No call is left open; no call ran again that had ended, or that was running and is not repeatable."""
    after = await calls_of(runtime)
    assert {state for _, _, state in after} <= set(ENDED)
    fresh = keys(after, "done", "failed") - keys(before, *ENDED)
    assert Counter(ran) - fresh == Counter()
    begun = Counter({made: count for made, count in keys(before, "running").items() if made[0] != "look"})
    assert Counter(ran) & begun == Counter()


async def check_record(runtime):
    """Each turn has one end, every decision follows from the record, and nothing waits any more."""
    for id, entries in (await entries_of(runtime)).items():
        parts = [event["part"] for entry in entries for event in builtins(entry.events) if event["event"] == "put"]
        begun = [part["number"] for part in parts if part["kind"] == "turn_start"]
        finished = [part["number"] for part in parts if part["kind"] == "turn_finish"]
        assert finished == begun == sorted(set(begun)), id
        assert verified(entries) is None, id
        assert str((await runtime.status(id)).state) == "idle", id
        assert await runtime.journal.inbox(id) == [], id


async def check_ledger(runtime, known):
    """No account holds a reservation or a place."""
    assert await runtime.journal.holding("") == []
    opened = {
        event["part"]["account"]
        for entries in (await entries_of(runtime)).values()
        for entry in entries
        for event in builtins(entry.events)
        if event["event"] == "put" and event["part"]["kind"] == "turn_start"
    }
    for id in opened | set(known):
        account = await runtime.journal.account(id)
        # A fork has the turns of the session that it was forked from, and not their accounts.
        if account is not None:
            assert amounts({name: builtins(getattr(account, name)) for name in EMPTY}) == {}, id


def test_the_stored_journals_name_no_path_of_the_machine_that_wrote_them(tmp_path):
    for name in SCENARIOS:
        (tmp_path / name).mkdir()
        path = unpack(name, tmp_path / name)
        stored_bytes = b"".join(file.read_bytes() for file in sorted((tmp_path / name).iterdir()))
        assert [place for place in MACHINE if place in stored_bytes] == [], name
        assert {info["directory"] for info in read_raw(path).infos.values()} == {str(FOLDER / name)}
