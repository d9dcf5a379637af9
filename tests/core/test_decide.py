"""The policy of the loop on its own: a table of what a turn has recorded, and of what is done next."""

import pytest
from msgspec.structs import replace

from bridle.core.action import CallModel, Compact, Finish, Pause, Run, Settle, Synthesize, Wait
from bridle.core.decide import UNMET, decide
from bridle.core.limits import NOTHING, UNLIMITED, Limits, Spent
from bridle.core.parts import Halt, ReservationRefused
from bridle.core.states import Refusal
from bridle.core.turn import SideRequest, Step, Turn

NEW = Turn(1, UNLIMITED, NOTHING)
SAID = Step(2, state="finished", requests=1)
ACTED = Step(2, state="finished", requests=1, calls=1)
EMPTY = Step(2, state="finished", requests=1, empties=1)
DIED = Step(2, state="interrupted", requests=1, deaths=1)
CLOSED = Step(3, "token_budget", "finished", requests=1, calls=1)
CLOSING_DIED = Step(3, "token_budget", "interrupted", requests=2, deaths=2)
ABORT = Halt("1.halt", "aborted", "by the user")
FAILURE = Halt("1.halt", "error", "the provider said no")
NO_ROOM = ReservationRefused("1.refused", "cost")
NO_ROOM_IN_TREE = ReservationRefused("1.refused", "cost", "tree")


def turn(cap=5, limits=UNLIMITED, **fields):
    return replace(NEW, limits=replace(limits, steps=cap), **fields)


BEGINNINGS = {
    "a prompt is asked about": (turn(prompted=True), CallModel(1, 1, "offered")),
    "a turn without a prompt was opened to compact": (turn(crowded=True), Compact(1, "model")),
    "it has compacted, and ends even if that was not enough": (turn(crowded=True, compactions=1), Finish("answered")),
    "there is nothing to compact": (turn(), Finish("answered")),
    "a talk-only turn is asked about without tools": (turn(prompted=True, cap=0), CallModel(1, 1, "off")),
    "the only step of a turn cannot act": (turn(prompted=True, cap=1), CallModel(1, 1, "off", "step_cap")),
}

STEPS = {
    "words end the turn": (turn(step=SAID), Finish("answered")),
    "a prompt since then does not let them": (turn(step=SAID, prompted=True), CallModel(3, 1, "offered")),
    "calls are followed by a step": (turn(step=ACTED), CallModel(3, 1, "offered")),
    "the last step closes": (turn(step=ACTED, cap=3), CallModel(3, 1, "off", "step_cap")),
    "the last but one does not": (turn(step=ACTED, cap=4), CallModel(3, 1, "offered", None, ())),
    "calls of a talk-only turn were refused: it has answered": (turn(step=ACTED, cap=0), Finish("answered")),
    "an empty reply is asked for once more": (turn(step=EMPTY), CallModel(2, 2, "offered")),
    "an empty reply of a talk-only turn too": (turn(step=EMPTY, cap=0), CallModel(2, 2, "off")),
    "two empty replies are enough": (turn(step=replace(EMPTY, empties=2)), Finish("empty")),
    "an empty reply in a doom loop closes": (turn(step=EMPTY, doom=True), CallModel(3, 1, "off", "doom_loop")),
    "words that were cut are no answer": (
        turn(step=replace(SAID, cut="chant"), doom=True),
        CallModel(3, 1, "off", "doom_loop"),
    ),
    "a spent limit closes": (
        turn(step=ACTED, limits=Limits(tokens=10), spent=Spent(tokens=10)),
        CallModel(3, 1, "off", "token_budget"),
    ),
    "a spent limit of a talk-only turn leaves nothing to ask with": (
        turn(step=ACTED, cap=0, limits=Limits(tokens=10), spent=Spent(tokens=10)),
        Finish("token_budget"),
    ),
    "a closing step is the last, whatever it asked for": (turn(step=CLOSED), Finish("token_budget")),
    "even if its reply was empty": (turn(step=replace(CLOSED, empties=1, calls=0)), Finish("token_budget")),
    "the last step closes for the reason that was there before it": (
        turn(step=ACTED, cap=3, doom=True),
        CallModel(3, 1, "off", "doom_loop"),
    ),
    "no room for a step is no step more": (
        turn(step=ACTED, refused=replace(NO_ROOM, limit="steps")),
        CallModel(3, 1, "off", "step_cap"),
    ),
    "no room for a request closes": (turn(step=ACTED, refused=NO_ROOM), CallModel(3, 1, "off", "cost_budget")),
    "no room in the tree says so": (turn(step=ACTED, refused=NO_ROOM_IN_TREE), CallModel(3, 1, "off", "tree_budget")),
    "no room for the closing request ends the turn": (
        turn(step=ACTED, refused=NO_ROOM, closing_refused=True),
        Finish("cost_budget"),
    ),
}

