"""Parts and marks that only some sessions have, taken by the fold one entry after the other."""

from msgspec.structs import replace

from bridle.core.events import CallMoved, Entry, PartGrown, PartPut, PartRemoved, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import fold, load
from bridle.core.limits import NOTHING, UNLIMITED, Limits, Spent
from bridle.core.messages import AssistantMessage, AssistantText, UserMessage
from bridle.core.parts import (
    Call,
    Changed,
    Compaction,
    Extension,
    Halt,
    Notice,
    Patch,
    Prompt,
    Reasoning,
    Redone,
    Request,
    ReservationRefused,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
    Undone,
    Withdrawn,
)
from bridle.core.replay import ReplayDifference, verified
from bridle.core.result import Result, answers, result_of
from bridle.core.session import Session
from bridle.core.states import (
    Ask,
    Asking,
    Broken,
    Done,
    Interrupted,
    Open,
    Refusal,
    Refused,
    Replied,
    Running,
    Try,
    Usage,
)
from bridle.core.status import Status, status_of
from bridle.core.undo import begins, visible

START = TurnStart("1.start", 1, "build", "scripted", 5, UNLIMITED, "deny")
STEP = StepStart("1.1.start", 1, 5)
REQUEST = Request("1.1.1", "step", 1, 1, "scripted")
FINISH = TurnFinish("1.finish", 1, "answered", NOTHING, Usage())


def entries(*groups):
    """One entry for each group of events; a part stands for its being put."""
    return [
        Entry(place, float(place), 0.0, tuple(put(event) for event in group)) for place, group in enumerate(groups, 1)
    ]


def put(event):
    moves = (PartGrown, PartRemoved, CallMoved, RequestMoved, SessionPut)
    return event if isinstance(event, moves) else PartPut(event)


def session(*groups):
    return load(entries(*groups))


def test_a_thought_grows_and_is_sealed_when_it_is_whole():
    grown = [PartGrown("t", 0, "hm"), PartGrown("t", 2, ", yes", "sealed")]
    found = session([START], [STEP, REQUEST], [Reasoning("t")], *([each] for each in grown))
    assert found.parts["t"] == Reasoning("t", "hm, yes", "sealed")


def test_words_grow_without_a_seal():
    found = session([START], [STEP, REQUEST], [Text("t", "so")], [PartGrown("t", 2, " be it", "nobody asks for this")])
    assert found.parts["t"] == Text("t", "so be it")


def test_a_thought_that_led_to_nothing_is_not_told_again():
    reply = [Text("a", "done"), Reasoning("b", "or not?"), Reasoning("c", "well")]
    found = session([START], [STEP, REQUEST], reply, [StepFinish("1.1.1.finish", 1)])
    assert list(found.messages) == [AssistantMessage("1.1.1.finish", (AssistantText("done"),), "scripted")]


def test_what_is_removed_leaves_the_reply_and_what_is_not_of_it_leaves_nothing():
    removed = [PartRemoved("a"), PartRemoved("n"), PartRemoved("never there")]
    found = session(
        [START], [STEP, REQUEST], [Text("a", "half"), Text("b", "whole"), Notice("n", "hook", "x")], removed
    )
    assert (list(found.parts), found.turn.reply) == (["1.start", "1.1.start", "1.1.1", "b"], ["b"])


def test_before_the_first_turn_there_is_nothing_to_remove_it_from():
    found = session([Notice("n", "hook", "x")], [PartRemoved("n")])
    assert (found.parts, found.turn) == ({}, None)


def test_changed_files_are_known_of_the_turn_and_the_last_look_at_them_is_kept():
    open_patch = Patch("1.1.patch", "before")
    taken = replace(open_patch, state="taken", after="after", files=(Changed("a", "added", 1),))
    failed = Patch("1.2.patch", "after", state="failed", detail="no room")
    under_way = session([START], [open_patch])
    ended = session([START], [open_patch], [taken], [failed])
    assert (under_way.turn.patch, under_way.turn.last_patch, under_way.turn.files) == (open_patch, None, {})
    assert (ended.turn.patch, ended.turn.last_patch, list(ended.turn.files)) == (None, taken, ["a"])


def test_a_provider_that_is_asked_again_is_counted_for_steps_and_for_errands():
    again = Open((Try("busy", 2.0, 503, Usage(input=3), 0.5),))
    step = session([START], [STEP, REQUEST], [RequestMoved("1.1.1", again)])
    side_request = session([START], [Request("1.c1", "compaction", 0, 1, "scripted")], [RequestMoved("1.c1", again)])
    assert (step.turn.step.tries, step.turn.used) == (1, Spent(1, tokens=3, cost=0.5))
    assert side_request.turn.side_request.tries == 1
    assert side_request.turn.used == Spent(tokens=3, cost=0.5)


