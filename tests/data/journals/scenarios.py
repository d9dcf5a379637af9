"""The scenarios of the recorded journals: model replies, tools and settings, and how each journal goes on.

`make.py` writes a journal with each of them, and `tests/journal/test_old_journals.py` resumes it. Everything whose name
may change inside Bridle is plain data: replies, settings and outputs are converted by the public types.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from bridle import Output, Price, Reply, Runtime, RuntimeConfig, ScriptedModel, Settings, call, tool
from bridle.core.inbox import TurnOptions
from bridle.tools.registry import builtin_tools

SESSION = "ses_one"
FIRST = "prm_one"
SECOND = "prm_two"
NEXT = "prm_next"
FOLDER = Path("/tmp/old-journal")
"""The directory in which the sessions were recorded. It need not exist."""

SCHEMA = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
PRICED = {"price": {"input": 1.0, "output": 10.0}}
SMALL = {"context_window": 10_000, "max_output_tokens": 1_024}


def reply(**fields: Any) -> Reply:
    """Return a reply from plain data: calls, usage and errors are dicts."""
    return msgspec.convert(fields, Reply)


class Tries:
    """The replies to the tries of one request, in order; the last one is repeated."""

    def __init__(self, *replies: Any) -> None:
        self.replies = replies


class Script:
    """The replies of one model: by turn, step and try, and by purpose for requests beside the steps.

    A step that is asked again after a crash gets the same reply. `each` computes the reply of every step of turn 1.
    """

    def __init__(
        self,
        *steps: Any,
        then: Any = "Done.",
        turns: Mapping[int, tuple[Any, ...]] | None = None,
        each: Callable[[Any], Any] | None = None,
        compaction: Any = "In short: all is well.",
        synthesis: Any = "Both results say the same.",
        title: Any = "A good name",
    ) -> None:
        self._turns = {1: steps, **(turns or {})}
        self._then = then
        self._each = each
        self._beside = {"compaction": compaction, "synthesis": synthesis, "title": title}
        self.asked: Counter[str] = Counter()

    def __call__(self, request: Any) -> Any:
        key = f"{request.session} {request.id}"
        self.asked[key] += 1
        found = self._found(request)
        if isinstance(found, Tries):
            return found.replies[min(self.asked[key], len(found.replies)) - 1]
        return found(request) if callable(found) else found

    def _found(self, request: Any) -> Any:
        if request.purpose in self._beside:
            return self._beside[request.purpose]
        turn, step, _ = map(int, request.id.split("."))
        if turn not in self._turns:
            return "Still here."
        if self._each is not None:
            return self._each
        steps = self._turns[turn]
        return steps[step - 1] if step <= len(steps) else self._then


@dataclass(frozen=True)
class Scenario:
    """One recorded journal. `waits` are the prompts that are open in it; without any, a new prompt is submitted."""

    script: Script = field(default_factory=Script)
    child: Script | None = None
    model: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    on_ask: str | None = None
    waits: tuple[str, ...] = ()
    answer: str = "once"
    """The answer to every ask that is open, or comes up, after the resumption."""
    ends: str = "answered"
    """The reason for which the last of `waits`, or the new prompt, ends."""


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return both mappings, the second over the first, with nested mappings merged too."""
    result = dict(first)
    for key, value in second.items():
        nested = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = merged(result[key], value) if nested else value
    return result


SETTINGS = {
    "agent": "build",
    "journal": {"durability": "process"},
    "sandbox": {"mode": "off"},
    "agents": {
        "build": {"model": "m", "prompt": "You work."},
        "child": {"model": "c", "prompt": "You help.", "mode": "subagent", "description": "Helps."},
    },
}


def agent(**fields: Any) -> dict[str, Any]:
    """Return settings for the agent of the root session."""
    return {"agents": {"build": fields}}


def below(**fields: Any) -> dict[str, Any]:
    """Return settings for the agent of the subagents."""
    return {"agents": {"child": fields}}


