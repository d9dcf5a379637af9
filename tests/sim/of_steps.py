"""What must hold for requests and steps: caps, wires, retries, compaction, repetition."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import msgspec

from bridle.core.compaction import PLACEHOLDER
from bridle.core.events import RequestMoved
from bridle.core.limits import MAX_STEPS
from bridle.core.messages import ResultMessage, UserMessage
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Prompt,
    Reasoning,
    Request,
    StepStart,
    Text,
    TurnStart,
)
from bridle.core.states import Approved, Broken, Cut, Interrupted, Open, Refused, Replied
from bridle.core.stream import StepEnd
from sim.script import provider_count
from sim.tree import Tree, puts, turn_of


def cap(tree: Tree) -> None:
    """A turn never makes more steps than its cap, over all process deaths, and step numbers increase by one."""
    steps: dict[tuple[str, int], list[int]] = {}
    for id, step in tree.parts(StepStart):
        start = tree.starts[id, turn_of(step)]
        steps.setdefault((id, start.number), []).append(step.number)
        raised = sum(part.by for where, part in tree.parts(Extension) if where == id and part.limit == "steps")
        assert step.number <= max(1, start.cap + raised) and step.cap <= MAX_STEPS, step
    for numbers in steps.values():
        assert numbers == list(range(1, len(numbers) + 1))


def cap0(tree: Tree) -> None:
    """A talk-only agent makes one step and starts no tool and no subagent."""
    for (id, number), start in tree.starts.items():
        if start.cap == 0 and not any(where == id for where, _ in tree.parts(Extension)):
            ran = [made for where, made in tree.parts(Call) if where == id and turn_of(made) == number]
            assert all(isinstance(made.state, Refused) for made in ran)
            assert sum(where == id and turn_of(step) == number for where, step in tree.parts(StepStart)) <= 1


def last_no_tools(tree: Tree) -> None:
    """The closing request offers no tools, and no call of its step starts."""
    for request in tree.world.requests:
        if request.purpose != "step":
            assert request.tool_choice == "none", request.id
    closing = {(id, turn_of(step), step.number) for id, step in tree.parts(StepStart) if step.closing}
    for id, made in tree.parts(Call):
        turn, number = (int(piece) for piece in made.id.split(".")[:2])
        if (id, turn, number) in closing:
            assert isinstance(made.state, Refused), made


def no_prefill(tree: Tree) -> None:
    """Every request ends with a user message or with tool results, and none is empty."""
    for request in tree.world.requests:
        assert isinstance(request.messages[-1], (UserMessage, ResultMessage)), request.id


def wire_valid(tree: Tree) -> None:
    """Every request is valid: calls and results are paired, ids are unique, roles alternate correctly."""
    assert tree.world.invalid == []


def no_partials(tree: Tree) -> None:
    """Partial output of a failed request is not in the view."""
    for id, session in tree.sessions.items():
        for part in session.parts.values():
            if isinstance(part, (Text, Reasoning)) and getattr(part, "by", "model") == "model":
                request = session.parts[".".join(part.id.split(".")[:3])]
                assert type(request.state).__name__ in ("Replied", "Cut", "Broken"), (id, part.id)


def heard_as_said(tree: Tree) -> None:
    """A reply is recorded as complete exactly if it was sent completely, with its text, calls and usage."""
    for id, request in tree.parts(Request):
        said = tree.plan.said.get(f"{id} {request.id}", [])
        if request.purpose not in ("step", "closing"):
            continue
        if isinstance(request.state, Replied):
            parts = tree.of_request[id].get(request.id, [])
            text = "".join(part.text for part in parts if isinstance(part, Text) and part.by == "model")
            calls = [(part.name, part.arguments) for part in parts if isinstance(part, Call)]
            assert any(_sound(reply) and _same(reply, text, calls) for reply in said), (id, request.id, text, calls)
            assert any(_sound(reply) and _counted(reply, request.state) for reply in said), (id, request)
        elif isinstance(request.state, Broken) and "budget" not in request.state.error:
            assert not all(_sound(reply) for reply in said), (id, request)


def _same(reply: Any, text: str, calls: list[tuple[str, str]]) -> bool:
    made = [(call.name, call.text) for call in reply.calls]
    if text != reply.text or [name for name, _ in made] != [name for name, _ in calls]:
        return False
    # What is no JSON was mended, and is not what it was.
    return all(heard == said or not _is_json(said) for (_, said), (_, heard) in zip(made, calls, strict=True))


def _counted(reply: Any, heard: Replied) -> bool:
    """Whether this is how the reply ended and what it cost; where its counts made no sense, they were guessed."""
    said = next(event for event in reply.events() if isinstance(event, StepEnd))
    usage = said.usage
    if usage is None or min(msgspec.structs.astuple(usage)[:5]) < 0:
        return heard.finish == said.finish and heard.usage.estimated
    same = (heard.usage.total, heard.usage.cache_read) == (usage.total, usage.cache_read)
    return heard.finish == said.finish and same and not heard.usage.estimated


def _is_json(text: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(text), dict)
    except msgspec.DecodeError:
        return False


def _sound(reply: Any) -> bool:
    return reply.error is None and reply.cut is None and not reply.hang and reply.finish != "content_filter"


def prefix_stable(tree: Tree) -> None:
    """Each request of a session begins with the content of the previous one, unless a compaction lies between."""
    for id, requests in tree.requests.items():
        made_smaller = [part for where, part in tree.parts(Compaction) if where == id and part.outcome == "smaller"]
        # Whoever has lost its lock unawares sends what it has recorded after its successor has asked already.
        recorded = [event.part.id for event in tree.events(id) if puts(event, Request)]
        steps = [request for request in requests if request.purpose in ("step", "closing")]
        steps.sort(key=lambda request: recorded.index(request.id))
        broken = sum(
            list(after.messages)[: len(before.messages)] != list(before.messages)
            for before, after in itertools.pairwise(steps)
        )
        assert broken <= len(made_smaller), (id, broken)


def retry_bound(tree: Tree) -> None:
    """A request is retried at most five times over all deaths, and no request stays open."""
    for _, request in tree.parts(Request):
        assert not isinstance(request.state, Open), request
    for id, requests in tree.requests.items():
        sent = Counter(".".join(request.id.split(".")[:2]) for request in requests)
        for key, times in sent.items():
            deaths = tree.history.lives + 2 * tree.plan.twin
            # Six tries, one more for an empty reply, again after each of two compactions, and one for each death.
            assert times <= 6 + 1 + 2 + deaths, (id, key, times)


def attempts_bound(tree: Tree) -> None:
    """A request that is cut off by process deaths is asked at most three times."""
    for id in tree.sessions:
        cut_off: Counter[str] = Counter()
        for event in tree.events(id):
            if isinstance(event, RequestMoved) and type(event.state).__name__ == "Interrupted":
                cut_off[".".join(event.id.split(".")[:2])] += 1
        assert max(cut_off.values(), default=0) <= 3, id


def patience(tree: Tree) -> None:
    """A failed request is retried if that may help, no earlier than its provider wants, and not given up before."""
    for id in tree.sessions:
        failures: Counter[str] = Counter()
        tries: dict[str, tuple[Any, ...]] = {}
        began: dict[str, float] = {}
        for entry, event in tree.timed(id):
            if puts(event, StepStart):
                began[f"{turn_of(event.part)}.{event.part.number}"] = entry.elapsed
            if not isinstance(event, RequestMoved) or not event.id.replace(".", "").isdigit():
                continue
            before, step = tries.get(event.id, ()), ".".join(event.id.split(".")[:2])
            if before and not isinstance(event.state, (Interrupted, Cut)):
                assert entry.elapsed >= before[-1].next - 0.002, (id, event)
            said = tree.plan.said.get(f"{id} {event.id}", [])
            reply = said[len(before)] if len(before) < len(said) else None
            if reply is None:
                continue
            passes, asked = _outlook(tree, id, event.id, reply)
            if isinstance(event.state, Open):
                failures[step] += 1
                tries[event.id] = event.state.tries
                wait = event.state.tries[-1].next - entry.elapsed
                least = asked if asked is not None else 2.0 ** (failures[step] - 1)
                assert passes and failures[step] <= 5 and least - 0.01 <= wait <= least + 1.01, (id, event, wait)
            elif isinstance(event.state, Broken) and "budget" not in event.state.error and passes:
                patient = failures[step] >= 5 or entry.elapsed - began[step] >= 500.0
                assert patient, (id, event)


def _outlook(tree: Tree, id: str, request: str, reply: Any) -> tuple[bool, float | None]:
    """Whether the failure of a reply may pass by itself, and after how long by its provider's word."""
    if reply.error is None:
        return reply.finish != "content_filter", None
    wired = tree.plan.wires[tree.starts[id, int(request.split(".")[0])].agent != "build"] is not None
    if wired and reply.text:
        # It had begun well: no status and no header can be sent any more.
        return True, None
    asked = reply.error.headers.get("retry-after")
    seconds = float(asked) if asked is not None else None
    return reply.error.status in (429, 500, 503, 529) and (seconds or 0.0) <= 120.0, seconds