def test_an_errand_whose_process_died_is_charged_for_and_counted():
    died = RequestMoved("1.c1", Interrupted(7, 0.25))
    found = session([START], [Request("1.c1", "compaction", 0, 1, "scripted")], [died])
    assert (found.turn.side_request.state, found.turn.side_request.deaths) == ("interrupted", 1)
    assert found.turn.used == Spent(tokens=7, cost=0.25)


def test_the_last_output_that_a_tool_wants_kept_stays_at_hand():
    ran = [CallMoved("c", Done("[ ] look", "digest of it", kept=True))]
    assert session([START], [STEP, REQUEST], *CALLED, ran).kept == {"look": "[ ] look"}


def test_a_request_for_a_title_is_counted_and_moves_no_step():
    title = Request("1.t1", "title", 0, 1, "small")
    found = session([START], [STEP, REQUEST], [title], [RequestMoved("1.t1", Replied(Usage(input=2)))])
    assert (found.turn.request, found.turn.title.state) == (REQUEST, Replied(Usage(input=2)))
    assert found.turn.used.tokens == 2
    assert found.turn.step.state == "open"


def test_an_overflow_is_an_interruption_and_any_other_failure_is_one():
    broken = session([START], [STEP, REQUEST], [RequestMoved("1.1.1", Broken("no"))])
    overflow = session([START], [STEP, REQUEST], [RequestMoved("1.1.1", Broken("too long", overflow=True))])
    assert (broken.turn.step.state, broken.turn.overflowed) == ("failed", False)
    assert (overflow.turn.step.state, overflow.turn.overflowed) == ("interrupted", True)


def test_results_that_a_prune_removed_are_not_told_and_count_as_no_compaction():
    call = Call("c", "look", "{}", "digest")
    ran = [CallMoved("c", Done("seen", "digest of it"))]
    pruned = [Compaction("1.prune", "prune", "smaller", pruned=("c.result",))]
    found = session([START], [STEP, REQUEST], [call], [StepFinish("1.1.1.finish", 1, 1)], ran, pruned)
    assert found.messages[-1].text.startswith("[this output was removed")
    assert (found.turn.compactions, found.turn.last_compaction) == (0, None)


def test_a_raised_limit_lifts_the_refusal_that_it_was_the_reason_of():
    start = replace(START, limits=Limits(tokens=10, cost=1.0))
    refused = ReservationRefused("1.refused", "tokens", closing=True)
    other = session([start], [refused], [Extension("1.more", "cost", 0.5)])
    lifted = session([start], [refused], [Extension("1.more", "tokens", 5)])
    assert (other.turn.refused, other.turn.closing_refused, other.turn.limits) == (
        refused,
        True,
        Limits(5, None, 10, 1.5),
    )
    assert (lifted.turn.refused, lifted.turn.closing_refused, lifted.turn.limits.tokens) == (None, False, 15)


def test_of_steps_the_recorded_cap_counts_and_is_raised_as_any_other_limit():
    start = replace(START, cap=15, limits=Limits(steps=2, tokens=10))
    raised = session([start], [Extension("1.more", "steps", 5.0)])
    assert raised.view(0.0).limits == Limits(20, None, 10)
    assert (raised.turn.cap, raised.view(0.0).cap) == (20, 20)


CALLED = [Call("c", "look", "{}", "digest")], [RequestMoved("1.1.1", Replied(Usage()))], [StepFinish("f", 1, 1)]
ASKED = [CallMoved("c", Asking(Ask("a", "may it?", ())))]


def test_a_step_while_a_person_is_awaited_does_not_follow_from_the_record():
    written = entries([START, Prompt("p", "go", turn=1)], [STEP, REQUEST], *CALLED, ASKED, [replace(STEP, number=2)])
    assert verified(written) == ReplayDifference(7, 1, 1, "step 2", "wait")


def test_calls_are_settled_after_a_halt_and_do_not_run():
    halted = [START, Prompt("p", "go", turn=1)], [STEP, REQUEST], *CALLED, [Halt("1.halt", "aborted")]
    settled = entries(*halted, [CallMoved("c", Refused(Refusal("aborted"), "no"))])
    ran = entries(*halted, [CallMoved("c", Running())])
    assert (verified(settled), verified(ran)) == (None, ReplayDifference(7, 1, 1, "run c", "settle c"))


