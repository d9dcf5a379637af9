"""Turns, and the public events in which each of them is told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from bridle import Agent, Output, Reply, Rule, Runtime, ScriptedModel, call, tool
from bridle.core.limits import Spent
from bridle.core.permission import Access
from bridle.core.states import Usage
from bridle.core.stream import ToolSpec
from bridle.core.todos import Todo
from bridle.seams import Seams
from bridle.testing.scripted import Scripted, ScriptedError
from bridle.tools.todowrite import TOOL as TODOWRITE
from bridle.tools.tool import Invocation, StructTool, loader, struct_schema
from bridle.wire.events import (
    AskEndEvent,
    AskEvent,
    CompactionEvent,
    DeltaEvent,
    Event,
    NoticeEvent,
    PromptEvent,
    ReasoningEvent,
    RemovedEvent,
    RetryEvent,
    SentinelEvent,
    StatusEvent,
    StepFinishEvent,
    StepStartEvent,
    SubagentEvent,
    TextEvent,
    TodosEvent,
    ToolStartEvent,
    ToolUseEvent,
    TurnFinishEvent,
    TurnStartEvent,
)
from support.cut_process import WiredJournal
from support.paths import ROOT
from support.stories import look
from support.trees import spawn
from support.virtual import run_virtually

ONE, CHILD = "ses_one", "ses_one.1.1.1.0.0"
CALL = "1.1.1.0.0"
FROM_RECORD: Any = None
"""Stands for a number that only the record knows."""


class Nothing(msgspec.Struct):
    pass


async def print_lines(given: Nothing, invocation: Invocation) -> Output:
    invocation.print("one\n")
    invocation.print("two\n")
    return Output("one\ntwo\n")


PRINT = StructTool(
    spec=ToolSpec("print", "Print two lines.", struct_schema(Nothing)),
    load=loader(Nothing),
    work=print_lines,
    permission="python",
    needs=lambda given, directory: (Access("python", "print"),),
)


@tool
async def gather(source: str) -> Output:
    """Ask a source."""
    return Output(f"{source} says yes", synthesize=True)


TOOLS = (look, gather, PRINT, TODOWRITE)


async def answered(runtime: Runtime, session: str, prompt: str) -> None:
    while asks := (await runtime.wait(session, prompt)).asks:
        await runtime.answer(session, asks[0].id, "once")


async def aborted(runtime: Runtime, session: str, prompt: str) -> None:
    await asyncio.sleep(3)
    await runtime.abort(session)


async def compacted(runtime: Runtime, session: str, prompt: str) -> None:
    await runtime.wait(session, prompt)
    await runtime.compact(session)


def watched(
    replies: Sequence[Scripted],
    *,
    people: Callable[[Runtime, str, str], Awaitable[None]] | None = None,
    child: Sequence[Scripted] | None = None,
    summary: Any = None,
    permission: Sequence[Rule] = (),
    tools: Sequence[Any] = TOOLS,
    **more: Any,
) -> Any:
    """Everything that a follower in the same process sees of one prompt: entries and deltas, in order."""

    async def work(seams: Seams) -> list[Any]:
        made: Callable[..., Agent[Any, Any]] = partial(Agent, tools=tools, seams=seams, permission=permission)
        agent = made(
            "build",
            model=ScriptedModel(replies, summary=summary),
            subagents=[made("child", model=ScriptedModel(child, ref="child"))] if child else [],
            journal=WiredJournal(),
            **more,
        )
        async with agent.runtime() as runtime:
            session = await runtime.create(ONE)
            known = await runtime.journal.load(session)
            subscription = runtime.bus.subscribe(session)
            prompt = await runtime.prompt(session, "go", id="p", options=agent.turn_options)
            if people is not None:
                await people(runtime, session, prompt)
            await runtime.wait(session, prompt)
            await runtime.parked(session)
            return [*known, *iter(subscription.waiting, None)]

    return run_virtually(work, seed=0)


def begun(cap: int = 9) -> list[Event]:
    return [
        StatusEvent(ONE, state="idle", sequence=1),
        TurnStartEvent(ONE, number=1, agent="build", model="scripted/model", cap=cap),
        PromptEvent(ONE, id="p", turn=1, text="go", files=()),
        StatusEvent(ONE, state="busy", sequence=2),
    ]


def called(name: str, arguments: str, sequence: int = 4) -> list[Event]:
    """A first step that makes one call."""
    return [
        StepStartEvent(ONE, number=1, cap=9, closing=None, sequence=3),
        ToolUseEvent(ONE, id=CALL, tool=name, input=None, state="pending"),
        DeltaEvent(ONE, part=CALL, kind="arguments", offset=0, text=arguments),
        StepFinishEvent(ONE, number=1, calls=1, usage=Usage(10, 1), cost=0.0, finish="tool_calls", sequence=sequence),
    ]


def said(text: str, sequence: int, number: int = 2) -> list[Event]:
    """A step that only says something."""
    part, usage = f"1.{number}.1.0.0", Usage(10, (len(text) + 3) // 4 + 1)
    return [
        StepStartEvent(ONE, number=number, cap=9, closing=None, sequence=sequence),
        DeltaEvent(ONE, part=part, kind="text", offset=0, text=text),
        TextEvent(ONE, part=part, text=text, by="model"),
        StepFinishEvent(ONE, number=number, calls=0, usage=usage, cost=0.0, finish="stop", sequence=sequence + 1),
    ]


def refused(name: Any, limit: Any, output: str, **more: Any) -> ToolUseEvent:
    use = ToolUseEvent(ONE, id=CALL, tool="look", input={"key": "a"}, state="refused", output=output, **more)
    return replace(use, refusal=name, limit=limit)


def over(sequence: int, spent: Spent | None, reason: Any = "answered") -> list[Event]:
    """The end of the turn; without `spent`, what the record says of it, since tokens were estimated."""
    return [
        TurnFinishEvent(ONE, number=1, reason=reason, detail="", spent=spent or FROM_RECORD),
        StatusEvent(ONE, state="idle", sequence=sequence),
    ]


LOOK, LOOKS, ASKS = call("look", key="a"), '{"key":"a"}', [Rule("python", "look", "ask")]
TODOS = {"todos": [{"content": "Look", "status": "in_progress"}]}
TASK = {"description": "a piece", "prompt": "Look.", "subagent_type": "child"}
HALF = "The first half of an answer"
BROKEN = Reply(text=HALF, chunk=3, pace=0.2, error=ScriptedError("busy", 503, {"retry-after": "2"}))
LONG = Reply(text="One two three", chunk=4, pace=1.2)
ASKED = partial(AskEvent, kind="permission", text="Allow python: look?", choices=("once", "always", "reject"))
SEEN = partial(ToolUseEvent, ONE, tool="look", input={"key": "a"}, state="done", output="saw a")
CLOSED = """Step limit reached (1/1).
Done in this turn: 1 step, 0 tool calls.
Nothing was lost: say "continue" to go on from here."""
CLOSING = (
    (ROOT / "src/bridle/config/prompts/closing.md").read_text().replace("{limit}", "Step limit reached (1/1)").strip()
)
REPORT = f"[subagent {CHILD}: answered]\n\nSeen."
CUT = "the stream ended before the reply was whole"
UNGAINED = "The context was not compacted: there was nothing to gain."

STORIES = {
    "steps and calls": (
        {"replies": [Reply(text="Now.", reasoning="Hm.", calls=(LOOK,)), "Seen."]},
        [
            StepStartEvent(ONE, number=1, cap=9, closing=None, sequence=3),
            DeltaEvent(ONE, part="1.1.1.0.0", kind="reasoning", offset=0, text="Hm."),
            DeltaEvent(ONE, part="1.1.1.0.1", kind="text", offset=0, text="Now."),
            ToolUseEvent(ONE, id="1.1.1.0.2", tool="look", input=None, state="pending"),
            DeltaEvent(ONE, part="1.1.1.0.2", kind="arguments", offset=0, text=LOOKS),
            ReasoningEvent(ONE, part="1.1.1.0.0", text="Hm."),
            TextEvent(ONE, part="1.1.1.0.1", text="Now.", by="model"),
            StepFinishEvent(ONE, number=1, calls=1, usage=Usage(10, 2), cost=0.0, finish="tool_calls", sequence=4),
            ToolStartEvent(ONE, id="1.1.1.0.2", tool="look", input={"key": "a"}, sequence=5),
            SEEN(id="1.1.1.0.2", sequence=6),
            *said("Seen.", 7),
            *over(9, Spent(2, 1, 25)),
        ],
    ),
    "output as it comes": (
        {"replies": [call("print"), "Printed."]},
        [
            *called("print", "{}"),
            ToolStartEvent(ONE, id=CALL, tool="print", input={}, sequence=5),
            DeltaEvent(ONE, part=CALL, kind="output", offset=0, text="one\n"),
            DeltaEvent(ONE, part=CALL, kind="output", offset=4, text="two\n"),
            ToolUseEvent(ONE, id=CALL, tool="print", input={}, state="done", output="one\ntwo\n", sequence=6),
            *said("Printed.", 7),
            *over(9, Spent(2, 1, 24)),
        ],
    ),
    "a refusal": (
        {"replies": [LOOK, "Well."], "permission": [Rule("python", "look", "deny")]},
        [
            *called("look", LOOKS),
            refused("denied", None, "not executed: the rules deny python for look", sequence=5),
            *said("Well.", 6),
            *over(8, Spent(2, 0, 24)),
        ],
    ),
    "an ask": (
        {"replies": [LOOK, "Seen."], "permission": ASKS, "on_ask": "pause", "people": answered},
        [
            *called("look", LOOKS),
            ASKED(ONE, id=f"{CALL}.python", call=CALL, always=("python: look",)),
            StatusEvent(ONE, state="paused", sequence=5),
            AskEndEvent(ONE, id=f"{CALL}.python", call=CALL),
            StatusEvent(ONE, state="busy", sequence=6),
            ToolStartEvent(ONE, id=CALL, tool="look", input={"key": "a"}, sequence=7),
            SEEN(id=CALL, sequence=8),
            *said("Seen.", 9),
            *over(11, Spent(2, 1, 24)),
        ],
    ),
    "a retry": (
        {"replies": [BROKEN, "Whole."]},
        [
            StepStartEvent(ONE, number=1, cap=9, closing=None, sequence=3),
            *(
                DeltaEvent(ONE, part="1.1.1.0.0", kind="text", offset=at, text=HALF[at : at + 3])
                for at in range(0, len(HALF), 3)
            ),
            RemovedEvent(ONE, parts=("1.1.1.0.0",)),
            RetryEvent(ONE, attempt=1, message="busy", status=503, next=3.8),
            StatusEvent(ONE, state="retry", attempt=1, message="busy", next=3.8, sequence=6),
            StatusEvent(ONE, state="busy", sequence=7),
            DeltaEvent(ONE, part="1.1.1.1.0", kind="text", offset=0, text="Whole."),
            TextEvent(ONE, part="1.1.1.1.0", text="Whole.", by="model"),
            StepFinishEvent(ONE, number=1, calls=0, usage=Usage(10, 3), cost=0.0, finish="stop", sequence=8),
            *over(9, None),
        ],
    ),
    "a call that was cut off": (
        {"replies": [Reply(calls=(LOOK,), cut=4), "Whole."]},
        [
            *called("look", LOOKS)[:3],
            RemovedEvent(ONE, parts=(CALL,)),
            RetryEvent(ONE, attempt=1, message=CUT, status=None, next=FROM_RECORD),
            StatusEvent(ONE, state="retry", attempt=1, message=CUT, next=FROM_RECORD, sequence=4),
            StatusEvent(ONE, state="busy", sequence=5),
            DeltaEvent(ONE, part="1.1.1.1.0", kind="text", offset=0, text="Whole."),
            TextEvent(ONE, part="1.1.1.1.0", text="Whole.", by="model"),
            StepFinishEvent(ONE, number=1, calls=0, usage=Usage(10, 3), cost=0.0, finish="stop", sequence=6),
            *over(7, None),
        ],
    ),
    "a limit": (
        {"replies": [LOOK], "steps": 1},
        [
            NoticeEvent(ONE, about="closing", text=CLOSING),
            StepStartEvent(ONE, number=1, cap=1, closing="step_cap", sequence=3),
            *called("look", LOOKS)[1:3],
            refused("limit", "steps", "not executed: step limit reached"),
            *called("look", LOOKS)[3:],
            DeltaEvent(ONE, part="1.text", kind="text", offset=0, text=CLOSED),
            TextEvent(ONE, part="1.text", text=CLOSED, by="bridle"),
            SentinelEvent(ONE, kind="cap_hit", reason="step_cap", text="Step limit reached (1/1)"),
            *over(5, Spent(1, 0, 11), "step_cap"),
        ],
    ),
    "an abort": (
        {"replies": [LONG], "people": aborted},
        [
            StepStartEvent(ONE, number=1, cap=9, closing=None, sequence=3),
            DeltaEvent(ONE, part="1.1.1.0.0", kind="text", offset=0, text="One "),
            DeltaEvent(ONE, part="1.1.1.0.0", kind="text", offset=4, text="two "),
            TextEvent(ONE, part="1.1.1.0.0", text="One two ", by="model"),
            StepFinishEvent(ONE, number=1, calls=0, usage=None, cost=0.0, finish="", sequence=6),
            SentinelEvent(ONE, kind="cap_hit", reason="aborted", text="Aborted"),
            *over(8, None, "aborted"),
        ],
    ),
    "todos": (
        {"replies": [call("todowrite", **TODOS), "Planned."]},
        [
            *called("todowrite", '{"todos":[{"content":"Look","status":"in_progress"}]}'),
            ToolStartEvent(ONE, id=CALL, tool="todowrite", input=TODOS, sequence=5),
            ToolUseEvent(ONE, id=CALL, tool="todowrite", input=TODOS, state="done", output="[>] Look"),
            TodosEvent(ONE, todos=(Todo("Look", "in_progress"),), sequence=6),
            *said("Planned.", 7),
            *over(9, Spent(2, 1, 24)),
        ],
    ),
    "a synthesis": (
        {"replies": lambda request: "Yes." if request.purpose == "synthesis" else call("gather", source="one")},
        [
            *called("gather", '{"source":"one"}'),
            ToolStartEvent(ONE, id=CALL, tool="gather", input={"source": "one"}, sequence=5),
            ToolUseEvent(
                ONE, id=CALL, tool="gather", input={"source": "one"}, state="done", output="one says yes", sequence=6
            ),
            DeltaEvent(ONE, part="1.1.s1.0.0", kind="text", offset=0, text="Yes."),
            TextEvent(ONE, part="1.1.s1.0.0", text="Yes.", by="model", sequence=8),
            *over(9, Spent(1, 1, 23), "synthesized"),
        ],
    ),
    "a subagent that asks twice": (
        {
            "replies": [spawn("Look."), "Seen."],
            "child": [[LOOK, call("look", key="b")], "Seen."],
            "permission": ASKS,
            "on_ask": "pause",
            "people": answered,
        },
        [
            *called("task", '{"description":"a piece","prompt":"Look.","subagent_type":"child"}'),
            ToolUseEvent(ONE, id=CALL, tool="task", input=TASK, state="waiting", child=CHILD),
            SubagentEvent(ONE, call=CALL, child=CHILD, state="started", background=False, sequence=5),
            ASKED(CHILD, id=f"{CHILD}:{CALL}.python", call=CALL, always=("python: look",)),
            ASKED(CHILD, id=f"{CHILD}:1.1.1.0.1.python", call=CALL, always=("python: look",)),
            StatusEvent(ONE, state="paused", sequence=6),
            AskEndEvent(ONE, id=f"{CHILD}:{CALL}.python", call=CALL, sequence=7),
            AskEndEvent(ONE, id=f"{CHILD}:1.1.1.0.1.python", call=CALL),
            StatusEvent(ONE, state="busy", sequence=8),
            ToolUseEvent(ONE, id=CALL, tool="task", input=TASK, state="done", output=REPORT),
            SubagentEvent(
                ONE, call=CALL, child=CHILD, state="ended", reason="answered", spent=Spent(2, 2, 24), sequence=9
            ),
            *said("Seen.", 10),
            *over(12, Spent(2, 1, 48)),
        ],
    ),
    "a compaction": (
        {"replies": [Reply(text="Hi.", usage=Usage(12_000, 12_000))], "summary": "In short.", "people": compacted},
        [
            *said("Hi.", 3, number=1)[:3],
            StepFinishEvent(ONE, number=1, calls=0, usage=Usage(12_000, 12_000), cost=0.0, finish="stop", sequence=4),
            *over(5, Spent(1, 0, 24_000)),
            TurnStartEvent(ONE, number=2, agent="build", model="scripted/model", cap=9),
            CompactionEvent(ONE, cause="manual", outcome="open", before=0, after=0),
            StatusEvent(ONE, state="busy", sequence=6),
            CompactionEvent(ONE, cause="manual", outcome="no_progress", before=24_000, after=24_008),
            NoticeEvent(ONE, about="compaction", text="context not compacted: nothing to gain", sequence=8),
            DeltaEvent(ONE, part="2.text", kind="text", offset=0, text=UNGAINED),
            TextEvent(ONE, part="2.text", text=UNGAINED, by="bridle"),
            TurnFinishEvent(ONE, number=2, reason="answered", detail="", spent=Spent(0, 0, 14)),
            StatusEvent(ONE, state="idle", sequence=9),
        ],
    ),
}
