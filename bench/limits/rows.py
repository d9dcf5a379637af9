"""The rows of the comparison: what is asked for, what the model does, and when a contender passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bench.limits import judges, scripts
from bench.limits.judges import CUTS, LOOP_CALLS, Judged, Seen
from bench.limits.scripts import POLLS, WINDOW_TOKENS
from bench.limits.server import Script

MOST_REQUESTS = 60
RUN_SECONDS = 60.0
"""Enough for the first start of the slowest: nobody fails by the clock alone who only needs longer for a step."""
CAPPED_REQUESTS = 20

Setting = Literal[
    "steps", "steps 0", "tool_calls", "subagents", "tree", "loops", "compaction", "resume", "tokens", "cost", "seconds"
]


@dataclass(frozen=True)
class Row:
    """One scenario, with its criterion in words and as code."""

    name: str
    script: Script
    criterion: str
    judge: Callable[[Seen], Judged]
    needs: tuple[Setting, ...] = ()
    ask: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = RUN_SECONDS
    most_requests: int = MOST_REQUESTS
    crash: Literal["", "request", "effect"] = ""
    """Killed when its third request arrives, or when the effect `die` is there; then started again to resume."""


CAP = "Ends by itself with a text; calls that run: at most {0}; requests: at most {1} (the cap and a closing one)."
LOOP = f"Ends by itself or asks before {LOOP_CALLS} calls have run; the cap on steps is 60, and the time limit 90 s."


def cap_row(cap: int) -> Row:
    return Row(
        f"stubborn model, cap {cap}",
        scripts.stubborn,
        CAP.format(cap, cap + 1),
        judges.capped(cap),
        ("steps",),
        {"steps": cap},
        most_requests=CAPPED_REQUESTS,
    )


def loop_row(name: str, script: Script) -> Row:
    return Row(f"loop: {name}", script, LOOP, judges.looped, ("loops",), {"steps": 60}, seconds=90.0, most_requests=45)


ROWS = [
    cap_row(3),
    Row(
        "stubborn even without tools, cap 3",
        scripts.mulish,
        CAP.format(3, 4) + " The model never writes a word, so the text must be the contender's.",
        judges.capped(3),
        ("steps",),
        {"steps": 3},
        most_requests=CAPPED_REQUESTS,
    ),
    Row(
        "cap 0",
        scripts.stubborn,
        "No call runs: the run is refused before any request, or the first request gives a text.",
        judges.none_at_all,
        ("steps", "steps 0"),
        {"steps": 0},
    ),
    cap_row(1),
    cap_row(2),
    cap_row(5),
    Row(
        "ten calls at once, budget of 4",
        scripts.overflow,
        "At most 4 of the 10 calls run, and the run ends by itself with a text.",
        judges.budgeted,
        ("tool_calls",),
        {"tool_calls": 4},
    ),
    Row(
        "one call after the other, budget of 4",
        scripts.stubborn,
        "At most 4 calls run, and the run ends by itself with a text, within 60 requests.",
        judges.budgeted,
        ("tool_calls",),
        {"tool_calls": 4},
    ),
    Row(
        "nested caps: 3 and 2",
        scripts.nested,
        "The parent makes at most 4 requests (its cap of 3 and a closing one), each child at most 3. There is a text.",
        judges.nested_caps,
        ("steps", "subagents"),
        {"steps": 3, "child_steps": 2},
        most_requests=CAPPED_REQUESTS,
    ),
    Row(
        "one budget of 6 steps for a tree",
        scripts.nested,
        "At most 6 requests in total, and a closing one for each agent; the run ends by itself with a text.",
        judges.tree_budget,
        ("subagents", "tree"),
        {"steps": 20, "child_steps": 20, "tree_steps": 6},
    ),
    loop_row("period 1", scripts.cycle(1)),
    loop_row("period 2", scripts.cycle(2)),
    loop_row("period 3", scripts.cycle(3)),
    loop_row("period 1, other blanks in the JSON", scripts.loose),
    loop_row("period 1, other blanks in the value", scripts.padded),
    Row(
        f"polling {POLLS} times with changing output",
        scripts.polling,
        f"All {POLLS} calls run, and the model's text follows: this is not a loop.",
        judges.polled,
        (),
        {"steps": 20},
    ),
    Row(
        "a reply is cut",
        scripts.dropped(1),
        "The call before the cut runs once, and the model's text follows.",
        judges.went_on,
        (),
        {"steps": 20},
    ),
    Row(
        f"{CUTS} replies are cut in a row",
        scripts.dropped(CUTS),
        f"Ends by itself, with a text or an error, within {2 * CUTS} requests and 90 s.",
        judges.gave_up,
        (),
        {"steps": 20},
        seconds=90.0,
    ),
    Row(
        "compaction that does not shrink",
        scripts.overfull,
        "Ends by itself, with a text or an error, within 60 requests and 60 s.",
        judges.compacted,
        ("compaction",),
        {"steps": 20, "context": WINDOW_TOKENS},
    ),
    Row(
        "killed between two calls",
        scripts.two_calls,
        "After kill -9 and resuming: neither of the two finished calls runs again, the earlier text of the model is in "
        "the next request, and the model's text follows.",
        judges.resumed,
        ("resume",),
        {"steps": 20},
        crash="request",
    ),
    Row(
        "killed in a call, after its effect",
        scripts.deadly,
        "After kill -9 and resuming: the effect happens once, and the run ends by itself with a text.",
        judges.not_repeated,
        ("resume",),
        {"steps": 20},
        crash="effect",
    ),
    Row(
        "a cap of 4 over a crash",
        scripts.stubborn_and_killed,
        "Killed at its third request and resumed: at most 6 requests in total (the cap, the one that was cut off, and "
        "a closing one), and there is a text.",
        judges.still_capped,
        ("resume", "steps"),
        {"steps": 4},
        crash="request",
    ),
    Row(
        "12,000 tokens, 3,000 a request",
        scripts.expensive,
        "Ends by itself, and at most one request is made beyond the budget.",
        judges.tokens_kept,
        ("tokens",),
        {"tokens": 12_000, "steps": 50},
    ),
    Row(
        "12 cents, 3 a request",
        scripts.expensive,
        "Ends by itself, and at most one request is made beyond the budget.",
        judges.cost_kept,
        ("cost",),
        {"cost": 0.12, "steps": 50},
    ),
    Row(
        "3 seconds, 0.4 a request",
        scripts.slow,
        "Ends by itself, with no request later than 2 s after the budget.",
        judges.time_kept,
        ("seconds",),
        {"seconds": 3, "steps": 50},
    ),
]