def test_what_was_undone_is_followed_by_what_was_there_before():
    later = [replace(START, id="2.start", number=2)], [replace(STEP, id="2.1.start", cap=4)]
    marked = entries([START], [FINISH], [replace(UNDONE, turn=1, turns=1)], *later)
    assert verified(marked) == ReplayDifference(5, 2, 0, "step 1 of 4", "a cap of 5")


def test_a_retry_is_shown_until_its_time_has_come():
    waiting = [RequestMoved("1.1.1", Open((Try("busy", 2.0),)))]
    found = session([START], [STEP, REQUEST], waiting)
    assert status_of(found, held=True) == Status("retry", 1, "busy", 2.0)
    found.elapsed = 2.0
    assert (status_of(found, held=True), status_of(found, held=False)) == (Status("busy"), Status("interrupted"))


TOLD = [SessionPut(SessionInfo("s", "/project"))]
FIRST = [START, Prompt("p", "first", turn=1)], [FINISH]
SECOND = [replace(START, id="2.start", number=2), Prompt("q", "second", turn=2)], [replace(FINISH, id="2.finish")]
TITLED = [SessionPut(SessionInfo("s", "/project", title="renamed"))]
UNDONE = Undone("u", 2, 2)
REDONE = Redone("r", "u")


def test_an_undo_hides_a_turn_and_a_redo_brings_it_back():
    undone = session(TOLD, *FIRST, *SECOND, [UNDONE])
    redone = session(TOLD, *FIRST, *SECOND, [UNDONE], [REDONE], [replace(REDONE, restored=True)])
    assert [message.text for message in undone.messages] == ["first"]
    assert (undone.undone, undone.turns, undone.unfinished) == ({"u": UNDONE}, 2, UNDONE)
    assert [message.text for message in redone.messages] == ["first", "second"]
    assert (redone.undone, redone.turns, redone.unfinished) == ({}, 2, None)


def test_an_undo_is_unfinished_until_the_files_have_followed():
    found = session(TOLD, *FIRST, *SECOND, [UNDONE], [replace(UNDONE, restored=True)])
    assert found.unfinished is None
    half = session(TOLD, *FIRST, *SECOND, [UNDONE], [REDONE])
    assert half.unfinished == REDONE


def test_what_is_true_of_the_session_stays_when_its_turns_are_undone():
    found = session(TOLD, *FIRST, SECOND[0], TITLED, [Withdrawn("w.withdrawn", "w")], SECOND[1], [UNDONE])
    assert result_of(found, "w").reason == "withdrawn"
    assert found.info == SessionInfo("s", "/project", title="renamed")


def test_what_came_after_an_undo_stays_when_it_is_taken_back():
    noted = [Notice("n", "hook", "since", told=True)]
    found = session(TOLD, *FIRST, *SECOND, [UNDONE], noted, [REDONE])
    assert [message.text for message in found.messages] == ["first", "second", "since"]


def test_a_redo_of_what_nobody_undid_changes_nothing():
    found = entries(TOLD, *FIRST, [Redone("r", "nothing")])
    assert visible(found) == found


def test_a_turn_that_has_not_begun_begins_behind_the_last_entry():
    found = entries(TOLD, *FIRST)
    assert [begins(found, turn) for turn in (1, 2)] == [2, 4]
    assert begins([], 1) == 1


def test_what_became_of_a_prompt_is_told_by_its_own_turn():
    recorded = session(TOLD, [Prompt("w", "just so you know")], *FIRST)
    assert result_of(recorded, "w") == Result("s", "w", "recorded")
    assert result_of(recorded, "unheard of") == Result("s", "unheard of", "held")
    assert result_of(session(TOLD, *FIRST, [Withdrawn("w.withdrawn", "w")]), "w") == Result("s", "w", "withdrawn")
    assert (answers(recorded, "p"), answers(recorded, "w")) == (True, False)
    assert not answers(Session(), "p")


def test_a_prompt_whose_turn_left_no_ending_is_held():
    forked = session(
        TOLD, *FIRST, [replace(START, id="2.start", number=2), Prompt("q", "second", turn=3)], [SECOND[1][0]]
    )
    assert result_of(forked, "q") == Result("s", "q", "held", turn=3)


def test_entries_are_folded_one_by_one_as_they_are_loaded_at_once():
    written = entries(TOLD, *FIRST, *SECOND)
    found = Session()
    for entry in written:
        fold(found, entry)
    assert (found.parts, list(found.messages)) == (load(written).parts, list(load(written).messages))
    assert list(found.messages) == [UserMessage("p", "first"), UserMessage("q", "second")]
