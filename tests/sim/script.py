"""What the models of a world say: one seed gives the same word to the same request, however often it is asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from bridle import Reply, call
from bridle.core.messages import ResultMessage
from bridle.core.states import Usage
from bridle.core.stream import ModelRequest
from bridle.testing.scripted import ScriptedCall, ScriptedError

KEYS = "abcde"
PEER_TOOL = "peer_fetch"

MOODS: list[dict[str, float]] = [
    {"answer": 3, "call": 4, "batch": 2},
    {"call": 8, "batch": 2, "answer": 1},
    {"same": 9, "call": 1},
    {"pingpong": 9, "answer": 1},
    {"call": 3, "broken": 3, "unknown": 2, "answer": 1},
    {"fails": 4, "cut": 2, "call": 3, "answer": 2},
    {"cut": 4, "call": 3, "answer": 2},
    {"empty": 3, "call": 3, "answer": 1},
    {"chant": 1, "call": 4, "answer": 1},
    {"slow": 4, "call": 2, "answer": 2},
    {"defiant": 9, "answer": 1},
    {"hang": 1, "call": 5, "answer": 3},
    {"many": 2, "call": 2, "answer": 1},
    {"refused": 1, "call": 5, "answer": 1},
    {"gather": 3, "call": 2, "answer": 1},
    {"down": 1},
    {"fill": 6, "call": 1, "answer": 1},
    {"fill": 5, "overflow": 2, "answer": 1},
    {"spawn": 4, "call": 2, "answer": 2},
    {"spawn": 4, "crowd": 1, "again": 3, "answer": 2},
    {"spawn": 3, "fails": 2, "call": 2, "answer": 1},
    {"crowd": 3, "spawn": 3, "answer": 1},
    {"spawn": 3, "slow": 2, "fill": 2, "answer": 2},
]

LENGTHY = {"lengthy": 4, "call": 3, "answer": 2}
SPAWNING = [mood for mood in MOODS if "spawn" in mood]
SUMMARIES = {"short": 6, "empty": 1, "calls": 1, "long": 1, "fails": 1, "overflow": 1}


def chosen(chance: random.Random, table: dict[Any, float]) -> Any:
    return chance.choices(list(table), list(table.values()))[0]


@dataclass
class Health:
    """Whether the world works; while it does not, models, disks and peers fail and nobody answers."""

    sick: bool = False
    healed: bool = False
    """Whether it was sick and is not any more: from then on everything that is asked gets an answer."""
    since: float = 0.0
    """When it was healed, in the time of that life."""
    took: float = 0.0
    """How long it took from there until everything had ended."""


def make_model(
    seed: int,
    mood: dict[str, float],
    said: dict[str, list[Reply]],
    health: Health,
    *,
    counts: bool,
    full: int | None = None,
    background: float = 0.0,
) -> Callable[[ModelRequest], Any]:
    """A model that answers the same to the same request, however often the process dies in between."""

    def play(request: ModelRequest) -> Reply:
        key = f"{request.session} {request.id}"
        before = said.setdefault(key, [])
        chance = random.Random(f"{seed} {key} {len(before) + 1}")
        said_now = reply(request, key, chance)
        if background:
            said_now = in_background(said_now, background, random.Random(f"beside {seed} {key} {len(before)}"))
        before.append(said_now)
        return before[-1]

    def reply(request: ModelRequest, key: str, chance: random.Random) -> Reply:
        usage = provider_count(request) if counts else _cached(_odd(chance), random.Random(f"cached {seed} {key}"))
        if full is not None and request.id != "1.1.1":
            usage = Usage(full - 20, 20)
        if health.sick:
            return _trouble(chance.choice(["fails", "down", "cut", "hang", "empty"]), chance, call("look", key=key))
        if health.healed:
            return Reply(text="Here is the answer, at last.", usage=usage)
        if request.purpose == "compaction":
            return _summary(chance, usage)
        if request.purpose == "synthesis":
            return chance.choice([Reply(text="All in all.", usage=usage), Reply(text=""), Reply(error=_gone())])
        what = chosen(chance, mood)
        if request.tool_choice == "none" and what not in ("defiant", "fails", "empty", "slow"):
            return Reply(text="That was it.", usage=usage)
        return say(what, chance, request, usage)

    return play


def provider_count(request: ModelRequest) -> Usage:
    """What a provider counts: a token for four characters."""
    size = len(request.system) + sum(len(str(message)) for message in request.messages)
    return Usage(size // 4 + 1, 20)


def _odd(chance: random.Random) -> Any:
    return chance.choice([None, None, "missing", Usage(chance.randint(1, 2_000), chance.randint(1, 900)), Usage(-1, 5)])


def _cached(usage: Any, chance: random.Random) -> Any:
    """The same counts; some of what was read was read before."""
    if not isinstance(usage, Usage) or usage.input < 2 or chance.random() < 0.5:
        return usage
    known = chance.randint(1, usage.input - 1)
    return Usage(usage.input - known, usage.output, cache_read=known)


def _gone() -> ScriptedError:
    return ScriptedError("gone", 404)


def _summary(chance: random.Random, usage: Any) -> Reply:
    match chosen(chance, SUMMARIES):
        case "short":
            return Reply(text=f"So far so good {chance.random()}.", usage=usage)
        case "empty":
            return Reply(text="", usage=usage)
        case "calls":
            return Reply(calls=(call("look", key="x"),), usage=usage)
        case "long":
            # More than it was allowed, as from a server that knows no limit, but piece by piece as from any other.
            return Reply(text=" ".join(str(chance.random()) for _ in range(4_000)), chunk=500, usage=usage)
        case "fails":
            return Reply(error=_gone())
    return Reply(error=ScriptedError("too long", 400, overflow=True))


def task(key: str, task_id: str = "") -> ScriptedCall:
    more = {"task_id": task_id} if task_id else {}
    return call("task", description="a piece", prompt=f"do {key}", subagent_type="child", **more)


def in_background(said: Reply, share: float, chance: random.Random) -> Reply:
    """The same reply, with some of its subagents in the background."""

    def moved(made: ScriptedCall) -> ScriptedCall:
        if made.name != "task" or chance.random() >= share:
            return made
        return structs.replace(made, arguments={**made.arguments, "background": True})

    return structs.replace(said, calls=tuple(map(moved, said.calls)))


def _children(request: ModelRequest) -> list[str]:
    """The subagents that the model has heard of."""
    heard = [message.text for message in request.messages if isinstance(message, ResultMessage)]
    return [text.split(": ")[0].removeprefix("[subagent ") for text in heard if text.startswith("[subagent ")]


def say(what: str, chance: random.Random, request: ModelRequest, usage: Any) -> Reply:
    fresh = call(chance.choice(["look", "act"]), key=f"{chance.choice(KEYS)} {request.id}")
    if any(tool.name == PEER_TOOL for tool in request.tools) and chance.random() < 0.7:
        fresh = call(PEER_TOOL, key=f"{request.session} {request.id}")
    match what:
        case "answer":
            return Reply(text="Here is the answer.", reasoning=chance.choice(["", "Hm."]), usage=usage)
        case "call" | "defiant":
            return Reply(text=chance.choice(["", "I will."]), calls=(fresh,), usage=usage)
        case "batch":
            calls = tuple(call("act", key=f"{n} {request.id}") for n in range(chance.randint(2, 5)))
            return Reply(calls=calls, usage=usage)
        case "many":
            return Reply(calls=tuple(call("look", key=f"{n} {request.id}") for n in range(30)), usage=usage)
        case "same":
            return Reply(calls=(call("look", key="same"),), usage=usage)
        case "pingpong":
            return Reply(calls=(call("look", key=KEYS[len(request.messages) // 2 % 3]),), usage=usage)
        case "gather":
            return Reply(calls=tuple(call("gather", key=f"{n} {request.id}") for n in range(2)), usage=usage)
        case "fill":
            words = [chance.choice(["v", "w", "ww", "www"]) for _ in range(chance.choice([1, 1, 2, 3]))]
            keys = [f"{number} {request.id} {long}" for number, long in enumerate(words)]
            return Reply(calls=tuple(call("act", key=key) for key in keys), usage=usage)
        case "broken":
            return Reply(calls=(ScriptedCall("look", chance.choice(['{"key": ', "[]", '{"key": "x",}', "nonsense"])),))
        case "unknown":
            return Reply(calls=(call("nothing", key=request.id), fresh), usage=usage)
        case "spawn":
            pieces = [task(f"{n} {request.id}") for n in range(chance.randint(1, 3))]
            return Reply(calls=(*pieces, fresh) if chance.random() < 0.5 else tuple(pieces), usage=usage)
        case "crowd":
            return Reply(calls=tuple(task(f"{n} {request.id}") for n in range(12)), usage=usage)
        case "again":
            known = [*_children(request), "ses_nobody"]
            return Reply(calls=(task("on", chance.choice(known)), task("on", chance.choice(known))), usage=usage)
        case "lengthy":
            # It is cut at the length limit, in its words or in the arguments of a call.
            calls = chance.choice([(), (ScriptedCall("look", '{"key": "x'),)])
            return Reply(text=chance.choice(["", "And then"]), calls=calls, finish="length", usage=usage)
    return _trouble(what, chance, fresh)


def _trouble(what: str, chance: random.Random, fresh: ScriptedCall) -> Reply:
    match what:
        case "fails":
            status = chance.choice([429, 500, 503, 529, 404])
            headers = chance.choice([{}, {"retry-after": "2"}, {"retry-after": "9999"}])
            # Slowly enough for words to be recorded before it fails.
            text = chance.choice(["", "half"])
            return Reply(text=text, chunk=1, pace=0.4, error=ScriptedError("busy", status, headers))
        case "down":
            return Reply(error=ScriptedError("down", 503))
        case "overflow":
            return Reply(error=ScriptedError("too long", 400, overflow=True))
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
