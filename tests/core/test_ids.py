"""Every id as it stands on disk, and back again."""

import pytest
from hypothesis import given, strategies as st

from bridle.core import ids

DAY = 1_700_000_000.0
"""14 November 2023, in UTC."""

ON_DISK = [
    (ids.turn_part_id(2, "start"), "2.start"),
    (ids.wanted_id(2), "2.wanted"),
    (ids.wanted_id(2, "cmp_1"), "2.wanted.cmp_1"),
    (ids.extension_id(2, "ext_1"), "2.extension.ext_1"),
    (ids.notice_id(2, "steps"), "2.notice.steps"),
    (ids.notice_id(2, "step_end", 3, 0), "2.notice.step_end.3.0"),
    (ids.notice_id("2.3.1.0.0", "hook"), "2.3.1.0.0.notice.hook"),
    (ids.step_part_id(2, 3, "start"), "2.3.start"),
    (ids.step_part_id(2, 3, "refused.tool_calls"), "2.3.refused.tool_calls"),
    (ids.patch_id(2, 3, 17), "2.3.patch.17"),
    (ids.step_request_id(2, 3, 1), "2.3.1"),
    (ids.synthesis_id(2, 3, 1), "2.3.s1"),
    (ids.compaction_id(2, 1), "2.c1"),
    (ids.compaction_request_id("2.c1", 1), "2.c1.1"),
    (ids.reply_id("2.3.1", 0), "2.3.1.0"),
    (ids.reply_part_id("2.3.1.0", 4), "2.3.1.0.4"),
    (ids.request_part_id("2.3.1", "finish"), "2.3.1.finish"),
    (ids.undo_id(17), "undo.17"),
    (ids.redo_id(18), "redo.18"),
    (ids.message_id("2.3.1.0.0", "attached"), "2.3.1.0.0.attached"),
    (ids.ask_id("2.3.1.0.0", "bash"), "2.3.1.0.0.bash"),
    (ids.ask_id("2.3.1.0.0", "bash", again=True, changed=True), "2.3.1.0.0.bash.again.changed"),
    (ids.question_id("2.3.1.0.0"), "2.3.1.0.0.answer"),
    (ids.subtask_id("prm_1"), "prm_1.subtask"),
    (ids.typed_id("prm_1"), "prm_1.typed"),
    (ids.stored_prompt_id("prm_1"), "prm_1.prompt"),
    (ids.child_session_id("ses_a", "2.3.1.0.0"), "ses_a.2.3.1.0.0"),
    (ids.child_prompt_id("ses_a", "2.3.1.0.0"), "ses_a:2.3.1.0.0"),
    (ids.recall_id("ses_a", "2.3.1.0.0"), "ses_a:2.3.1.0.0.abort"),
    (ids.ask_address("ses_a", "2.3.1.0.0.bash"), "ses_a:2.3.1.0.0.bash"),
    (ids.rejection_id("prm_1", "ses_a:2.3.1.0.0.bash"), "prm_1:ses_a:2.3.1.0.0.bash"),
    (ids.asks_report_id("ses_a", 17), "ses_a.asks.17"),
    (ids.end_report_id("ses_a", 2), "ses_a/2.ended"),
    (ids.account_id("ses_a", 2), "ses_a/2"),
    (ids.account_range("ses_a"), ("ses_a/0", "ses_a/:")),
    (ids.day_account_id(DAY), "day/2023-11-14"),
    (ids.month_account_id(DAY), "month/2023-11"),
    (ids.day_account_id(DAY, "tenant-7"), "tenant-7/day/2023-11-14"),
    (ids.month_account_id(DAY, "tenant-7"), "tenant-7/month/2023-11"),
    (ids.period_range("tenant-7"), ("tenant-7/day/", "tenant-7/month0")),
    (ids.reservation_id("2.3.1"), "2.3.1"),
    (ids.reservation_id("2.3.1", 2), "2.3.1~2"),
    (ids.step_address(2, 3), "2.3"),
]


@pytest.mark.parametrize(("built", "on_disk"), ON_DISK, ids=[str(row[1]) for row in ON_DISK])
def test_ids_are_what_old_journals_have(built, on_disk):
    assert built == on_disk


