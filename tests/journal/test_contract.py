"""One contract, every journal."""

import asyncio

import pytest
from support.journal_entries import INFO, entry, story
from support.postgres import new_schema, server_url

from bridle.core.budget import Budget, BudgetChange
from bridle.core.events import Entry, SessionInfo, SessionPut
from bridle.core.inbox import AbortItem, PromptItem
from bridle.core.ledger import Account, AccountChange, BudgetRefused, Reservation, TreeLimits
from bridle.core.limits import NOTHING, Limits, Spent
from bridle.errors import LeaseLost, NoSuchSession
from bridle.journal.memory import MemoryJournal
from bridle.journal.postgres import PostgresJournal
from bridle.journal.sqlite import SqliteJournal


@pytest.fixture(params=["memory", "sqlite", "sqlite process", "postgres", "postgres process"])
def make(request, tmp_path):
    """A function that opens the journal, and opens it again as another process would."""
    shared, schema = MemoryJournal(), new_schema()

    def open_journal():
        if request.param == "memory":
            return shared
        durability = "process" if request.param.endswith("process") else "power"
        if request.param.startswith("postgres"):
            return PostgresJournal(server_url(), schema=schema, durability=durability)
        return SqliteJournal(tmp_path / "journal.db", durability=durability)

    return open_journal


