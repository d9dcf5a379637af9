"""One seed makes a world: what the model says, what tools do, what people want, and where the process dies."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness import SESSION, Cutter, Life, Scenario, WiredJournal, World, live, note_endings, reboot

from bridle import Limits, Reply, Rule, call
from bridle.core.inbox import AbortItem, AnswerItem, ExtendItem, InboxItem, PromptItem, TurnOptions
from bridle.core.result import Result
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import ScriptedCall, ScriptedError

KEYS = "abcde"


@dataclass
class Plan:
    """What a seed decided."""

    seed: int
    scenario: Scenario
    cuts: list[int]
    prompts: list[str] = field(default_factory=list)


def chosen(chance: random.Random, table: dict[Any, float]) -> Any:
    return chance.choices(list(table), list(table.values()))[0]


def make_plan(seed: int) -> Plan:
    """Everything that will happen, as far as the seed can say it."""
    chance = random.Random(seed)
    limits = Limits(
        tool_calls=chance.choice([None, None, 0, 1, 3, 7]),
        tokens=chance.choice([None, None, None, 12_000, 30_000, 90_000]),
        seconds=chance.choice([None, None, None, 20.0, 200.0]),
    )
    on_ask = chance.choice(["deny", "pause", "allow"])
    rules = tuple(Rule("python", name, chance.choice(["allow", "ask", "deny"])) for name in ("look", "act"))
    prompts = [f"prm_{n}" for n in range(chance.choice([1, 1, 2, 3]))]
    scenario = Scenario(
        name=f"seed {seed}",
        play=make_model(seed, chance.choice(MOODS)),
        people=make_people(random.Random(chance.random()), prompts, on_ask),
        ends=("", 0, 0),
        steps=chance.choice([None, 0, 1, 2, 3, 5, 8]),
        limits=limits,
        permission=rules if chance.random() < 0.4 else (),
        tool_seconds=chance.choice([0.0, 0.0, 0.5, 5.0]),
    )
    cuts = [chance.randint(1, 90) for _ in range(chance.choice([0, 0, 1, 1, 2, 3]))]
    return Plan(seed, scenario, cuts, prompts)


MOODS: list[dict[str, float]] = [
    {"answer": 3, "call": 4, "batch": 2},
    {"call": 8, "batch": 2, "answer": 1},
    {"same": 9, "call": 1},
    {"pingpong": 9, "answer": 1},
    {"call": 3, "broken": 3, "unknown": 2, "answer": 1},
    {"fails": 4, "cut": 2, "call": 3, "answer": 2},
    {"empty": 3, "call": 3, "answer": 1},
    {"chant": 1, "call": 4, "answer": 1},
    {"slow": 4, "call": 2, "answer": 2},
    {"defiant": 9, "answer": 1},
    {"hang": 1, "call": 5, "answer": 3},
    {"many": 2, "call": 2, "answer": 1},
    {"refused": 1, "call": 5, "answer": 1},
]


def make_model(seed: int, mood: dict[str, float]) -> Callable[[ModelRequest], Any]:
    """A model that answers the same to the same request, however often the process dies in between."""
    asked: dict[str, int] = {}

    def play(request: ModelRequest) -> Reply:
        asked[request.id] = asked.get(request.id, 0) + 1
        chance = random.Random(f"{seed} {request.id} {asked[request.id]}")
        what = chosen(chance, mood)
        if request.tool_choice == "none" and what not in ("defiant", "fails", "empty"):
            return Reply(text="That was it.", usage=_usage(chance))
        return say(what, chance, request)

    return play


def _usage(chance: random.Random) -> Any:
    return chance.choice([None, None, "missing", Usage(chance.randint(1, 2_000), chance.randint(1, 900)), Usage(-1, 5)])


def say(what: str, chance: random.Random, request: ModelRequest) -> Reply:
    fresh = call(chance.choice(["look", "act"]), key=f"{chance.choice(KEYS)} {request.id}")
    usage = _usage(chance)
    match what:
        case "answer":
            return Reply(text="Here is the answer.", reasoning=chance.choice(["", "Hm."]), usage=usage)
        case "call" | "defiant":
            return Reply(text=chance.choice(["", "I will."]), calls=(fresh,), usage=usage)
        case "batch":
            return Reply(calls=tuple(call("act", key=f"{n} {request.id}") for n in range(chance.randint(2, 5))))
        case "many":
            return Reply(calls=tuple(call("look", key=f"{n} {request.id}") for n in range(30)))
        case "same":
            return Reply(calls=(call("look", key="same"),), usage=usage)
        case "pingpong":
            return Reply(calls=(call("look", key=KEYS[len(request.messages) // 2 % 3]),))
        case "broken":
            return Reply(calls=(ScriptedCall("look", chance.choice(['{"key": ', "[]", '{"key": "x",}', "nonsense"])),))
        case "unknown":
            return Reply(calls=(call("nothing", key=request.id), fresh))
        case "fails":
            status = chance.choice([429, 500, 503, 529, 404])
            headers = chance.choice([{}, {"retry-after": "2"}, {"retry-after": "9999"}])
            return Reply(text=chance.choice(["", "half"]), error=ScriptedError("busy", status, headers))
        case "cut":
            return Reply(text="This will be cut", calls=(fresh,), cut=chance.randint(1, 6))
        case "empty":
            return Reply(text=chance.choice(["", "  \n"]), reasoning=chance.choice(["", "Only thoughts."]))
        case "chant":
            return Reply(text="I will now look at it once more, with great care. " * 40, chunk=30)
        case "slow":
            return Reply(text="Word by word it comes along. " * 4, chunk=3, pace=0.2, delay=chance.choice([0, 3]))
        case "hang":
            return Reply(hang=True)
        case "refused":
            return Reply(text="I", finish="content_filter")
    raise AssertionError(what)


def make_people(chance: random.Random, prompts: list[str], on_ask: str) -> Callable[[Life], Any]:
    """People who prompt, answer, extend and abort at times of their own; each thing once, whoever lives."""
    options = TurnOptions(on_ask=on_ask)
    wishes: list[tuple[float, InboxItem]] = [
        (
            0.0 if n == 0 else chance.uniform(0, 12),
            PromptItem(id, f"please {id}", queue=n > 0 and chance.random() < 0.5, options=options),
        )
        for n, id in enumerate(prompts)
    ]
    if chance.random() < 0.15:
        wishes.append((chance.uniform(0, 15), AbortItem("abt")))
    if chance.random() < 0.2:
        wishes.append((chance.uniform(0, 8), ExtendItem("ext", chance.choice(["steps", "tool_calls", "tokens"]), 3)))
    verdicts = random.Random(chance.random())
    answers: dict[str, str] = {}

    async def people(life: Life) -> list[Result]:
        await life.runtime.create(SESSION)
        for at, item in sorted(wishes, key=lambda wish: wish[0]):
            await asyncio.sleep(max(0.0, at - asyncio.get_running_loop().time()))
            await life.runtime.journal.submit(SESSION, item)
            life.runtime.resume(SESSION)
        return [await _served(life, id, answers, verdicts) for id in prompts]

    return people


async def _served(life: Life, prompt: str, answers: dict[str, str], verdicts: random.Random) -> Result:
    """Wait for a prompt as a person would: answering what is asked, releasing what is held."""
    while True:
        result = await life.runtime.wait(SESSION, prompt)
        if result.ended:
            return result
        for ask in result.asks:
            choice = answers.setdefault(ask.id, verdicts.choice(["once", "always", "reject"]))
            await life.runtime.journal.submit(SESSION, AnswerItem(f"ans {ask.id}", ask.id, choice))
        life.runtime.resume(SESSION)


@dataclass
class History:
    """What is left when the last life has ended."""

    plan: Plan
    results: list[Result]
    store: WiredJournal
    world: World
    lives: int


def simulate(seed: int) -> History:
    """Live through every cut, then to the end."""
    plan = make_plan(seed)
    store, world = WiredJournal(), World()
    for life, at in enumerate((*plan.cuts, None)):
        results = live(plan.scenario, store, world, Cutter(at), life=life, seed=seed)
        if results is not None:
            return History(plan, results, store, world, life + 1)
        reboot(store)
        note_endings(store, world)
    raise AssertionError("the last life was not cut and did not end")