READ = [
    (ids.read_account, "day/2023-11-14", None),
    (ids.read_account, "month/2023-11", None),
    (ids.read_account, "ses_a", None),
    (ids.read_ask_address, "2.3.1.0.0.bash", ids.AskAddress("", "2.3.1.0.0.bash")),
    (ids.read_reservation, "2.title", ids.RequestReservation("2.title", 0)),
    (ids.read_step_request, "2.title", None),
    (ids.read_step_request, "2.c1.1", None),
    (ids.read_step_request, "2.3.s1", None),
    (ids.read_reply_part, "2.3.1.0.4", ids.ReplyPart("step", 2, 3, 1, 0, 4)),
    (ids.read_reply_part, "2.3.s1.2.0", ids.ReplyPart("synthesis", 2, 3, 1, 2, 0)),
    (ids.read_reply_part, "2.c1.1.0.0", None),
    (ids.read_reply_part, "2.3.start", None),
    (ids.read_reply_part, "2.3.1.0.0.bash", None),
    (ids.read_step_address, "3", ids.StepAddress(1, 3)),
    (ids.read_step_address, "", None),
    (ids.read_step_address, ".3", None),
    (ids.read_step_address, "two.3", None),
    (ids.looks_like_part, "2.mine", True),
    (ids.looks_like_part, "2", False),
    (ids.looks_like_part, "a.2", False),
    (ids.names_ask, "1.1.1.0.2", True),
    (ids.names_ask, "ses_child:1.1.1.0.2", True),
    (ids.names_ask, "ses_0abc", False),
]


@pytest.mark.parametrize(("read", "id", "found"), READ)
def test_what_else_is_read(read, id, found):
    assert read(id) == found


@pytest.mark.parametrize(
    ("session", "root", "is_in"),
    [("a", "a", True), ("a.1.1.1.0.0", "a", True), ("ab", "a", False), ("a", "a.1.1.1.0.0", False), ("a", "", True)],
)
def test_a_session_is_in_the_tree_of_those_above_it(session, root, is_in):
    assert ids.in_tree(session, root) is is_in
    assert ids.is_account_in(ids.account_id(session, 1), root) is is_in
    assert ids.is_account_in(ids.day_account_id(DAY), root) is False


names = st.text("abz019_-.", min_size=1)
numbers = st.integers(0, 10**6)


@given(names, numbers, st.text())
def test_what_is_built_reads_back(name, number, text):
    assert ids.read_account(ids.account_id(name, number)) == (name, number)
    assert ids.read_ask_address(ids.ask_address(name, text)) == (name, text)
    assert ids.read_reservation(ids.reservation_id(name, number)) == (name, number)
    assert ids.read_step_request(ids.step_request_id(number, 2, 1)) == (number, 2, 1)
    assert ids.read_step_address(ids.step_address(number, 3)) == (number, 3)
    assert ids.is_below(ids.child_session_id(name, text), name)
    low, high = ids.account_range(name)
    assert low <= ids.account_id(name, number) < high


@given(names, names, numbers)
def test_the_accounts_of_a_session_are_those_in_its_range(session, other, number):
    low, high = ids.account_range(session)
    assert (low <= ids.account_id(other, number) < high) is (session == other)


@given(names, names, numbers)
def test_days_and_months_of_a_name_are_in_its_range_and_in_no_other_and_are_no_turns(owner, other, number):
    for id in (ids.day_account_id(DAY, owner), ids.month_account_id(DAY, owner)):
        low, high = ids.period_range(other)
        assert (low <= id < high) is (owner == other)
        first, last = ids.account_range(other)
        assert not first <= id < last and ids.read_account(id) is None and not ids.is_account_in(id, owner)
        assert not low <= ids.account_id(owner, number) < high


@pytest.mark.parametrize(("given", "named"), [("ses_0abc", True), ("ses_0", True), ("ses_1", False), ("0abc", False)])
def test_a_person_may_name_a_session_by_the_beginning_of_its_id(given, named):
    assert ids.is_named_by("ses_0abc", given) is named
