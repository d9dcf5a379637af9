"""Sessions whose transcripts show every view of the terminal application."""

import json

from bridle.core.context import ANSWERED
from bridle.core.events import CallMoved, Entry, PartPut, Recorded, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import load
from bridle.core.limits import Limits, Spent
from bridle.core.parts import (
    Call,
    Changed,
    File,
    Notice,
    Patch,
    Prompt,
    Reasoning,
    Request,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
)
from bridle.core.session import Session
from bridle.core.states import CallState, Done, Failed, Refusal, Refused, Replied, Report, Running, Usage, Waiting
from bridle.core.todos import Todo

DIFF = """\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -12,9 +12,11 @@
 class Cart:
     def __init__(self) -> None:
         self.items: list[Item] = []
     #
     def total(self) -> Decimal:
-        return 0
+        # Prices are exact: no float is summed up.
+        return sum((item.price * item.count for item in self.items), Decimal(0))
     #
     def add(self, item: Item) -> None:
-        self.items += [item]
+        self.items.append(item)
"""
NEW = (
    "--- /dev/null\n+++ b/tests/test_cart.py\n@@ -0,0 +1,3 @@\n+def test_total():\n+    cart = Cart()\n+    assert cart"
)
TODOS = (
    Todo("Read the cart", "completed"),
    Todo("Sum up prices", "in_progress"),
    Todo("Test an empty cart"),
    Todo("Use floats", "cancelled"),
)
OPTIONS = [{"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL", "description": "a server"}]
REPORT = Report("ses_work.1", "answered", Spent(3, 5, 4_200, 0.012, 9.0), Usage())
Made = tuple[str, dict[str, object], CallState]


EDITS: tuple[Made, ...] = (
    ("read", {"filePath": "/code/shop/cart.py", "offset": 10}, Done("    10\tclass Cart:\n    11\t    pass", "d")),
    ("grep", {"pattern": "total\\(", "path": "/code/shop"}, Done("shop/cart.py:16:total(\nshop/till.py:4:total(", "d")),
    ("edit", {"filePath": "/code/shop/cart.py"}, Done("Replaced.", "d", files=("shop/cart.py",), diff=DIFF)),
    ("write", {"filePath": "/code/tests/test_cart.py"}, Done("Wrote.", "d", files=("tests/test_cart.py",), diff=NEW)),
    ("bash", {"command": "pytest -q"}, Failed("..F\n1 failed, 2 passed\n\n[exit status 1]", "d")),
    ("bash", {"command": "seq 30"}, Done("\n", "d".join(map(str, range(1, 31))))),
)
TOOLS: tuple[Made, ...] = (
    ("todowrite", {"todos": []}, Done("[x]", "d", todos=TODOS)),
    ("question", {"questions": [{"question": "Which database?", "options": OPTIONS}]}, Done(f"{ANSWERED}SQLite", "d")),
    (
        "task",
        {"subagent_type": "scout", "description": "find the prices"},
        Done("In shop/prices.py.", "d", report=REPORT),
    ),
    ("list", {"path": "."}, Done("shop/\ntests/\nREADME.md", "d")),
    ("glob", {"pattern": "**/*.py"}, Done("shop/cart.py\nshop/till.py", "d")),
    ("webfetch", {"url": "https://docs.python.org/3/library/decimal.html"}, Done("# decimal\ntext", "d")),
    ("skill", {"name": "release"}, Done("Steps of a release\nmore", "d")),
    ("github_search", {"query": "decimal is:open"}, Done("nothing", "d")),
    (
        "read",
        {"filePath": "/code/shop/prices.json"},
        Failed("shop/prices.json does not exist; did you mean prices.py?", "d"),
    ),
    ("edit", {"filePath": "/etc/passwd"}, Refused(Refusal("denied"), "not executed: a rule")),
    ("bash", {"command": "make docs"}, Running()),
)


def session_of(calls: tuple[Made, ...], *, ended: bool) -> Session:
    """Return a session of one turn with these calls."""
    made = [(f"1.1.1.0.{number}", *each) for number, each in enumerate(calls)]
    start = TurnStart(
        "1.start", 1, "build", "anthropic/claude", 25, Limits(tool_calls=200, cost=1.0), "person", window=200_000
    )
    prompt = Prompt("p", "Mend total() of the cart.\nIt returns 0.", (File("shop/cart.py", "text"),), turn=1)
    step: list[Recorded] = [
        PartPut(StepStart("1.1.start", 1, 25)),
        PartPut(Request("1.1.1", "step", 1, 1, "m")),
        PartPut(Reasoning("1.1.r", "The method returns 0, so the sum was never written. I look at the prices first.")),
        PartPut(Text("1.1.t", "I'll look at the **cart** and its `total()` first.")),
        *(PartPut(Call(id, name, json.dumps(given), "d")) for id, name, given, _ in made),
        RequestMoved("1.1.1", Replied(Usage(24_000, 400), 0.03)),
        PartPut(StepFinish("1.1.finish", 1, len(made))),
        *(CallMoved(id, _begun(state)) for id, _, _, state in made if not isinstance(state, Refused)),
    ]
    moved: list[Recorded] = [CallMoved(id, state) for id, _, _, state in made if not isinstance(state, Running)]
    changed = (Changed("shop/cart.py", "changed", 4, 2), Changed("dist/cart.whl", "added"))
    after = [
        PartPut(Patch("1.1.p", "a", "b", changed, state="taken")),
        PartPut(Notice("1.n", "limit", "Step 20/25, 5 steps remaining", limit="steps")),
    ]
    finish = [
        PartPut(Text("1.2.t", "`Cart.total()` sums up exact prices now.")),
        PartPut(TurnFinish("1.finish", 1, "answered", Spent(4, 6, 24_400, 0.03, 42.0), Usage())),
    ]
    return load(
        [
            Entry(1, 0, 0, (SessionPut(SessionInfo("ses_work", "/code", title="Mend the cart's total")),)),
            Entry(2, 0, 0, (PartPut(start), PartPut(prompt))),
            Entry(3, 0, 3.0, tuple(step)),
            Entry(4, 0, 5.0, (*moved, *after)),
            *([Entry(5, 0, 42.0, tuple(finish))] if ended else []),
        ]
    )


def _begun(state: CallState) -> CallState:
    report = state.report if isinstance(state, Done) else None
    return Waiting(report.child) if report is not None else Running()