def compaction_progress(tree: Tree) -> None:
    """At most two compactions in a row end with a full context, and an applied one gains a fifth."""
    for id in tree.sessions:
        since = 0
        for event in tree.events(id):
            if puts(event, Compaction) and event.part.cause != "prune" and event.part.outcome != "open":
                since += 1
                assert since <= 2, id
                if event.part.outcome == "smaller":
                    assert event.part.after <= 0.8 * event.part.before, event.part
            elif puts(event, StepStart) or puts(event, TurnStart):
                since = 0 if puts(event, TurnStart) else since
            elif isinstance(event, RequestMoved) and isinstance(event.state, Replied) and ".c" not in event.id:
                allowed = tree.starts[id, turn_of(event)].compact_at
                since = since if 0 < allowed < event.state.usage.total else 0


def compaction_safe(tree: Tree) -> None:
    """Every request holds the prompts of its turn and fits the window, and no summary is empty."""
    for id, part in tree.parts(Compaction):
        assert part.outcome != "smaller" or part.cause == "prune" or part.summary.strip(), (id, part)
    counted = any("fill" in mood for mood in tree.plan.moods)
    for id, requests in tree.requests.items():
        for request in requests:
            if request.purpose not in ("step", "closing"):
                continue
            turn = int(request.id.split(".")[0])
            told = {message.id for message in request.messages if isinstance(message, UserMessage)}
            first = next(event.part.id for event in tree.events(id) if puts(event, Prompt) and event.part.turn == turn)
            assert first in told, (id, request.id)
            # Where models count as a provider does, what they are sent fits.
            assert not counted or provider_count(request).input <= tree.plan.window, (id, request.id)


def pruned_is_placeholder(tree: Tree) -> None:
    """Pruned outputs are marked as pruned."""
    for session in tree.sessions.values():
        gone = {name for part in session.parts.values() if isinstance(part, Compaction) for name in part.pruned}
        for message in session.messages:
            if message.id in gone:
                assert message.text == PLACEHOLDER


def doom(tree: Tree) -> None:
    """The same call with the same result never runs a third time in a row without approval."""
    ran = {"doom_loop", "limit", "tools_off", "aborted", "superseded", "invalid"}
    for id in tree.sessions:
        events = tree.events(id)
        allowed = {turn_of(event) for event in events if isinstance(getattr(event, "state", None), Approved)}
        rows: dict[int, list[Any]] = {}
        for where, made in tree.parts(Call):
            if where == id:
                result = made.state.refusal.name if isinstance(made.state, Refused) else made.state.digest
                rows.setdefault(turn_of(made), []).append((made.digest, result))
        for turn, pairs in rows.items():
            for three in zip(pairs, pairs[1:], pairs[2:], strict=False):
                assert turn in allowed or len(set(three)) > 1 or three[2][1] in ran, (id, three)
