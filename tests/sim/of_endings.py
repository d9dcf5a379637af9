"""What must hold for turns and trees: budgets, endings, prompts, reports, time."""

from __future__ import annotations

from collections import Counter
from typing import Any

from support.oracle import told
from support.virtual import SESSION

from bridle.core.context import estimate_tokens
from bridle.core.events import CallMoved, RequestMoved
from bridle.core.inbox import PromptItem
from bridle.core.limits import NOTHING, closing_seconds
from bridle.core.parts import (
    Call,
    Compaction,
    Extension,
    Halt,
    Prompt,
    Request,
    ReservationRefused,
    Sentinel,
    StepFinish,
    StepStart,
    TurnFinish,
)
from bridle.core.states import Cut, Done, Ended, Refused, Running
from bridle.core.stream import ModelRequest
from bridle.turn.closing import QUIET
from sim.tree import Tree, puts, turn_of
from sim.world import BETWEEN_LIVES

QUIETLY = (*QUIET,)
STOPPED = ("aborted", "error", "denied", "context_full", "empty")
LIVENESS_SECONDS = 900.0
"""A request that hangs, its retries, and the same once more for every level of the tree."""
LATE_SECONDS = 1.5
"""What an effect may take to stop, and a request to be recorded."""


def budget_exact(tree: Tree) -> None:
    """Charged calls never exceed the budget, extensions included."""
    for (id, number), finish in tree.finishes.items():
        allowed = tree.starts[id, number].limits.tool_calls
        if allowed is not None:
            raised = sum(part.by for where, part in tree.parts(Extension) if where == id and part.limit == "tool_calls")
            assert finish.spent.tool_calls <= allowed + raised, (id, number)


def budget_monotone(tree: Tree) -> None:
    """Spending never decreases, in any process and after any death."""
    assert tree.disk.falls == []


def overshoot(tree: Tree) -> None:
    """Every reservation fits its limits, so tokens and cost exceed a limit only by input that was underestimated."""
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
        if start.delegation is not None and start.delegation.seconds is not None:
            assert start.limits.seconds is not None and start.limits.seconds <= start.delegation.seconds


def _estimate_error(tree: Tree) -> int:
    """The scripted models say what they like of their usage: up to 2,900 tokens, or a word for every token.

    One that writes on and on is stopped at twice what it was allowed.
    """
    return sum(3_000 + len(request.messages) * 60 + _beyond(tree, request) for request in tree.world.requests)


def _beyond(tree: Tree, request: ModelRequest) -> int:
    """By how much a reply to this request went beyond what it was allowed, as far as that was taken."""
    said = tree.plan.said.get(f"{request.session} {request.id}", [])
    longest = max((estimate_tokens(len(reply.text)) for reply in said), default=0)
    return min(request.max_output_tokens, max(0, longest - request.max_output_tokens))


def tree_bounds(tree: Tree) -> None:
    """Depth, live subagents and their total number stay within the limits of the root."""
    plan = tree.plan
    begun: Counter[int] = Counter()
    for start in tree.starts.values():
        if start.delegation is not None:
            above = tree.starts[start.delegation.parent, int(start.delegation.call.split(".")[0])].delegation
            assert start.delegation.depth == 1 + (above.depth if above is not None else 0) <= plan.tree.depth
    for (id, number), start in tree.starts.items():
        if start.delegation is None:
            account = tree.account(id, number)
            assert account.total <= plan.tree.total
            begun[number] = account.total
    assert len(tree.sessions) - 1 <= sum(begun.values())
    if not (plan.twin and plan.thief):
        # Whoever lost its lock unawares streams on until it wants to write.
        assert tree.world.most_streaming <= plan.tree.live


def one_terminal(tree: Tree) -> None:
    """Every turn has one finish, a sentinel exactly if it ended early, and a final text that is never empty."""
    assert set(tree.finishes) == set(tree.starts)
    for id in tree.sessions:
        ended = [event.part.number for event in tree.events(id) if puts(event, TurnFinish)]
        assert len(ended) == len(set(ended)), id
        early = [finish.number for (where, _), finish in tree.finishes.items() if where == id]
        early = [number for number in early if tree.finishes[id, number].reason not in QUIETLY]
        assert [turn_of(event.part) for event in tree.events(id) if puts(event, Sentinel)] == early, id
    assert all(result.text.strip() for result in tree.results if result.reason != "recorded")