def test_what_was_appended_is_loaded_in_order(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        for sequence in (2, 3, 4):
            await journal.append(lease, entry(sequence), weight="intent" if sequence == 3 else "plain")
        expected = [Entry(1, 1.0, 0.0, (SessionPut(INFO),)), entry(2), entry(3), entry(4)]
        assert await journal.load("ses_a") == expected
        assert await journal.load("ses_a", 2) == expected[2:]
        await journal.release(lease)
        await journal.close()
        if not isinstance(journal, MemoryJournal):
            again = make()
            assert await again.load("ses_a") == expected
            await again.close()

    story(work)


def test_an_old_epoch_and_a_wrong_sequence_are_refused_and_nothing_is_written(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        old = await journal.acquire("ses_a")
        assert await journal.acquire("ses_a") is None
        assert await journal.held("ses_a")
        await journal.release(old)
        assert not await journal.held("ses_a")
        new = await journal.acquire("ses_a")
        assert new.epoch > old.epoch
        await journal.release(old)
        assert await journal.held("ses_a")
        for lease, wrong in ((old, 2), (new, 3), (new, 1)):
            with pytest.raises(LeaseLost):
                await journal.append(lease, entry(wrong))
        assert len(await journal.load("ses_a")) == 1
        await journal.append(new, entry(2))
        await journal.close()

    story(work)


def test_an_item_is_one_item_however_often_it_is_submitted_and_taken_with_its_entry(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        first, second = PromptItem("p1", "one"), PromptItem("p2", "two")
        assert await journal.submit("ses_a", first)
        assert await journal.submit("ses_a", second)
        assert not await journal.submit("ses_a", PromptItem("p1", "one again"))
        assert await journal.inbox("ses_a") == [first, second]
        lease = await journal.acquire("ses_a")
        await journal.append(lease, entry(2), take=["p1", "never came"])
        assert await journal.inbox("ses_a") == [second]
        assert not await journal.submit("ses_a", first)
        assert not await journal.submit("ses_a", PromptItem("never came", "too late"))
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(9), take=["p2"])
        assert await journal.inbox("ses_a") == [second]
        await journal.close()

    story(work)


def test_reservations_hold_on_every_ancestor_and_come_and_go_with_their_entry(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root, child = Account("root", None, Limits(tokens=100)), Account("child", "root", Limits(tokens=80))
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        await journal.append(lease, entry(3), change=AccountChange("child", opens=(child,)))
        held = Reservation("r1", Spent(steps=1, tokens=60))
        await journal.append(lease, entry(4), change=AccountChange("child", reserves=held))
        assert (await journal.account("child")).held == {"r1": held.amount}
        assert (await journal.account("root")).reserved == held.amount
        with pytest.raises(BudgetRefused) as refused:
            more = Reservation("r2", Spent(tokens=50))
            await journal.append(lease, entry(5), change=AccountChange("root", reserves=more))
        short = refused.value.shortage
        assert (short.account, short.limit, short.fits_now, short.fits_later) == ("root", "tokens", 40, 100)
        assert len(await journal.load("ses_a")) == 4
        await journal.append(
            lease, entry(5), change=AccountChange("child", settles=(("r1", Spent(steps=1, tokens=30)),))
        )
        for id in ("root", "child"):
            account = await journal.account(id)
            assert (account.spent, account.reserved, account.held) == (Spent(steps=1, tokens=30), NOTHING, {})
        await journal.append(lease, entry(6), change=AccountChange("child", settles=(("r1", Spent(tokens=30)),)))
        assert (await journal.account("root")).spent.tokens == 30
        await journal.close()

    story(work)


def test_a_refused_change_leaves_settlements_of_the_same_append_undone(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await journal.append(
            lease, entry(2), change=AccountChange("a", opens=(Account("a", None, Limits(tokens=100)),))
        )
        held = Reservation("r1", Spent(tokens=60))
        await journal.append(lease, entry(3), change=AccountChange("a", reserves=held))
        both = AccountChange("a", settles=(("r1", Spent(tokens=60)),), reserves=Reservation("r2", Spent(tokens=50)))
        with pytest.raises(BudgetRefused):
            await journal.append(lease, entry(4), change=both)
        account = await journal.account("a")
        assert (account.held, account.reserved, account.spent) == ({"r1": held.amount}, held.amount, NOTHING)
        await journal.close()

    story(work)


def test_held_entries_are_written_with_the_next_one_or_not_at_all(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        await journal.append(
            lease, entry(2), change=AccountChange("a", opens=(Account("a", None, Limits(tokens=100)),))
        )
        await journal.append(lease, entry(3), change=AccountChange("a", reserves=Reservation("r1", Spent(tokens=60))))
        settles = (("r1", Spent(tokens=60)),)
        with pytest.raises(BudgetRefused):
            more = AccountChange("a", settles=settles, reserves=Reservation("r2", Spent(tokens=50)))
            await journal.append(lease, entry(5), change=more, before=[entry(4)])
        assert len(await journal.load("ses_a")) == 3
        assert (await journal.account("a")).held == {"r1": Spent(tokens=60)}
        fits = AccountChange("a", settles=settles, reserves=Reservation("r2", Spent(tokens=40)))
        await journal.append(lease, entry(5), change=fits, before=[entry(4)])
        assert [found.sequence for found in await journal.load("ses_a")] == [1, 2, 3, 4, 5]
        account = await journal.account("a")
        assert (account.spent, account.held) == (Spent(tokens=60), {"r2": Spent(tokens=40)})
        with pytest.raises(LeaseLost):
            await journal.append(lease, entry(7), before=[entry(8)])
        await journal.close()

    story(work)


def test_accounts_that_hold_something_are_found_by_the_session_at_their_top(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        for place, id in enumerate(("ses_a/1", "ses_a.1/1", "ses_b/1", "ses_a.2/1", "ses_ab/1"), 2):
            await journal.append(lease, entry(place), change=AccountChange(id, opens=(Account(id),)))
        for place, id in enumerate(("ses_a.1/1", "ses_b/1", "ses_ab/1"), 7):
            held = AccountChange(id, reserves=Reservation("r", Spent(tokens=1)))
            await journal.append(lease, entry(place), change=held)
        assert [account.id for account in await journal.holding("ses_a")] == ["ses_a.1/1"]
        assert sorted(account.id for account in await journal.holding("")) == ["ses_a.1/1", "ses_ab/1", "ses_b/1"]
        await journal.close()

    story(work)


def test_subagents_take_places_and_a_child_lends_its_own(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root = Account("root", None, tree=TreeLimits(live=2, total=4))
        child = Account("child", "root")
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(3), change=AccountChange("root", starts=3))
        assert (refused.value.shortage.limit, refused.value.shortage.fits_now) == ("live", 2)
        await journal.append(lease, entry(3), change=AccountChange("root", starts=2, opens=()))
        await journal.append(lease, entry(4), change=AccountChange("child", opens=(child,)))
        # The first grandchild works in the place of its parent, which awaits it; a second one would need its own.
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(5), change=AccountChange("child", starts=2))
        assert (refused.value.shortage.limit, refused.value.shortage.fits_now) == ("live", 1)
        await journal.append(lease, entry(5), change=AccountChange("child", starts=1))
        account = await journal.account("root")
        assert (account.live, account.total, account.children) == (2, 3, 2)
        await journal.append(
            lease, entry(6), change=AccountChange("grandchild", opens=(Account("grandchild", "child"),))
        )
        await journal.append(lease, entry(7), change=AccountChange("grandchild", closes=True))
        assert (await journal.account("root")).live == 2
        await journal.append(lease, entry(8), change=AccountChange("child", closes=True))
        assert (await journal.account("root")).live == 1
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(9), change=AccountChange("root", starts=2))
        assert refused.value.shortage.limit == "total"
        await journal.close()

    story(work)


def test_a_charge_is_checked_against_the_trees_limits(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        lease = await journal.acquire("ses_a")
        root = Account("root", None, tree=TreeLimits(tool_calls=3))
        await journal.append(lease, entry(2), change=AccountChange("root", opens=(root,)))
        await journal.append(lease, entry(3), change=AccountChange("root", charges=Spent(tool_calls=2)))
        with pytest.raises(BudgetRefused) as refused:
            await journal.append(lease, entry(4), change=AccountChange("root", charges=Spent(tool_calls=2)))
        assert (refused.value.shortage.scope, refused.value.shortage.fits_now) == ("tree", 1)
        await journal.append(lease, entry(4), change=AccountChange("root", limits=Limits(tokens=5)))
        assert (await journal.account("root")).limits == Limits(tokens=5)
        await journal.close()

    story(work)


def test_many_sessions_append_at_once_and_none_is_mixed_up(make):
    async def work():
        journal = make()

        async def one(index):
            id = f"ses_{index}"
            await journal.create(SessionInfo(id, "/p", created=float(index)))
            lease = await journal.acquire(id)
            for sequence in range(2, 12):
                await journal.append(lease, entry(sequence), weight="intent" if sequence % 2 else "plain")
            await journal.release(lease)

        await asyncio.gather(*(one(index) for index in range(20)))
        for index in range(20):
            assert [found.sequence for found in await journal.load(f"ses_{index}")] == list(range(1, 12))
        assert {row.info.id for row in await journal.sessions()} == {f"ses_{index}" for index in range(20)}
        await journal.close()

    story(work)


def test_a_watcher_hears_of_items(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        if not isinstance(journal, MemoryJournal):
            await journal.posted("ses_a")
        posted = asyncio.ensure_future(journal.posted("ses_a"))
        await asyncio.sleep(0.01)
        await journal.submit("ses_a", AbortItem("x"))
        await asyncio.wait_for(posted, 60)
        await journal.close()

    story(work)


def test_an_unknown_session_is_said_to_be_unknown(make):
    async def work():
        journal = make()
        for ask in (journal.load, journal.inbox, journal.acquire):
            with pytest.raises(NoSuchSession, match="ses_none"):
                await ask("ses_none")
        await journal.close()

    story(work)


def test_a_deleted_session_is_gone_and_what_the_day_has_spent_is_not(make):
    async def work():
        journal = make()
        for id in ("ses_a", "ses_b"):
            await journal.create(SessionInfo(id, "/p"))
            lease = await journal.acquire(id)
            day = Account("day/one", None, scope="day")
            opens = AccountChange(f"{id}/1", opens=(Account(f"{id}/1", day.id), day), charges=Spent(tokens=5))
            await journal.append(lease, entry(2), change=opens)
            await journal.submit(id, PromptItem("p", "x"))
            await journal.release(lease)
        before = await journal.size("ses_b")
        lease = await journal.acquire("ses_a")
        await journal.delete(lease)
        await journal.release(lease)
        for ask in (journal.load, journal.inbox, journal.acquire, journal.size):
            with pytest.raises(NoSuchSession, match="ses_a"):
                await ask("ses_a")
        assert await journal.account("ses_a/1") is None
        assert (await journal.account("day/one")).spent.tokens == 10
        assert [row.info.id for row in await journal.sessions()] == ["ses_b"]
        # Another session never takes the place of one that somebody may still know.
        await journal.create(SessionInfo("ses_c", "/p"))
        await journal.create(SessionInfo("ses_a", "/q"))
        assert len(await journal.load("ses_a")) == 1
        await journal.shrink()
        assert await journal.size("ses_b") == before > 0
        await journal.close()

    story(work)


def test_an_old_lease_deletes_nothing(make):
    async def work():
        journal = make()
        await journal.create(INFO)
        old = await journal.acquire("ses_a")
        await journal.release(old)
        await journal.acquire("ses_a")
        with pytest.raises(LeaseLost):
            await journal.delete(old)
        assert len(await journal.load("ses_a")) == 1
        await journal.close()

    story(work)


def days_of(owner, name="1"):
    """An account of a turn below a day and a month of its owner, and the change that opens them."""
    month = Account(f"{owner}/month/{name}", None, Limits(tokens=900), scope="month", owner=owner)
    day = Account(f"{owner}/day/{name}", month.id, Limits(tokens=90), scope="day", owner=owner)
    return AccountChange(f"ses_{owner}/1", opens=(Account(f"ses_{owner}/1", day.id), day, month))


def test_a_stored_budget_holds_for_the_days_and_months_of_its_account_from_the_next_reservation_on(make):
    async def work():
        journal, other = make(), make()
        for owner in ("ann", "bob"):
            await journal.create(SessionInfo(f"ses_{owner}", "/p"))
        leases = {owner: await journal.acquire(f"ses_{owner}") for owner in ("ann", "bob")}
        for owner, lease in leases.items():
            await journal.append(lease, entry(2), change=days_of(owner))
        budget = Budget(daily=Limits(tokens=20), monthly=Limits(cost=5.0))
        assert await other.set_budget("ann", BudgetChange(budget, 7.0))
        rows = {id: (await journal.account(id)).limits for id in ("ann/day/1", "ann/month/1", "bob/day/1")}
        assert rows == {"ann/day/1": budget.daily, "ann/month/1": budget.monthly, "bob/day/1": Limits(tokens=90)}
        with pytest.raises(BudgetRefused) as refused:
            wanted = AccountChange("ses_ann/1", reserves=Reservation("r", Spent(tokens=21)))
            await journal.append(leases["ann"], entry(3), change=wanted)
        short = refused.value.shortage
        assert (short.account, short.scope, short.owner, short.allowed) == ("ann/day/1", "day", "ann", 20)
        # What opens a day again, or another one, knows only limits of settings: the stored budget wins.
        for sequence, name in ((3, "1"), (4, "2")):
            await journal.append(leases["ann"], entry(sequence), change=days_of("ann", name))
            assert (await journal.account(f"ann/day/{name}")).limits == budget.daily
        assert await other.set_budget("ann", BudgetChange(Budget(), 8.0))
        await journal.append(leases["ann"], entry(5), change=wanted)
        assert (await journal.account("ann/day/2")).reserved.tokens == 21
        await journal.close()
        await other.close()

    story(work)


def test_each_change_of_a_budget_is_kept_with_its_time_and_the_last_one_holds(make):
    async def work():
        journal = make()
        assert await journal.budgets("ann") == []
        changes = [BudgetChange(Budget(daily=Limits(cost=cost)), cost) for cost in (1.0, 2.0, 1.0)]
        for change in changes:
            assert await journal.set_budget("ann", change)
            assert not await journal.set_budget("ann", BudgetChange(change.budget, 99.0))
        assert await journal.set_budget("an", BudgetChange(Budget(), 4.0))
        assert await journal.budgets("ann") == changes[-1:]
        assert await journal.budgets("ann", 9) == changes[::-1]
        await journal.close()
        if not isinstance(journal, MemoryJournal):
            again = make()
            assert await again.budgets("ann", 2) == changes[:0:-1]
            await again.close()

    story(work)
