"""What must hold in every world, each by its name. Where BEHAVIOUR says more than a name does, BEHAVIOUR is meant."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import msgspec
from harness import SESSION
from oracle import read_turn

from bridle import wire
from bridle.core.compaction import PLACEHOLDER
from bridle.core.events import CallMoved, PartPut, RequestMoved
from bridle.core.fold import fold, load
from bridle.core.inbox import PromptItem
from bridle.core.limits import MAX_STEPS, NOTHING, closing_seconds
from bridle.core.messages import ResultMessage, UserMessage
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Halt,
    Prompt,
    Reasoning,
    Request,
    ReservationRefused,
    Sentinel,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
)
from bridle.core.permission import Access, judge, strictest
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.core.states import Approved, Broken, Cut, Done, Ended, Failed, Interrupted, Open, Refused, Replied, Running
from bridle.core.stream import StepEnd
from bridle.turn.closing import QUIET
from sim.script import provider_count
from sim.wired import SECRET
from sim.world import BETWEEN_LIVES, History

QUIETLY = (*QUIET,)
OWN_ERROR = re.compile(r"\b(Assertion|Attribute|Index|Key|Name|NotImplemented|Runtime|Type|Value|ZeroDivision)Error\b")
STOPPED = ("aborted", "error", "denied", "context_full", "empty")
LIVENESS_SECONDS = 900.0
"""A request that hangs, its retries, and the same once more for every level of the tree."""
LATE_SECONDS = 1.5
"""What an effect may take to stop, and a request to be recorded."""


class Tree:
    """A history with its sessions loaded once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.plan = history.plan
        self.world = history.world
        self.disk = history.disk
        self.results = history.results
        self.entries = {id: kept.entries for id, kept in history.sessions.items()}
        self.sessions = {id: load(entries) for id, entries in self.entries.items()}

    def parts(self, kind: Any) -> Iterator[tuple[str, Any]]:
        for id, session in self.sessions.items():
            for part in session.parts.values():
                if isinstance(part, kind):
                    yield id, part

    @cached_property
    def starts(self) -> dict[tuple[str, int], TurnStart]:
        return {(id, start.number): start for id, start in self.parts(TurnStart)}

    @cached_property
    def finishes(self) -> dict[tuple[str, int], TurnFinish]:
        return {(id, finish.number): finish for id, finish in self.parts(TurnFinish)}

    @cached_property
    def of_request(self) -> dict[str, dict[str, list[Any]]]:
        """What came of each request: its words and calls, in order."""
        found: dict[str, dict[str, list[Any]]] = {}
        for id, part in self.parts((Text, Reasoning, Call)):
            found.setdefault(id, {}).setdefault(".".join(part.id.split(".")[:3]), []).append(part)
        return found

    @cached_property
    def requests(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for request in self.world.requests:
            found.setdefault(request.session, []).append(request)
        return found

    def raised(self, id: str, turn: int, name: str) -> float:
        """By how much a person has raised this limit of a turn."""
        found = (part for where, part in self.parts(Extension) if (where, turn_of(part)) == (id, turn))
        return sum(part.by for part in found if part.limit == name)

    def events(self, id: str) -> list[Any]:
        return [event for entry in self.entries[id] for event in entry.events]

    def timed(self, id: str) -> list[tuple[Any, Any]]:
        """Every event with the entry that says when it was."""
        return [(entry, event) for entry in self.entries[id] for event in entry.events]

    def account(self, id: str, turn: int) -> Any:
        return self.history.accounts[f"{id}/{turn}"]


def turn_of(part: Any) -> int:
    return int(part.id.split(".")[0])


def cap(tree: Tree) -> None:
    """No turn takes more steps than its cap, over all deaths; numbers rise by one."""
    steps: dict[tuple[str, int], list[int]] = {}
    for id, step in tree.parts(StepStart):
        start = tree.starts[id, turn_of(step)]
        steps.setdefault((id, start.number), []).append(step.number)
        raised = sum(part.by for where, part in tree.parts(Extension) if where == id and part.limit == "steps")
        assert step.number <= max(1, start.cap + raised) and step.cap <= MAX_STEPS, step
    for numbers in steps.values():
        assert numbers == list(range(1, len(numbers) + 1))


def cap0(tree: Tree) -> None:
    """An agent that only talks starts no tool and no subagent, and takes one step."""
    for (id, number), start in tree.starts.items():
        if start.cap == 0 and not any(where == id for where, _ in tree.parts(Extension)):
            ran = [made for where, made in tree.parts(Call) if where == id and turn_of(made) == number]
            assert all(isinstance(made.state, Refused) for made in ran)
            assert sum(where == id and turn_of(step) == number for where, step in tree.parts(StepStart)) <= 1


def last_no_tools(tree: Tree) -> None:
    """The closing request offers nothing, and no call of its step starts."""
    for request in tree.world.requests:
        if request.purpose != "step":
            assert request.tool_choice == "none", request.id
    closing = {(id, turn_of(step), step.number) for id, step in tree.parts(StepStart) if step.closing}
    for id, made in tree.parts(Call):
        turn, number = (int(piece) for piece in made.id.split(".")[:2])
        if (id, turn, number) in closing:
            assert isinstance(made.state, Refused), made


def no_prefill(tree: Tree) -> None:
    """Every request ends with words of the user's side or with results, and none is empty."""
    for request in tree.world.requests:
        assert isinstance(request.messages[-1], (UserMessage, ResultMessage)), request.id


def wire_valid(tree: Tree) -> None:
    """Every request could be sent: calls and results paired, ids unique, roles in order."""
    assert tree.world.invalid == []


def no_partials(tree: Tree) -> None:
    """Words of a request that came to nothing are not in the view."""
    for id, session in tree.sessions.items():
        for part in session.parts.values():
            if isinstance(part, (Text, Reasoning)) and getattr(part, "by", "model") == "model":
                request = session.parts[".".join(part.id.split(".")[:3])]
                assert type(request.state).__name__ in ("Replied", "Cut", "Broken"), (id, part.id)


def heard_as_said(tree: Tree) -> None:
    """A reply is taken for whole exactly if it was, with its words, calls and counts, whatever it came through."""
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
    """Each request of a session begins with what the one before it said, unless a compaction lies between."""
    for id, requests in tree.requests.items():
        made_smaller = [part for where, part in tree.parts(Compaction) if where == id and part.outcome == "smaller"]
        steps = [request for request in requests if request.purpose in ("step", "closing")]
        broken = sum(
            list(after.messages)[: len(before.messages)] != list(before.messages)
            for before, after in itertools.pairwise(steps)
        )
        assert broken <= len(made_smaller), (id, broken)


def at_most_once(tree: Tree) -> None:
    """A call that may not be repeated starts at most once; one whose end is recorded never starts again."""
    assert [key for key, times in tree.world.started.items() if key.startswith("act") and times > 1] == []
    assert tree.world.ran_after_end == []


def started_is_recorded(tree: Tree) -> None:
    """No tool starts whose call is not in the journal as started."""
    began = {
        f"{id}/{event.id}"
        for id in tree.sessions
        for event in tree.events(id)
        if isinstance(event, CallMoved) and isinstance(event.state, Running)
    }
    assert {key.split(" ", 1)[1] for key in tree.world.started} <= began


def unknown_is_said(tree: Tree) -> None:
    """A call that started and has no recorded end is told as of unknown outcome, never as done."""
    for id, made in tree.parts(Call):
        ran = any(key.split(" ", 1)[1] == f"{id}/{made.id}" for key in tree.world.started)
        if ran and isinstance(made.state, Refused):
            assert made.state.refusal.name == "unknown_outcome", (id, made.id)


def ack_durable(tree: Tree) -> None:
    """Whatever was published is in the journal, as it was published."""
    for session, sequence, events in tree.disk.published:
        assert tree.entries[session][sequence - 1].events == events, (session, sequence)
    assert tree.disk.lost == []


def budget_exact(tree: Tree) -> None:
    """Calls that were charged never exceed the budget, extensions included."""
    for (id, number), finish in tree.finishes.items():
        allowed = tree.starts[id, number].limits.tool_calls
        if allowed is not None:
            raised = sum(part.by for where, part in tree.parts(Extension) if where == id and part.limit == "tool_calls")
            assert finish.spent.tool_calls <= allowed + raised, (id, number)


def budget_monotone(tree: Tree) -> None:
    """What is spent never falls, in any process and after any death."""
    assert tree.disk.falls == []


def overshoot(tree: Tree) -> None:
    """Every reservation fits its limits; so tokens and money exceed none but by what a request read unforeseen."""
    assert tree.disk.over == []
    for (id, number), start in tree.starts.items():
        account = tree.account(id, number)
        worst = _estimate_error(tree)
        if account.limits.tokens is not None:
            assert account.spent.tokens <= account.limits.tokens + worst, (id, account)
        if account.limits.cost is not None:
            assert account.spent.cost <= account.limits.cost + worst * 8e-6, (id, account)
        if account.tree is not None and account.tree.cost is not None:
            assert account.spent.cost <= account.tree.cost + worst * 8e-6, (id, account)
        if account.tree is not None and account.tree.steps is not None:
            assert account.spent.steps <= account.tree.steps, (id, account)
        if start.mandate is not None and start.mandate.seconds is not None:
            assert start.limits.seconds is not None and start.limits.seconds <= start.mandate.seconds


def _estimate_error(tree: Tree) -> int:
    """The scripted models say what they like of their usage: up to 2,900 tokens, or a word for every token."""
    return sum(3_000 + len(request.messages) * 60 for request in tree.world.requests)


def tree_bounds(tree: Tree) -> None:
    """Depth, places and the number of subagents stay within what the root allows."""
    plan = tree.plan
    begun: Counter[int] = Counter()
    for start in tree.starts.values():
        if start.mandate is not None:
            above = tree.starts[start.mandate.parent, int(start.mandate.call.split(".")[0])].mandate
            assert start.mandate.depth == 1 + (above.depth if above is not None else 0) <= plan.tree.depth
    for (id, number), start in tree.starts.items():
        if start.mandate is None:
            account = tree.account(id, number)
            assert account.total <= plan.tree.total
            begun[number] = account.total
    assert len(tree.sessions) - 1 <= sum(begun.values())
    if not (plan.twin and plan.thief):
        # Whoever lost its lock unawares streams on until it wants to write.
        assert tree.world.most_streaming <= plan.tree.live


def one_terminal(tree: Tree) -> None:
    """Every turn that began has one finish, and a sentinel exactly if it ended early; the last word is never empty."""
    assert set(tree.finishes) == set(tree.starts)
    for id in tree.sessions:
        ended = [event.part.number for event in tree.events(id) if _puts(event, TurnFinish)]
        assert len(ended) == len(set(ended)), id
        early = [finish.number for (where, _), finish in tree.finishes.items() if where == id]
        early = [number for number in early if tree.finishes[id, number].reason not in QUIETLY]
        assert [turn_of(event.part) for event in tree.events(id) if _puts(event, Sentinel)] == early, id
    assert all(result.text.strip() for result in tree.results if result.reason != "recorded")


def _puts(event: Any, kind: Any) -> bool:
    return isinstance(event, PartPut) and isinstance(event.part, kind)


def truth(tree: Tree) -> None:
    """The exit status is 0 exactly if the prompt was answered and nothing was kept back for want of a person."""
    for result in tree.results:
        good = result.reason in ("answered", "synthesized", "recorded") and not result.denied
        assert (result.exit_status == 0) == good, result
        if result.turn:
            assert result.denied == _kept_back(tree, SESSION, result.turn), result
    for (id, number), finish in tree.finishes.items():
        assert finish.reason == "answered" or not _was_answered(tree, id, number), (id, finish)


def _kept_back(tree: Tree, id: str, turn: int) -> bool:
    """Whether a call of this turn, or of one below it, needed a person whom nobody could ask."""
    calls = [made.state for where, made in tree.parts(Call) if (where, turn_of(made)) == (id, turn)]
    below = [key for key, start in tree.starts.items() if start.mandate and start.mandate.account == f"{id}/{turn}"]
    unasked = any(isinstance(state, Refused) and state.refusal.name == "unasked" for state in calls)
    return unasked or any(_kept_back(tree, *key) for key in below)


def _was_answered(tree: Tree, id: str, turn: int) -> bool:
    """Whether the last thing of this turn were words without calls, of a step that was not its closing one."""
    answered, closing = False, False
    for event in tree.events(id):
        if _puts(event, StepStart) and turn_of(event.part) == turn:
            closing = event.part.closing is not None
        elif _puts(event, StepFinish) and turn_of(event.part) == turn:
            part = event.part
            answered = not (closing or part.calls or part.empty or part.cut)
        elif _puts(event, Prompt) and event.part.turn == turn:
            answered = False
    return answered


def peer_once(tree: Tree) -> None:
    """What a server of tools did once it does not do again, and nothing is called that was not accepted as it is."""
    if tree.world.fetched is not None:
        assert [key for key, times in tree.world.fetched.done.items() if times > 1] == []
        assert tree.world.fetched.unlike == []


def liveness(tree: Tree) -> None:
    """Once everything works again, every turn comes to its end, and soon."""
    assert tree.plan.health.took <= LIVENESS_SECONDS, tree.plan.health


def prompts_answered(tree: Tree) -> None:
    """Every prompt was taken once, is in a request unless its turn was stopped, and has an ending."""
    session = tree.sessions[SESSION]
    assert sorted(session.prompts) == sorted(tree.plan.prompts)
    assert all(result.ended for result in tree.results)
    for id in tree.sessions:
        taken = [event.part.id for event in tree.events(id) if _puts(event, Prompt)]
        assert len(taken) == len(set(taken)), id
        unread = _unread(tree.events(id))
        stopped = {turn_of(part) for where, part in tree.parts(ReservationRefused) if where == id}
        stopped |= {number for (where, number), end in tree.finishes.items() if where == id and end.reason in STOPPED}
        assert unread <= stopped, (id, unread)
    for id, kept in tree.history.sessions.items():
        assert [item for item in kept.inbox if isinstance(item, PromptItem)] == [], id


def _unread(events: list[Any]) -> set[int]:
    """The turns with a prompt after which no request was made."""
    found: set[int] = set()
    for event in events:
        if _puts(event, Prompt):
            found.add(event.part.turn)
        elif _puts(event, Request):
            found.discard(turn_of(event.part))
    return found


def queue_is_queue(tree: Tree) -> None:
    """A queued prompt opens a turn of its own, others are steered into one; each kind is taken as it came."""
    queued = {item.id for _, item in tree.plan.wishes if isinstance(item, PromptItem) and item.queue}
    first: dict[int, str] = {}
    for event in tree.events(SESSION):
        if _puts(event, Prompt):
            opened = first.setdefault(event.part.turn, event.part.id)
            assert event.part.id not in queued or opened == event.part.id
    taken = [event.part.id for event in tree.events(SESSION) if _puts(event, Prompt)]
    for kind in (queued, set(tree.plan.prompts) - queued):
        assert [id for id in taken if id in kind] == [id for id in tree.plan.prompts if id in kind], taken


def children_reported(tree: Tree) -> None:
    """Every subagent's turn is reported to the call that started it, as it ended, with its words and all it used."""
    reports: dict[tuple[str, str], Any] = {}
    for id, made in tree.parts(Call):
        assert isinstance(made.state, Ended), (id, made.id)
        report = getattr(made.state, "report", None)
        if report is not None:
            reports[id, made.id] = report
            assert isinstance(made.state, Done) == (report.reason in QUIETLY), made.state
    begun = Counter(start.mandate.call + start.mandate.parent for start in tree.starts.values() if start.mandate)
    assert max(begun.values(), default=0) <= 1
    for (id, number), start in tree.starts.items():
        if start.mandate is not None:
            info = tree.sessions[id].info
            assert info is not None and info.parent == start.mandate.parent, id
            report = reports[start.mandate.parent, start.mandate.call]
            finish = tree.finishes[id, number]
            assert (report.child, report.reason) == (id, finish.reason)
            used = tree.account(id, number).spent
            assert (report.spent.steps, report.spent.tool_calls) == (used.steps, used.tool_calls), (id, report, used)
            assert report.spent.tokens == finish.spent.tokens == used.tokens
            assert abs(report.spent.cost - used.cost) < 1e-9
            words = "".join(tree.sessions[id].parts[part].text for part in finish.answer)
            call = tree.sessions[start.mandate.parent].parts[start.mandate.call]
            assert isinstance(call, Call) and words in getattr(call.state, "output", ""), (id, words)
            assert start.mandate.account == tree.account(id, number).parent


def retry_bound(tree: Tree) -> None:
    """At most five retries of one request over all deaths, and nothing stays open."""
    for _, request in tree.parts(Request):
        assert not isinstance(request.state, Open), request
    for id, requests in tree.requests.items():
        sent = Counter(".".join(request.id.split(".")[:2]) for request in requests)
        for key, times in sent.items():
            deaths = tree.history.lives + 2 * tree.plan.twin
            # Six tries, one more for an empty reply, again after each of two compactions, and one for each death.
            assert times <= 6 + 1 + 2 + deaths, (id, key, times)


def attempts_bound(tree: Tree) -> None:
    """A request that is cut off by deaths is asked at most three times for it."""
    for id in tree.sessions:
        cut_off: Counter[str] = Counter()
        for event in tree.events(id):
            if isinstance(event, RequestMoved) and type(event.state).__name__ == "Interrupted":
                cut_off[".".join(event.id.split(".")[:2])] += 1
        assert max(cut_off.values(), default=0) <= 3, id


def compaction_progress(tree: Tree) -> None:
    """At most two compactions without a reply between them; one that is applied is a fifth smaller at least."""
    for id in tree.sessions:
        since = 0
        for event in tree.events(id):
            if _puts(event, Compaction) and event.part.cause != "prune" and event.part.outcome != "open":
                since += 1
                assert since <= 2, id
                if event.part.outcome == "smaller":
                    assert event.part.after <= 0.8 * event.part.before, event.part
            elif _puts(event, StepStart) or _puts(event, TurnStart):
                since = 0 if _puts(event, TurnStart) else since
            elif isinstance(event, RequestMoved) and type(event.state).__name__ == "Replied" and ".c" not in event.id:
                since = 0


def compaction_safe(tree: Tree) -> None:
    """The prompts of the turn stand in each of its requests, the window is never exceeded, and no summary is empty."""
    for id, part in tree.parts(Compaction):
        assert part.outcome != "smaller" or part.cause == "prune" or part.summary.strip(), (id, part)
    counted = any("fill" in mood for mood in tree.plan.moods)
    for id, requests in tree.requests.items():
        for request in requests:
            if request.purpose not in ("step", "closing"):
                continue
            turn = int(request.id.split(".")[0])
            told = {message.id for message in request.messages if isinstance(message, UserMessage)}
            first = next(event.part.id for event in tree.events(id) if _puts(event, Prompt) and event.part.turn == turn)
            assert first in told, (id, request.id)
            # Where models count as a provider does, what they are sent fits.
            assert not counted or provider_count(request).input <= tree.plan.window, (id, request.id)


def pruned_is_placeholder(tree: Tree) -> None:
    """Outputs that were removed are marked as that."""
    for session in tree.sessions.values():
        gone = {name for part in session.parts.values() if isinstance(part, Compaction) for name in part.pruned}
        for message in session.messages:
            if message.id in gone:
                assert message.text == PLACEHOLDER


def doom(tree: Tree) -> None:
    """The same call with the same result never runs a third time in a row without a person's word."""
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


def abort(tree: Tree) -> None:
    """Once an abort is recorded, nothing starts any more in that turn, and it is over within two seconds."""
    for id, entries in tree.entries.items():
        halted: dict[int, Any] = {}
        for entry in entries:
            for event in entry.events:
                if _puts(event, Halt) and event.part.reason == "aborted":
                    halted[turn_of(event.part)] = entry
                elif _puts(event, TurnFinish) and event.part.number in halted:
                    # The time of subagents is counted when they report; where no death lies between, the wall knows.
                    since = halted[event.part.number]
                    took = entry.at - since.at
                    # A second process that dies between a child's end and its report is found out by whoever waits.
                    late = took > BETWEEN_LIVES / 2 or tree.plan.twin or bool(tree.plan.jumps)
                    assert min(entry.elapsed - since.elapsed, took) <= 2.5 or late, (id, entry)
                elif isinstance(event, CallMoved) and isinstance(event.state, Running):
                    assert turn_of(event) not in halted, (id, event.id)
                elif _puts(event, Request):
                    assert turn_of(event.part) not in halted, (id, event.part.id)


def single_writer(tree: Tree) -> None:
    """Whoever writes to a session has its latest lease; sequences have no gap and no fork."""
    assert tree.disk.stale == []
    for id, entries in tree.entries.items():
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1)), id