WARNINGS = {
    "the step that would be the fourth of five is warned of": (
        turn(step=replace(ACTED, number=3)),
        CallModel(4, 1, "offered", None, ("steps",)),
    ),
    "once": (turn(step=replace(ACTED, number=3), warned=frozenset({"steps"})), CallModel(4, 1, "offered")),
    "other limits with it": (
        turn(step=replace(ACTED, number=3), limits=Limits(tool_calls=10, tokens=10), spent=Spent(0, 8, 7)),
        CallModel(4, 1, "offered", None, ("steps", "tool_calls")),
    ),
}

CALLS = {
    "what may run is run first": (
        turn(step=ACTED, pending=("a",), asking=("b",), queued=("c",), waiting=("d",), places=True),
        Run(("a",)),
    ),
    "a free place is for who queues": (
        turn(step=ACTED, asking=("b",), queued=("c",), waiting=("d",), places=True),
        Run(("c",)),
    ),
    "nobody in the places is a free place": (turn(step=ACTED, queued=("c",)), Run(("c",))),
    "without a place a person is asked": (
        turn(step=ACTED, asking=("b",), queued=("c",), waiting=("d",)),
        Pause(("b",)),
    ),
    "without a question subagents are awaited": (
        turn(step=ACTED, queued=("c",), waiting=("d",), recalled=("e",)),
        Wait(("d", "e")),
    ),
    "one that was not recalled": (turn(step=ACTED, waiting=("d",)), Wait(("d",))),
    "those that were recalled too": (turn(step=ACTED, recalled=("e",)), Wait(("e",))),
}

HALTS = {
    "an abort settles everything that is open": (
        turn(step=ACTED, halt=ABORT, pending=("a",), asking=("b",), queued=("c",), waiting=("d",), recalled=("e",)),
        Settle(("a", "b", "c", "d"), Refusal("aborted")),
    ),
    "any other halt says that it came in between": (
        turn(step=ACTED, halt=FAILURE, pending=("a",)),
        Settle(("a",), Refusal("superseded")),
    ),
    "then the recalled are awaited": (turn(step=ACTED, halt=ABORT, recalled=("e",)), Wait(("e",))),
    "then the turn ends, and says why": (turn(step=ACTED, halt=FAILURE), Finish("error", "the provider said no")),
    "before the first step": (turn(prompted=True, halt=ABORT), Finish("aborted", "by the user")),
    "whoever has answered already has answered": (turn(step=SAID, halt=ABORT), Finish("answered")),
    "but not what was asked since": (
        turn(step=SAID, halt=ABORT, prompted=True),
        Finish("aborted", "by the user"),
    ),
}