def open_runtime(
    scenario: Scenario, name: str, journal: Path, *, ran: list[tuple[str, str]], hooks: bool = False, **more: Any
) -> Runtime:
    """Open a runtime with the models, tools and settings of a scenario; hooks run only while a journal is written."""
    settings = merged(SETTINGS, scenario.settings)
    if not hooks:
        settings.pop("hooks", None)
    child = scenario.child or Script()
    for script in (scenario.script, child):
        script.asked.clear()
    models = {"m": ScriptedModel(scenario.script, **_model(scenario)), "c": ScriptedModel(child, **_model(scenario))}
    arguments = {
        "journal": journal,
        "settings": msgspec.convert(settings, Settings),
        "models": models,
        "tools": tools(ran),
        "directory": FOLDER / name,
        "outputs": None,
        "subagents": ["child"] if scenario.child is not None else (),
        "environment": {},
    }
    return Runtime(RuntimeConfig(**{**arguments, **more}))


def _model(scenario: Scenario) -> dict[str, Any]:
    price = scenario.model.get("price")
    return {**scenario.model, **({"price": msgspec.convert(price, Price)} if price is not None else {})}


def options(scenario: Scenario) -> TurnOptions:
    """Return what the first prompt of a scenario asks of its turn."""
    return msgspec.convert({"on_ask": scenario.on_ask}, TurnOptions)


def tools(ran: list[tuple[str, str]], on_call: Callable[[str], None] = lambda key: None) -> list[Any]:
    """Return the tools of all scenarios. Each run is noted in `ran`; `on_call` may end the process.

    A key that begins with "slow" takes five seconds.
    """

    async def run(name: str, key: str) -> None:
        ran.append((name, key))
        on_call(key)
        if key.startswith("slow"):
            await asyncio.sleep(5)

    @tool(repeatable=True)
    async def look(key: str = "") -> str:
        """Look at something."""
        await run("look", key)
        return f"saw {key}"

    @tool
    async def act(key: str = "") -> str:
        """Do something that must not happen twice."""
        await run("act", key)
        return f"did {key}"

    @tool
    async def broken(key: str = "") -> str:
        """Fail."""
        await run("broken", key)
        raise RuntimeError("always " * 10_000 if key == "long" else "always")

    @tool
    async def fill(key: str = "", words: int = 3_000) -> str:
        """Say many words."""
        await run("fill", key)
        return f"{key} " + "word " * words

    @tool
    async def gather(key: str = "") -> Output:
        """Find something from which an answer is written."""
        await run("gather", key)
        return Output(f"found {key}", synthesize=True)

    @tool
    async def picture(key: str = "") -> Output:
        """Show an image."""
        await run("picture", key)
        shown = {"name": key, "media": "image/png", "data": PIXEL}
        return msgspec.convert({"text": f"shown {key}", "attached": [shown], "files": [key]}, Output)

    @tool
    async def save(key: str = "", text: str = "") -> Output:
        """Write a file of the project."""
        await run("save", key)
        Path(key).write_text(text)
        return Output(f"wrote {key}", files=(key,))

    kept = [each for each in builtin_tools() if each.spec.name in ("todowrite", "question", "read", "write", "bash")]
    return [look, act, broken, fill, gather, picture, save, *kept]


def task(key: str, **more: Any) -> Any:
    """Return a call that starts a subagent."""
    return call("task", description="a piece", prompt=f"do {key}", **{"subagent_type": "child", **more})


def beside(key: str) -> Any:
    """Return a call that starts a subagent in the background."""
    return task(key, background=True)


def look(key: str) -> Any:
    return call("look", key=key)


def act(key: str) -> Any:
    return call("act", key=key)