def perm(tree: Tree) -> None:
    """No tool runs that a rule of its own turn or of any turn above it denies."""
    for key in tree.world.started:
        name, _, which = key.partition(" ")
        id, _, call_id = which.partition("/")
        start = tree.starts[id, int(call_id.split(".")[0])]
        layers = start.mandate.rules if start.mandate is not None else ()
        own = tree.plan.permission if start.agent == "build" else tree.plan.child_permission
        for layer in (*layers, own):
            assert judge(layer, Access("python", name), default="allow") != "deny", key


def answers_hold(tree: Tree) -> None:
    """What a person rejected does not run."""
    ran = {key.split(" ", 1)[1] for key in tree.world.started}
    for ask, choice in tree.plan.answers.items():
        session, _, id = ask.rpartition(":")
        if choice.startswith("reject"):
            assert f"{session or SESSION}/{id.rpartition('.')[0]}" not in ran, ask


def asked_first(tree: Tree) -> None:
    """What the rules want a person asked for runs only with that person's word, for this call or for always."""
    said = {}
    for ask, choice in tree.plan.answers.items():
        session, _, which = ask.rpartition(":")
        said[f"{session or SESSION}/{which}"] = choice
    for id in tree.sessions:
        for event in tree.events(id):
            if isinstance(event, CallMoved) and isinstance(event.state, Running):
                name = tree.sessions[id].call(event.id).name
                if tree.plan.on_ask == "allow" or _wanted(tree, id, event.id, name) != "ask":
                    continue
                assert tree.plan.on_ask == "pause", (id, event.id)
                word = said.get(f"{id}/{event.id}.python", "")
                assert word in ("once", "always") or _always(tree, said, id, name), (id, event.id, word)


