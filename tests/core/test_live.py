"""Deltas that belong to what streams now, and those that come too late or too early."""

import pytest

from bridle.core.events import CallMoved, Entry, PartDelta, PartPut, RequestMoved
from bridle.core.fold import load
from bridle.core.limits import UNLIMITED
from bridle.core.live import is_awaited
from bridle.core.parts import Call, Request, StepStart, TurnStart
from bridle.core.states import Done, Replied, Running, Usage

STREAMS = [PartPut(TurnStart("1.start", 1, "build", "scripted", 5, UNLIMITED, "deny"))]
STREAMS += [PartPut(StepStart("1.1.start", 1, 5)), PartPut(Request("1.1.1", "step", 1, 1, "scripted"))]
REPLIED = [*STREAMS, PartPut(Call("1.1.1.0.0", "bash", "{}", "digest")), RequestMoved("1.1.1", Replied(Usage()))]
RUNS = [*REPLIED, CallMoved("1.1.1.0.0", Running())]
TEXT = PartDelta("1.1.1.0.0", 0, "so", "text")
OUTPUT = PartDelta("1.1.1.0.0", 0, "so", "output")


@pytest.mark.parametrize(
    ("events", "delta", "awaited"),
    [
        pytest.param([], TEXT, False, id="no turn"),
        pytest.param(STREAMS[:1], TEXT, False, id="no request yet"),
        pytest.param(STREAMS, TEXT, True, id="text of the reply"),
        pytest.param(STREAMS, PartDelta("1.1.1.1.0", 0, "so", "text"), False, id="text of a later try"),
        pytest.param(REPLIED, TEXT, False, id="text after the end of the reply"),
        pytest.param(REPLIED, OUTPUT, False, id="output of a call that has not begun"),
        pytest.param(RUNS, OUTPUT, True, id="output of a running call"),
        pytest.param(
            [*RUNS, CallMoved("1.1.1.0.0", Done("so", digest="same"))],
            OUTPUT,
            False,
            id="output of a call that has ended",
        ),
    ],
)
def test_a_delta_is_awaited_while_its_part_is_open(events, delta, awaited):
    session = load([Entry(number, float(number), 0.0, (event,)) for number, event in enumerate(events, 1)])
    assert is_awaited(session, delta) == awaited