def truth(tree: Tree) -> None:
    """The exit status is 0 exactly if the prompt was answered and no call was denied for want of a user to ask."""
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
    below = [
        key for key, start in tree.starts.items() if start.delegation and start.delegation.account == f"{id}/{turn}"
    ]
    unasked = any(isinstance(state, Refused) and state.refusal.name == "unasked" for state in calls)
    return unasked or any(_kept_back(tree, *key) for key in below)


def _was_answered(tree: Tree, session: str, turn: int) -> bool:
    """Whether the last thing of this turn were words without calls, of a step that was not its closing one."""
    answered, closing = False, False
    reports = {id(event) for event in told([(None, event) for event in tree.events(session)])}
    for event in tree.events(session):
        if puts(event, StepStart) and turn_of(event.part) == turn:
            closing = event.part.closing is not None
        elif puts(event, StepFinish) and turn_of(event.part) == turn:
            part = event.part
            answered = not (closing or part.calls or part.empty or part.cut)
        elif (puts(event, Prompt) and event.part.turn == turn) or id(event) in reports:
            # Whatever the model has not read yet asks for another answer.
            answered = False
    return answered


def liveness(tree: Tree) -> None:
    """Once everything works again, every turn ends soon."""
    assert tree.plan.health.took <= LIVENESS_SECONDS, tree.plan.health


def prompts_answered(tree: Tree) -> None:
    """Every prompt is taken once, appears in a request unless its turn was stopped, and has an ending."""
    session = tree.sessions[SESSION]
    assert sorted(session.prompts) == sorted(tree.plan.prompts)
    assert all(result.ended for result in tree.results)
    for id in tree.sessions:
        taken = [event.part.id for event in tree.events(id) if puts(event, Prompt)]
        assert len(taken) == len(set(taken)), id
        unread = _unread(tree.events(id))
        stopped = {turn_of(part) for where, part in tree.parts(ReservationRefused) if where == id}
        ended = {number: end for (where, number), end in tree.finishes.items() if where == id}
        stopped |= {number for number, end in ended.items() if end.reason in STOPPED}
        # All of its time may have gone by while others held what its first request needs.
        stopped |= {number for number, end in ended.items() if end.reason == "time_budget" and end.spent.steps == 0}
        assert unread <= stopped, (id, unread)
    for id, kept in tree.history.sessions.items():
        assert [item for item in kept.inbox if isinstance(item, PromptItem)] == [], id


def _unread(events: list[Any]) -> set[int]:
    """The turns with a prompt after which no request was made."""
    found: set[int] = set()
    for event in events:
        if puts(event, Prompt):
            found.add(event.part.turn)
        elif puts(event, Request):
            found.discard(turn_of(event.part))
    return found


def queue_is_queue(tree: Tree) -> None:
    """A queued prompt opens its own turn, other prompts are steered, and each kind is taken in its order."""
    queued = {item.id for _, item in tree.plan.wishes if isinstance(item, PromptItem) and item.queue}
    first: dict[int, str] = {}
    for event in tree.events(SESSION):
        if puts(event, Prompt):
            opened = first.setdefault(event.part.turn, event.part.id)
            assert event.part.id not in queued or opened == event.part.id
    taken = [event.part.id for event in tree.events(SESSION) if puts(event, Prompt)]
    for kind in (queued, set(tree.plan.prompts) - queued):
        assert [id for id in taken if id in kind] == [id for id in tree.plan.prompts if id in kind], taken