def _wanted(tree: Tree, id: str, call: str, name: str) -> str:
    """What the rules of a call's turn and of all above it say to this tool."""
    start = tree.starts[id, int(call.split(".")[0])]
    layers = start.mandate.rules if start.mandate is not None else ()
    own = tree.plan.permission if start.agent == "build" else tree.plan.child_permission
    return strictest(judge(layer, Access("python", name), default="allow") for layer in (*layers, own))


def _always(tree: Tree, said: dict[str, str], id: str, name: str) -> bool:
    """Whether a person said always to this tool, in this session or above it."""
    for key, choice in said.items():
        where, _, ask = key.partition("/")
        above = id == where or id.startswith(f"{where}.")
        if choice == "always" and above and tree.sessions[where].call(ask.rpartition(".")[0]).name == name:
            return True
    return False


def patience(tree: Tree) -> None:
    """A request that failed is asked again if that may help, as late as its provider wants, and not given up before."""
    for id in tree.sessions:
        failures: Counter[str] = Counter()
        tries: dict[str, tuple[Any, ...]] = {}
        began: dict[str, float] = {}
        for entry, event in tree.timed(id):
            if _puts(event, StepStart):
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


def in_time(tree: Tree) -> None:
    """No turn takes longer than it may, but for what an effect needs to stop; its closing request has its share."""
    for (id, number), finish in tree.finishes.items():
        allowed = tree.starts[id, number].limits.seconds
        if allowed is not None:
            assert finish.spent.seconds <= allowed + closing_seconds(allowed) + LATE_SECONDS, (id, allowed, finish)
    for id in tree.sessions:
        asked: dict[str, float] = {}
        for entry, event in tree.timed(id):
            if _puts(event, Request) and event.part.purpose == "closing":
                asked[event.part.id] = entry.elapsed
            elif isinstance(event, RequestMoved) and isinstance(event.state, Cut) and event.id in asked:
                allowed = tree.starts[id, turn_of(event)].limits.seconds
                share = closing_seconds(allowed) if allowed is not None and event.state.by == "deadline" else 0.0
                assert entry.elapsed - asked[event.id] >= share - 0.01, (id, event)