def counted(request: Any) -> dict[str, int]:
    """Return the usage that a provider would report: a token for four characters."""
    size = len(request.system) + sum(len(str(message)) for message in request.messages)
    return {"input": size // 4, "output": 10}


def filling(*steps: Any) -> Callable[[Any], Any]:
    """Return a play whose usage follows the size of the context; texts and calls by step."""

    def play(request: Any) -> Any:
        number = int(request.id.split(".")[1])
        said = steps[number - 1] if number <= len(steps) else "Filled."
        words = {"text": said} if isinstance(said, str) else {"calls": [msgspec.to_builtins(said)]}
        return reply(**words, usage=counted(request))

    return play


def dense(request: Any) -> Any:
    """Count a token for every character, so that few outputs are enough to be pruned."""
    number = int(request.id.split(".")[1])
    usage = {"input": sum(len(str(message)) for message in request.messages), "output": 10}
    said = {"calls": [{"name": "fill", "arguments": {"key": str(number)}}]} if number <= 5 else {"text": "Pruned."}
    return reply(**said, usage=usage)


def crowded(request: Any) -> Any:
    """Report a full window after every reply but the first."""
    usage = counted(request) if request.id == "1.1.1" else {"input": 9_500, "output": 10}
    return reply(calls=[{"name": "fill", "arguments": {"key": request.id, "words": 100}}], usage=usage)


def thirsty(request: Any) -> Any:
    """Ask for another call in each step, also in the closing one, and report much usage."""
    return reply(calls=[{"name": "look", "arguments": {"key": request.id}}], usage={"input": 900, "output": 100})


def steady(request: Any) -> Any:
    """Spend a little of every limit in each of 25 steps."""
    step = int(request.id.split(".")[1])
    if step > 25:
        return "Just in time."
    calls = [{"name": "look", "arguments": {"key": str(step)}}]
    return reply(calls=calls, usage={"input": 1_900, "output": 100}, delay=3)


def ending(request: Any) -> Any:
    """Return the replies of subagents that all end for another reason; the first prompt says for which."""
    step = int(request.id.split(".")[1])
    match request.messages[0].text.removeprefix("do "):
        case "empty":
            return ""
        case "error":
            return reply(error=ERROR)
        case "doom":
            return look("same")
        case "gather":
            return call("gather", key="a")
        case "calls":
            return look(str(step))
        case "time":
            return reply(text="Too slow.", delay=95)
        case "tokens":
            return reply(calls=[{"name": "look"}], usage={"input": 48_000, "output": 10})
        case "cost":
            return reply(calls=[{"name": "look"}], usage={"input": 100, "output": 18_900})
    return act("a") if step == 1 else "Helped."


ERROR = {"message": "no such model", "status": 404}
OVERLOADED = {"message": "overloaded", "status": 529}
TOO_LONG = {"message": "too long", "status": 400, "overflow": True}
LONG = "It was a long answer that came in many small pieces, one after the other. "
CHANT = "I will now look at the file and then I will fix it. " * 40
COMMANDS = (
    "cat a.txt | tee b.txt",
    "git -C sub status",
    'make "$TARGET"',
    "find . -name '*.py' -exec rm {} +",
    "sudo -u other frobnicate --all now",
    "python3 -c 'print(1)'",
    "xargs $RUN < names",
    "docker --context far run image sh",
    "cd sub && ./frobnicate --all now; $CMD more",
    "env A=1 bash -c 'ls'",
    "frobnicate rm -r everything",
    "./npm --prefix sub install thing",
    "npm --unknown sub install thing",
    "git commit -m 'a message' && git --no-pager push",
)
ASKS = {"permission": {"python": {"act": "ask"}}}
QUESTION = call("question", questions=[{"question": "Which color?", "options": [{"label": "red"}, {"label": "blue"}]}])
TODO = [{"content": "first", "status": "completed"}, {"content": "second", "status": "in_progress"}]
LIMITED = agent(limits={"tool_calls": 9, "tokens": 90_000, "cost": 1.0, "seconds": 90.0})
USAGE = {"input": 40, "output": 30, "reasoning": 20, "cache_read": 10, "cache_write": 5}
ALLOWANCES = {"limits": {"daily": {"cost": 5.0}, "monthly": {"cost": 50.0}}}
SLOWLY = reply(text=LONG, chunk=4, pace=0.4)
LATER = reply(text="Later.", delay=1.0)


def crashing(*steps: Any, then: Any = "Done.", **more: Any) -> Scenario:
    """Return a scenario whose first prompt is open in the journal."""
    fields = {"waits": (FIRST,), **more}
    return Scenario(Script(*steps, then=then), **fields)


ENDINGS = {
    "answered": Scenario(Script(reply(reasoning="Let me think.", text=LONG, chunk=9, pace=0.3, usage=USAGE))),
    "step_cap": Scenario(Script(act("a"), act("b"), act("c")), settings=agent(steps=3)),
    "limits_near": Scenario(
        Script(each=lambda request: steady(request)),
        model={"price": {"input": 10.0, "output": 10.0}},
        settings=agent(steps=30, limits={"tool_calls": 29, "tokens": 60_000, "cost": 0.58, "seconds": 90}),
    ),
    "tool_budget": Scenario(
        Script([act(key) for key in "abcde"], then="Out of calls."), settings=agent(limits={"tool_calls": 3})
    ),
    "token_budget": Scenario(Script(each=thirsty), settings=agent(limits={"tokens": 9_000})),
    "cost_budget": Scenario(Script(each=thirsty), model=PRICED, settings=agent(limits={"cost": 0.05})),
    "time_budget": Scenario(
        Script(reply(text="Too slow.", delay=95), act("a")), settings=agent(limits={"seconds": 100})
    ),
    "tree_budget": Scenario(
        Script([task("a"), act("b")], [act("c"), act("d"), act("e")], then="No calls are left."),
        child=Script(act("f"), "Helped."),
        settings={"tree": {"tool_calls": 4}},
    ),
    "tree_steps": Scenario(
        Script(task("a"), look("b")),
        child=Script(look("c"), look("d"), "Helped."),
        model=PRICED,
        settings={"tree": {"steps": 4, "tokens": 900_000, "cost": 90.0}},
    ),
    "doom_loop": Scenario(Script(*[look("same")] * 3, then="In circles.")),
    "chant": Scenario(Script(reply(text=CHANT, chunk=20), "I repeated myself.")),
    "context_full": Scenario(Script(each=crowded), model=SMALL),
    "denied": Scenario(Script([act("a"), act("b"), look("c")]), settings=agent(**ASKS), on_ask="pause"),
    "empty": Scenario(Script("", " \n")),
    "error": Scenario(Script(reply(error=ERROR))),
    "aborted": Scenario(Script(look("a"), reply(text=LONG, chunk=4, pace=0.4))),
    "aborted_pause": Scenario(Script([act("a"), act("b")]), settings=agent(**ASKS), on_ask="pause"),
    "aborted_call": Scenario(Script([act("slow a"), act("b")])),
    "synthesized": Scenario(Script([call("gather", key=key) for key in "ab"])),
    "too_low": Scenario(settings=agent(limits={"tokens": 500}), ends="token_budget"),
}

CONTENTS = {
    "calls": Scenario(
        Script(
            [look("a"), act("b"), call("broken", key="c")],
            [call("look", wrong=1), call("nothing", key="d")],
            reply(calls=[{"name": "look", "arguments": '{"key": "e"'}, {"name": "Look", "arguments": {"key": "f"}}]),
        )
    ),
    "sealed": Scenario(
        Script(
            reply(
                reasoning="Hidden for a while.", chunk=2, pace=0.4, calls=[{"name": "look", "arguments": {"key": "a"}}]
            ),
            reply(reasoning="Briefly.", text="Sealed."),
        )
    ),
    "library": Scenario(
        Script(act("a"), "From a library."), settings={"agents": {"agent": {"model": "m", "prompt": "You work."}}}
    ),
    "written_calls": Scenario(
        Script(*[f'{{"name": "look", "arguments": {{"key": "{key}"}}}}' for key in "abc"], then="Written.")
    ),
    "output": Scenario(
        Script("It is two.", call("structured_output", total="two"), call("structured_output", total=2)),
        settings=agent(output=SCHEMA),
        ends="error",
    ),
    "retries": Scenario(
        Script(
            Tries(
                reply(text="half", chunk=1, pace=0.4, error=OVERLOADED), reply(text="cut off", cut=4), look("a"), "no"
            )
        )
    ),
    "compaction": Scenario(Script(each=filling(*[call("fill", key=str(number)) for number in range(4)])), model=SMALL),
    "compaction_overflow": Scenario(
        Script(
            filling(call("fill", words=500)),
            lambda request: reply(error=TOO_LONG) if request.id == "1.2.1" else "Fits.",
            compaction=reply(error=ERROR),
        ),
        model=SMALL,
    ),
    "compaction_long_prompt": Scenario(
        Script(each=filling(*[call("fill", key=str(number), words=500) for number in range(9)])), model=SMALL
    ),
    "compaction_by_hand": Scenario(Script(filling(call("fill", words=2_500)), turns={4: ("Smaller.",)}), model=SMALL),
    "pruned": Scenario(Script(each=dense), model={"context_window": 1_000_000}),
    "extended": Scenario(
        Script(reply(calls=[{"name": "act", "arguments": {"key": "a"}}], delay=1), act("b"), act("c"))
    ),
    "extended_all": Scenario(
        Script(reply(calls=[{"name": "act", "arguments": {"key": "a"}}], delay=1)), model=PRICED, settings=LIMITED
    ),
    "extended_time": Scenario(
        Script(reply(text=LONG, chunk=4, pace=20), "In time."), settings=agent(limits={"seconds": 100})
    ),
    "steered": Scenario(Script(reply(calls=[{"name": "act", "arguments": {"key": "slow a"}}]), "First.", "Second.")),
    "queued_turns": Scenario(Script("First.", turns={2: (look("b"), "Second.")})),
    "undone": Scenario(Script(call("save", key=str(FOLDER / "undone" / "a.txt"), text="one\n"))),
    "redone": Scenario(Script(call("save", key=str(FOLDER / "redone" / "a.txt"), text="one\n"))),
    "undo_interrupted": Scenario(Script(act("a"))),
    "undo_noticed": Scenario(Script(act("a"))),
    "forked": Scenario(Script(look("a"), "First.", turns={2: ("Second.",)})),
    "imported": Scenario(Script([task("a"), look("b")]), child=Script(look("c"), "Helped.")),
    "renamed": Scenario(Script("Named."), settings={"small_model": "m"}),
    "files": Scenario(
        Script([call("picture", key="a.png"), call("read", filePath="notes.txt")]),
        settings={"models": {"m": {"takes": ["image"]}}},
    ),
    "stored_output": Scenario(Script([call("fill", key="a", words=20_000), call("broken", key="long")])),
    "patches": Scenario(Script(act("a"), act("b"), [act("c"), act("d")])),
    "unkept": Scenario(Script(act("a"))),
    "todos": Scenario(Script(call("todowrite", todos=TODO), act("a")), settings=agent(steps=2)),
    "hooks": Scenario(
        Script([act("a"), look("b")], call("broken", key="c")),
        settings={
            "hooks": [
                {"on": "before_call", "tool": "act", "command": 'echo \'{"arguments": {"key": "changed"}}\''},
                {"on": "before_call", "tool": "broken", "command": "echo not now; exit 1"},
                {"on": "after_call", "tool": "look", "command": 'echo \'{"output": "replaced"}\''},
                {"on": "turn_end", "command": "echo noted; exit 1"},
            ]
        },
    ),
    "allowances": Scenario(Script(look("a")), model=PRICED, settings=ALLOWANCES),
    "day_spent": Scenario(
        Script(each=thirsty), model=PRICED, settings={"limits": {"daily": {"cost": 0.03}}}, ends="cost_budget"
    ),
    "month_spent": Scenario(
        Script(each=thirsty), model=PRICED, settings={"limits": {"monthly": {"cost": 0.03}}}, ends="cost_budget"
    ),
    "question": Scenario(Script(QUESTION), on_ask="person"),
    "approved_always": Scenario(Script([act("a"), act("b")], act("c")), settings=agent(**ASKS), on_ask="pause"),
    "approval_unsaved": Scenario(Script(act("a")), settings=agent(**ASKS), on_ask="pause"),
    "rejected_with_words": Scenario(Script(act("a")), settings=agent(**ASKS), on_ask="pause"),
    "unasked": Scenario(
        Script([act("a"), call("broken", key="b")]),
        settings=agent(permission={"python": {"act": "ask", "broken": "deny"}}),
        on_ask="deny",
    ),
    "allowed": Scenario(Script(act("a")), settings=agent(**ASKS), on_ask="allow"),
    "talk_only": Scenario(Script(reply(text="Only words.", calls=[{"name": "look"}])), settings=agent(steps=0)),
    "switched": Scenario(
        Script("First.", turns={2: ("Second.",)}),
        settings={
            "agents": {"build": {"steps": 300}, "plan": {"tools": {"gather": False}}},
            "models": {"m": {"variants": {"quick": {}}}},
        },
    ),
    "subagents": Scenario(
        Script(
            [task("a"), act("b"), task("c")],
            task("more", task_id=f"{SESSION}.1.1.1.0.0"),
            [task("e"), task("f"), task("g", subagent_type="unknown")],
        ),
        child=Script(call("picture", key="d.png"), act("h"), "Helped."),
        settings=merged(below(steps=2), {"tree": {"total": 4}}),
    ),
    "subagent_endings": Scenario(
        Script([task(key) for key in ("empty", "error", "doom", "gather", "calls", "time", "tokens", "ask", "cost")]),
        child=Script(each=lambda request: ending(request)),
        model=PRICED,
        settings=merged(
            below(limits={"tool_calls": 4, "tokens": 50_000, "seconds": 100, "cost": 0.2}, **ASKS),
            {"tree": {"live": 9}},
        ),
    ),
    "mandate": Scenario(
        Script(act("a"), task("b")),
        child=Script([look("c"), act("d")], "Helped."),
        model=PRICED,
        settings={"agents": {"plan": {"model": "m", "limits": {"cost": 1.0, "seconds": 600}, **ASKS}}},
    ),
    "subagent_denied": Scenario(
        Script(task("a")), child=Script(act("b"), "Helped."), settings=below(**ASKS), on_ask="pause"
    ),
    "subagents_too_deep": Scenario(Script(task("a")), child=Script(task("b"), "Alone.")),
    "background": Scenario(
        Script([beside("a"), act("b")], "Too early.", then="With the report."),
        child=Script(reply(calls=[{"name": "act", "arguments": {"key": "c"}}], delay=2), "Helped."),
    ),
    "background_stopped": Scenario(
        Script(beside("a"), act("b"), then="Closed."), child=Script(reply(hang=True)), settings=agent(steps=3)
    ),
    "subtask": Scenario(Script("never", "Delegated."), child=Script(look("a"), "Helped.")),
    "deleted": Scenario(Script(look("a"))),
    "created": Scenario(),
}

CRASHED = {
    "crash_before_turn": crashing(look("a")),
    "crash_turn_opened": crashing(look("a")),
    "crash_request": crashing("Hello."),
    "crash_text": crashing(reply(reasoning="Let me think of it.", text=LONG, chunk=4, pace=0.4)),
    "crash_second_attempt": crashing(look("a"), "Done."),
    "crash_three_attempts": crashing("Hello.", ends="error"),
    "crash_retry": crashing(Tries(reply(error=OVERLOADED), "Recovered.")),
    "crash_pending": crashing(
        reply(calls=[{"name": "look", "arguments": {"key": "a"}}, {"name": "act", "arguments": {"key": "b"}}], delay=1)
    ),
    "crash_running": crashing([look("a"), act("slow b"), look("slow c")]),
    "crash_repeat": crashing([look("a"), act("b")]),
    "crash_unknown": crashing(act("a")),
    "crash_approved": crashing(act("a"), settings=agent(**ASKS), on_ask="pause"),
    "crash_closing": crashing(act("a"), "Closed.", settings=agent(steps=2), ends="step_cap"),
    "crash_halt": crashing([act("slow a")], ends="aborted"),
    "crash_unfinished": crashing(LATER),
    "crash_refused": crashing(
        reply(calls=[{"name": "act", "arguments": {"key": "a"}}], usage={"input": 55_000, "output": 3_000}),
        settings=agent(limits={"tokens": 60_000}),
        ends="token_budget",
    ),
    "crash_extension": crashing(
        reply(calls=[{"name": "act", "arguments": {"key": "a"}}], delay=1), act("b"), settings=agent(steps=2)
    ),
    "crash_steered": crashing(act("slow a"), "Both.", waits=(FIRST, SECOND)),
    "crash_compaction": Scenario(
        Script(each=filling(*[call("fill", key=str(number)) for number in range(3)])), model=SMALL, waits=(FIRST,)
    ),
    "crash_compacted": Scenario(
        Script(each=filling(*[call("fill", key=str(number)) for number in range(3)])), model=SMALL, waits=(FIRST,)
    ),
    "crash_synthesis": crashing([call("gather", key=key) for key in "ab"], ends="synthesized"),
    "crash_title": Scenario(
        Script(reply(text="Named.", delay=2), title=reply(text="A good name", delay=1)),
        settings={"small_model": "m"},
        waits=(FIRST,),
    ),
    "crash_patch": crashing(act("a"), act("b")),
    "crash_output": crashing(look("a"), call("structured_output", total=2), settings=agent(output=SCHEMA)),
    "crash_allowances": crashing(look("a"), model=PRICED, settings=ALLOWANCES),
    "crash_todos": crashing(call("todowrite", todos=TODO), act("a")),
    "crash_children": crashing([task("a"), task("b"), act("c")], child=Script(act("d"), "Helped.")),
    "crash_queued": crashing([task("a"), task("b")], child=Script("Helped."), settings={"tree": {"live": 1}}),
    "crash_background": crashing(
        beside("a"), act("b"), then="With the report.", child=Script(reply(text="Helped.", delay=9))
    ),
    "crash_child_finished": crashing(task("a"), child=Script(look("b"), "Helped.")),
    "crash_child_prompted": crashing(task("a"), child=Script("Helped.")),
    "crash_child_unborn": crashing(task("a"), child=Script("Helped.")),
    "crash_recalled": crashing([task("a"), task("b")], child=Script(reply(hang=True)), ends="aborted"),
    "imported_open": crashing([task("a"), act("b")], child=Script(act("d"), "Helped.")),
}

PAUSED = {
    "paused_ask": crashing([act("a"), look("b")], settings=agent(**ASKS), on_ask="pause"),
    "paused_question": crashing(QUESTION, on_ask="pause"),
    "paused_bash": crashing(
        [call("bash", command=command, description="try it") for command in COMMANDS],
        settings=agent(
            permission={"bash": {"rm*": "ask", "docker run*": "ask", "sudo*": "ask", "npm install*": "ask"}}
        ),
        on_ask="pause",
        answer="reject",
        ends="denied",
    ),
    "paused_write": crashing(
        call("write", filePath="new.txt", content="one\ntwo\n"),
        settings=agent(permission={"edit": "ask"}),
        on_ask="pause",
        answer="reject",
        ends="denied",
    ),
    "paused_doom_loop": crashing(*[look("same")] * 3, on_ask="pause"),
    "paused_by_hook": crashing(
        act("a"),
        on_ask="pause",
        settings=merged(
            agent(**ASKS),
            {"hooks": [{"on": "before_call", "command": 'echo \'{"arguments": {"key": "changed"}}\''}]},
        ),
    ),
    "paused_child": crashing(
        [task("a"), look("b")], child=Script(act("c"), "Helped."), settings=below(**ASKS), on_ask="pause"
    ),
    "paused_grandchild": crashing(
        task("a"),
        child=Script(
            lambda request: act("c") if request.session.count(".") > 5 else task("b"),
            "Helped.",
        ),
        settings=merged(below(**ASKS), {"tree": {"depth": 2}}),
        on_ask="pause",
    ),
    "paused_background": crashing(
        beside("a"),
        "Too early.",
        then="With the report.",
        child=Script(act("b"), "Helped."),
        settings=below(**ASKS),
        on_ask="pause",
    ),
}

WAITING = {
    "inbox_answer": crashing([act("a"), act("b"), look("c")], settings=agent(**ASKS), on_ask="pause"),
    "inbox_reject": crashing(act("a"), settings=agent(**ASKS), on_ask="pause"),
    "inbox_abort": crashing(LATER, ends="aborted"),
    "inbox_extend": crashing(act("slow a"), act("b"), model=PRICED, settings=merged(LIMITED, agent(steps=2))),
    "inbox_compact": crashing(call("fill", key="a"), model=SMALL),
    "inbox_prompts": crashing(act("slow a"), "First.", waits=(FIRST, SECOND, "prm_three")),
    "inbox_child_asks": crashing(task("a"), child=Script(act("b"), "Helped."), settings=below(**ASKS), on_ask="pause"),
    "inbox_child_ended": crashing(
        task("a"), child=Script(call("picture", key="a.png"), "Helped."), settings=below(steps=2)
    ),
    "inbox_options": Scenario(
        Script(turns={4: (act("a"), call("structured_output", total=2))}),
        child=Script("Helped."),
        model=PRICED,
        settings={"models": {"m": {"variants": {"quick": {}}}}},
        waits=("prm_deny", "prm_person", "prm_subtask", "prm_pause"),
    ),
    "held_prompt": Scenario(Script(reply(error=ERROR), turns={2: ("After all.",)}), waits=(SECOND,)),
}

SCENARIOS: dict[str, Scenario] = {**ENDINGS, **CONTENTS, **CRASHED, **PAUSED, **WAITING}