def children_reported(tree: Tree) -> None:
    """Every subagent's turn is reported to the call that started it, with its ending, its text and its usage."""
    reports: dict[tuple[str, str], Any] = {}
    for id, made in tree.parts(Call):
        assert isinstance(made.state, Ended), (id, made.id)
        report = getattr(made.state, "report", None)
        if report is not None:
            reports[id, made.id] = report
            assert isinstance(made.state, Done) == (report.reason in QUIETLY), made.state
    begun = Counter(
        start.delegation.call + start.delegation.parent for start in tree.starts.values() if start.delegation
    )
    assert max(begun.values(), default=0) <= 1
    for (id, number), start in tree.starts.items():
        if start.delegation is not None:
            info = tree.sessions[id].info
            assert info is not None and info.parent == start.delegation.parent, id
            report = reports[start.delegation.parent, start.delegation.call]
            finish = tree.finishes[id, number]
            assert (report.child, report.reason) == (id, finish.reason)
            used = tree.account(id, number).spent
            assert (report.spent.steps, report.spent.tool_calls) == (used.steps, used.tool_calls), (id, report, used)
            assert report.spent.tokens == finish.spent.tokens == used.tokens
            assert abs(report.spent.cost - used.cost) < 1e-9
            words = "".join(tree.sessions[id].parts[part].text for part in finish.answer)
            call = tree.sessions[start.delegation.parent].parts[start.delegation.call]
            assert isinstance(call, Call) and words in getattr(call.state, "output", ""), (id, words)
            assert start.delegation.account == tree.account(id, number).parent
            if start.delegation.background and not any(
                where == start.delegation.parent for where, _ in tree.parts(Compaction)
            ):
                read = [message.id for message in tree.sessions[start.delegation.parent].messages]
                assert read.count(f"{start.delegation.call}.report") == 1, (id, "was not told")


def abort(tree: Tree) -> None:
    """After a recorded abort nothing starts in that turn, and the turn ends within two seconds."""
    for id, entries in tree.entries.items():
        halted: dict[int, Any] = {}
        for entry in entries:
            for event in entry.events:
                if puts(event, Halt) and event.part.reason == "aborted":
                    halted[turn_of(event.part)] = entry
                elif puts(event, TurnFinish) and event.part.number in halted:
                    # The time of subagents is counted when they report; where no death lies between, the wall knows.
                    since = halted[event.part.number]
                    took = entry.at - since.at
                    # A second process that dies between a child's end and its report is found out by whoever waits.
                    late = took > BETWEEN_LIVES / 2 or tree.plan.twin or bool(tree.plan.jumps)
                    assert min(entry.elapsed - since.elapsed, took) <= 2.5 or late, (id, entry)
                elif isinstance(event, CallMoved) and isinstance(event.state, Running):
                    assert turn_of(event) not in halted, (id, event.id)
                elif puts(event, Request):
                    assert turn_of(event.part) not in halted, (id, event.part.id)


def in_time(tree: Tree) -> None:
    """A turn exceeds its time limit only while an effect stops, and keeps time for its closing request."""
    for (id, number), finish in tree.finishes.items():
        allowed = tree.starts[id, number].limits.seconds
        if allowed is not None:
            assert finish.spent.seconds <= allowed + closing_seconds(allowed) + LATE_SECONDS, (id, allowed, finish)
    for id in tree.sessions:
        began: dict[str, float] = {}
        for entry, event in tree.timed(id):
            if puts(event, StepStart) and event.part.closing is not None:
                began[event.part.id.removesuffix("start")] = entry.elapsed
            elif isinstance(event, RequestMoved) and isinstance(event.state, Cut) and event.state.by == "deadline":
                allowed = tree.starts[id, turn_of(event)].limits.seconds
                step = next((step for step in began if event.id.startswith(step)), None)
                if allowed is not None and step is not None:
                    # Its share begins with the decision to close. It may have waited for what others had reserved
                    # before its start was recorded; then it has at least what is left of the turn's time.
                    had = entry.elapsed - began[step] >= closing_seconds(allowed) - 0.01
                    assert had or entry.elapsed >= allowed - 0.01, (id, event)


def ledger(tree: Tree) -> None:
    """After the end nothing is reserved, kept or occupied, and the ledger equals the record."""
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
            if start.delegation is not None and start.delegation.account == account.id
        ]
        assert account.spent.steps == finish.spent.steps + sum(spent.steps for spent in below), id
        assert account.spent.tool_calls == finish.spent.tool_calls + sum(spent.tool_calls for spent in below), id
        assert account.spent.tokens == finish.spent.tokens, id
        assert abs(account.spent.cost - finish.spent.cost) < 1e-9, id