def no_surprises(tree: Tree) -> None:
    """Whatever fails was made to fail by the world: no error of Bridle's own ends a turn, a call or a drive."""
    told = [part.detail for _, part in tree.parts(Halt)]
    told += [part.state.error for _, part in tree.parts(Request) if isinstance(part.state, Broken)]
    told += [part.state.output for _, part in tree.parts(Call) if isinstance(part.state, (Failed, Refused))]
    assert [words for words in told if OWN_ERROR.search(words)] == []
    assert tree.world.surprises == []


def ledger(tree: Tree) -> None:
    """Nothing stays reserved or kept, no place stays taken, and the ledger says the same as the record."""
    for account in tree.history.accounts.values():
        assert (account.reserved, account.held) == (NOTHING, {}), account
        assert (account.kept, account.keeps, account.children, account.live) == (NOTHING, NOTHING, 0, 0), account
    for (id, number), finish in tree.finishes.items():
        account = tree.account(id, number)
        for name in ("tokens", "cost"):
            allowed = tree.starts[id, number].limits.raised(name, tree.raised(id, number, name)).of(name)
            assert account.limits.of(name) == allowed, (id, account)
        below = [
            tree.account(child, turn).spent
            for (child, turn), start in tree.starts.items()
            if start.mandate is not None and start.mandate.account == account.id
        ]
        assert account.spent.steps == finish.spent.steps + sum(spent.steps for spent in below), id
        assert account.spent.tool_calls == finish.spent.tool_calls + sum(spent.tool_calls for spent in below), id
        assert account.spent.tokens == finish.spent.tokens, id
        assert abs(account.spent.cost - finish.spent.cost) < 1e-9, id