DEATHS = {
    "a request that died is asked again": (turn(step=DIED), CallModel(2, 2, "offered")),
    "one that was never sent too": (turn(step=Step(2)), CallModel(2, 1, "offered")),
    "three times": (turn(step=replace(DIED, requests=2, deaths=2)), CallModel(2, 3, "offered")),
    "and then no more": (
        turn(step=replace(DIED, requests=3, deaths=3)),
        Finish("error", "step 2 was cut off by the death of the process 3 times"),
    ),
    "that of a talk-only turn without tools": (turn(step=DIED, cap=0), CallModel(2, 2, "off")),
    "a closing request that died is asked again, and still cannot act": (
        turn(step=CLOSING_DIED),
        CallModel(3, 3, "off", "token_budget"),
    ),
    "three deaths of a closing request are the end for its reason": (
        turn(step=replace(CLOSING_DIED, requests=3, deaths=3)),
        Finish("token_budget"),
    ),
    "one that cannot be paid for any more closes": (
        turn(step=DIED, refused=NO_ROOM),
        CallModel(3, 1, "off", "cost_budget"),
    ),
    "a closing request that cannot be paid for any more is the end": (
        turn(step=CLOSING_DIED, refused=NO_ROOM, closing_refused=True),
        Finish("token_budget"),
    ),
}

WINDOW = {
    "a crowded context is compacted before the first step": (turn(prompted=True, crowded=True), Compact(1, "model")),
    "before any other": (turn(step=ACTED, crowded=True), Compact(1, "model")),
    "before the closing one": (turn(step=ACTED, cap=3, crowded=True), Compact(1, "model")),
    "before one that is asked again": (turn(step=DIED, crowded=True), Compact(1, "model")),
    "in a talk-only turn": (turn(prompted=True, cap=0, crowded=True), Compact(1, "model")),
    "a second time": (turn(step=ACTED, crowded=True, compactions=1), Compact(1, "model")),
    "not a third time": (turn(step=ACTED, crowded=True, compactions=2), Finish("context_full")),
    "a summary whose request died is asked for again": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("compaction", "interrupted", requests=2, deaths=2)),
        Compact(3, "model"),
    ),
    "three deaths are enough": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("compaction", "interrupted", requests=3, deaths=3)),
        Compact(4, "bridle"),
    ),
    "a summary that says nothing is asked for again": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("compaction", "finished", requests=1, blanks=1)),
        Compact(2, "model"),
    ),
    "two are enough": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("compaction", "finished", requests=2, blanks=2)),
        Compact(3, "bridle"),
    ),
    "one that failed is not": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("compaction", "failed", requests=1)),
        Compact(2, "bridle"),
    ),
    "a synthesis that failed says nothing of it": (
        turn(step=ACTED, crowded=True, side_request=SideRequest("synthesis", "failed", requests=1)),
        Compact(1, "model"),
    ),
}

SYNTHESES = {
    "results that all want it are written up": (turn(step=ACTED, synthesis="due"), Synthesize(1)),
    "a request for it that died is made again": (
        turn(step=ACTED, synthesis="due", side_request=SideRequest("synthesis", "interrupted", requests=2, deaths=2)),
        Synthesize(3),
    ),
    "three deaths are enough, and the loop goes on": (
        turn(step=ACTED, synthesis="due", side_request=SideRequest("synthesis", "interrupted", requests=3, deaths=3)),
        CallModel(3, 1, "offered"),
    ),
    "a compaction before it is another errand": (
        turn(step=ACTED, synthesis="due", side_request=SideRequest("compaction", "interrupted", requests=3, deaths=3)),
        Synthesize(1),
    ),
    "a prompt since then wants more": (turn(step=ACTED, synthesis="due", prompted=True), CallModel(3, 1, "offered")),
    "a turn that closes says so itself": (
        turn(step=ACTED, synthesis="due", doom=True),
        CallModel(3, 1, "off", "doom_loop"),
    ),
    "one that failed is not made again": (turn(step=ACTED, synthesis="failed"), CallModel(3, 1, "offered")),
    "an answer that must fit a schema does not come before it": (
        turn(step=ACTED, synthesis="due", output="wanted"),
        Synthesize(1),
    ),
    "once it is written the turn ends": (turn(step=ACTED, synthesis="done"), Finish("synthesized")),
}

