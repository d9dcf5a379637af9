"""What must hold in every world, each by its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from harness import SESSION
from oracle import read_turn

from bridle.core.context import UserMessage
from bridle.core.fold import fold, load
from bridle.core.limits import MAX_STEPS, NOTHING
from bridle.core.parts import Call, Request, Sentinel, StepStart, TurnFinish, TurnStart
from bridle.core.session import Session
from bridle.core.states import Approved, Done, Failed, Open, Refused
from sim.world import History


def parts_of(history: History, kind):
    return [part for part in session_of(history).parts.values() if isinstance(part, kind)]


def session_of(history: History) -> Session:
    return load(history.store._sessions[SESSION].entries)


def turn_of(part) -> int:
    return int(part.id.split(".")[0])


def cap(history):
    """No turn takes more steps than its cap, over all deaths; numbers rise by one."""
    caps = {start.number: start.cap for start in parts_of(history, TurnStart)}
    steps: dict[int, list[int]] = {}
    for step in parts_of(history, StepStart):
        steps.setdefault(turn_of(step), []).append(step.number)
        assert step.number <= max(1, step.cap, caps[turn_of(step)]) <= MAX_STEPS
    for numbers in steps.values():
        assert numbers == list(range(1, len(numbers) + 1))


def cap0(history):
    """An agent that only talks starts no tool, and is asked at most once more after an empty reply."""
    if history.plan.scenario.steps == 0:
        assert not history.world.started
        assert max(Counter(map(turn_of, parts_of(history, StepStart))).values(), default=0) <= 1


def last_no_tools(history):
    """The closing request offers nothing, and no call of its step or after it starts."""
    for request in history.world.requests:
        if request.purpose == "closing":
            assert request.tool_choice == "none"
    closing = {(turn_of(step), step.number) for step in parts_of(history, StepStart) if step.closing}
    for made in parts_of(history, Call):
        turn, number = (int(piece) for piece in made.id.split(".")[:2])
        if (turn, number) in closing:
            assert isinstance(made.state, Refused), made


def prefix_stable(history):
    """Within a session, each request begins with what the one before it said."""
    for before, after in zip(history.world.requests, history.world.requests[1:], strict=False):
        assert list(after.messages)[: len(before.messages)] == list(before.messages), (before.id, after.id)


def at_most_once(history):
    """A call that may not be repeated starts at most once; one whose end is recorded never starts again."""
    assert [key for key, times in history.world.started.items() if key.startswith("act") and times > 1] == []
    assert history.world.ran_after_end == []


def started_is_recorded(history):
    """No tool starts whose call is not in the journal as started."""
    ended = {made.id: made for made in parts_of(history, Call)}
    for key in history.world.started:
        made = ended[key.split(" ", 1)[1]]
        unknown = isinstance(made.state, Refused) and made.state.refusal.name in (
            "unknown_outcome",
            "aborted",
            "superseded",
        )
        assert isinstance(made.state, (Done, Failed)) or unknown, made


def budget_exact(history):
    """Calls that were charged never exceed the budget, extensions included."""
    for finish in parts_of(history, TurnFinish):
        allowed = history.plan.scenario.limits.tool_calls
        if allowed is not None:
            assert finish.spent.tool_calls <= allowed + 3


def one_terminal(history):
    """Every turn that began has one finish, and a sentinel exactly if it ended early; the last word is never empty."""
    starts = [start.number for start in parts_of(history, TurnStart)]
    finishes = parts_of(history, TurnFinish)
    assert [finish.number for finish in finishes] == starts
    early = [finish.number for finish in finishes if finish.reason != "answered"]
    assert [turn_of(sentinel) for sentinel in parts_of(history, Sentinel)] == early
    assert all(result.text.strip() for result in history.results if result.reason != "recorded")


def prompts_answered(history):
    """Every prompt was taken once and has an ending."""
    session = session_of(history)
    assert sorted(session.prompts) == sorted(history.plan.prompts)
    assert all(result.ended for result in history.results)


def retry_bound(history):
    """At most five retries of one step, over all deaths; nothing stays open."""
    tries = Counter()
    for request in parts_of(history, Request):
        assert not isinstance(request.state, Open), request
        tries[turn_of(request), request.number] += 1
    sent = Counter(tuple(request.id.split(".")[:2]) for request in history.world.requests)
    assert max(sent.values(), default=0) <= 6 + 2 + history.lives


def doom(history):
    """The same call with the same result never runs a third time in a row without a person's word."""
    events = [event for entry in history.store._sessions[SESSION].entries for event in entry.events]
    allowed = {turn_of(event) for event in events if isinstance(getattr(event, "state", None), Approved)}
    rows: dict[int, list] = {}
    for made in parts_of(history, Call):
        result = made.state.refusal.name if isinstance(made.state, Refused) else made.state.digest
        rows.setdefault(turn_of(made), []).append((made.digest, result))
    ran = {"doom_loop", "limit", "tools_off", "aborted", "superseded", "invalid"}
    for turn, pairs in rows.items():
        for three in zip(pairs, pairs[1:], pairs[2:], strict=False):
            assert turn in allowed or len(set(three)) > 1 or three[2][1] in ran, three


def ledger(history):
    """Nothing stays reserved, and the ledger says the same as the record."""
    for account in history.store._accounts.values():
        assert (account.reserved, account.held) == (NOTHING, {})
    for finish in parts_of(history, TurnFinish):
        account = history.store._accounts[f"{SESSION}/{finish.number}"]
        assert (account.spent.steps, account.spent.tool_calls) == (finish.spent.steps, finish.spent.tool_calls)
        assert account.spent.tokens == finish.spent.tokens


def replay(history):
    """The fold equals a full scan after every entry."""
    entries = history.store._sessions[SESSION].entries
    session = Session()
    for place, entry in enumerate(entries, 1):
        fold(session, entry)
        if session.turn is not None and (place < 80 or place % 20 == 0):
            view = session.view(session.elapsed)
            assert view == read_turn(entries[:place], view.crowded)


def last_word_is_heard(history):
    """Every request ends with words of the user's side or with results."""
    for request in history.world.requests:
        last = request.messages[-1]
        assert isinstance(last, UserMessage) or type(last).__name__ == "ResultMessage"


INVARIANTS: list[Callable[[History], None]] = [
    cap,
    cap0,
    last_no_tools,
    prefix_stable,
    at_most_once,
    started_is_recorded,
    budget_exact,
    one_terminal,
    prompts_answered,
    retry_bound,
    doom,
    ledger,
    replay,
    last_word_is_heard,
]