def no_secret(tree: Tree) -> None:
    """The key of a provider is nowhere in the record, also where the provider repeats it."""
    for id, entries in tree.entries.items():
        assert not any(SECRET.encode() in wire.encode_events(entry) for entry in entries), id


def replay(tree: Tree) -> None:
    """The fold equals a full scan after every entry, and every decision follows from the record before it."""
    for id, entries in tree.entries.items():
        assert verified(entries) is None, (id, verified(entries))
        session = Session()
        for place, entry in enumerate(entries, 1):
            fold(session, entry)
            # Where one world is lived again and again, its last view stands for those before it.
            look = place == len(entries) if tree.plan.small else place < 60 or place % 20 == 0
            if session.turn is not None and look:
                view = session.view(session.elapsed)
                assert view == read_turn(entries[:place], view.crowded), (id, place)


def time_flows(tree: Tree) -> None:
    """A turn's active time never goes back, and awaiting a subagent counts as long as the subagent worked."""
    for id, entries in tree.entries.items():
        last, turn = 0.0, 0
        for entry in entries:
            begins = [event.part.number for event in entry.events if _puts(event, TurnStart)]
            last = 0.0 if begins and begins[0] != turn else last
            turn = begins[0] if begins else turn
            assert entry.elapsed >= last, (id, entry.sequence)
            last = entry.elapsed
    for (id, number), start in tree.starts.items():
        if start.mandate is not None:
            parent = tree.finishes[start.mandate.parent, int(start.mandate.call.split(".")[0])]
            assert parent.spent.seconds >= tree.finishes[id, number].spent.seconds - 0.002


INVARIANTS: list[Callable[[Tree], None]] = [
    cap,
    cap0,
    last_no_tools,
    no_prefill,
    wire_valid,
    no_partials,
    heard_as_said,
    prefix_stable,
    at_most_once,
    started_is_recorded,
    unknown_is_said,
    ack_durable,
    budget_exact,
    budget_monotone,
    overshoot,
    tree_bounds,
    one_terminal,
    truth,
    peer_once,
    liveness,
    prompts_answered,
    queue_is_queue,
    children_reported,
    retry_bound,
    attempts_bound,
    compaction_progress,
    compaction_safe,
    pruned_is_placeholder,
    doom,
    abort,
    single_writer,
    perm,
    answers_hold,
    asked_first,
    patience,
    in_time,
    no_surprises,
    ledger,
    no_secret,
    replay,
    time_flows,
]