OUTPUTS = {
    "an answer that fits ends the turn": (turn(step=ACTED, output="given"), Finish("answered")),
    "a prompt since then wants more": (turn(step=ACTED, output="given", prompted=True), CallModel(3, 1, "offered")),
    "in the closing step it ends for the reason of that": (turn(step=CLOSED, output="given"), Finish("token_budget")),
    "words alone are not the answer": (turn(step=SAID, output="wanted"), CallModel(3, 1, "offered")),
    "so the model is told twice more": (turn(step=SAID, output="wanted", reminded=2), CallModel(3, 1, "offered")),
    "after three times the turn has failed": (turn(step=SAID, output="wanted", reminded=3), Finish("error", UNMET)),
    "a talk-only turn is asked once": (turn(step=SAID, output="wanted", cap=0), Finish("error", UNMET)),
    "calls of a talk-only turn are no answer either": (
        turn(step=ACTED, output="wanted", cap=0),
        Finish("error", UNMET),
    ),
    "answers that never fit are a failure": (turn(step=ACTED, output="missed"), Finish("error", UNMET)),
    "but a limit that closes it comes first": (turn(step=CLOSED, output="missed"), Finish("token_budget")),
}

BACKGROUND = {
    "an answer awaits what works in the background": (turn(step=SAID, background=("b",)), Wait(("b",))),
    "so does one that fits its schema": (turn(step=ACTED, output="given", background=("b",)), Wait(("b",))),
    "and one that was written up": (turn(step=ACTED, synthesis="done", background=("b",)), Wait(("b",))),
    "a report since then wants another answer": (
        turn(step=SAID, prompted=True, background=("c",)),
        CallModel(3, 1, "offered"),
    ),
    "a report after what was written up too": (
        turn(step=ACTED, synthesis="done", prompted=True),
        CallModel(3, 1, "offered"),
    ),
    "a step goes on beside it": (turn(step=ACTED, background=("b",)), CallModel(3, 1, "offered")),
    "calls run beside it": (turn(step=ACTED, pending=("a",), background=("b",)), Run(("a",))),
    "a person is asked beside it": (turn(step=ACTED, asking=("a",), background=("b",)), Pause(("a",))),
    "a crowded context is compacted beside it": (
        turn(step=ACTED, crowded=True, background=("b",)),
        Compact(1, "model"),
    ),
    "the closing step aborts it": (
        turn(step=ACTED, cap=3, background=("b",)),
        Settle(("b",), Refusal("superseded")),
    ),
    "what was recalled for the closing step is awaited": (turn(step=ACTED, cap=3, recalled=("b",)), Wait(("b",))),
    "any other end aborts it": (
        turn(step=replace(EMPTY, empties=2), background=("b",)),
        Settle(("b",), Refusal("superseded")),
    ),
    "an abort settles it with everything else": (
        turn(step=ACTED, halt=ABORT, waiting=("a",), background=("b",)),
        Settle(("a", "b"), Refusal("aborted")),
    ),
    "an abort after the answer settles it": (
        turn(step=SAID, halt=ABORT, background=("b",)),
        Settle(("b",), Refusal("aborted")),
    ),
    "and awaits what was recalled": (turn(step=SAID, halt=ABORT, recalled=("b",)), Wait(("b",))),
    "a place that it holds is awaited": (turn(step=ACTED, queued=("c",), background=("b",)), Wait(("b",))),
    "a place that it gave back is taken": (
        turn(step=ACTED, queued=("c",), background=("b",), places=True),
        Run(("c",)),
    ),
    "one that is awaited is awaited alone": (turn(step=ACTED, waiting=("a",), background=("b",)), Wait(("a",))),
}

TABLE = {
    f"{topic}: {name}": row
    for topic, rows in {
        "beginning": BEGINNINGS,
        "step": STEPS,
        "warning": WARNINGS,
        "calls": CALLS,
        "halt": HALTS,
        "death": DEATHS,
        "window": WINDOW,
        "synthesis": SYNTHESES,
        "output": OUTPUTS,
        "background": BACKGROUND,
    }.items()
    for name, row in rows.items()
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_recorded_decides_what_is_done_next(name):
    recorded, action = TABLE[name]
    assert decide(recorded) == action
