"""Properties of parts that are read from their states."""

import pytest

from bridle.core.limits import NOTHING
from bridle.core.parts import Call
from bridle.core.states import Done, Failed, Pending, Report, Usage, Waiting

REPORT = Report("ses_root.1.1.1.0", "answered", NOTHING, Usage())


@pytest.mark.parametrize(
    ("state", "child"),
    [
        (Pending(), ""),
        (Waiting("ses_root.1.1.1.0"), "ses_root.1.1.1.0"),
        (Done("done", "digest"), ""),
        (Done("done", "digest", report=REPORT), "ses_root.1.1.1.0"),
        (Failed("failed", "digest", report=REPORT), "ses_root.1.1.1.0"),
    ],
)
def test_a_call_names_the_session_of_its_subagent(state, child):
    assert Call("1.1.1.0", "task", "{}", "digest", state).child == child
