"""What must hold for effects and the record: once, with permission, durable, by one writer."""

from __future__ import annotations

import re

from support.oracle import read_turn
from support.virtual import SESSION

from bridle.core.events import CallMoved
from bridle.core.fold import fold
from bridle.core.parts import (
    Call,
    Halt,
    Request,
    TurnStart,
)
from bridle.core.permission import Access, judge, strictest
from bridle.core.replay import verified
from bridle.core.session import Session
from bridle.core.states import Broken, Failed, Refused, Running
from bridle.wire import entries as wire
from sim.tree import Tree, puts
from sim.wired import SECRET

OWN_ERROR = re.compile(r"\b(Assertion|Attribute|Index|Key|Name|NotImplemented|Runtime|Type|Value|ZeroDivision)Error\b")


def at_most_once(tree: Tree) -> None:
    """A call that is not safe to repeat starts at most once, and a call with a recorded end never starts again."""
    assert [key for key, times in tree.world.started.items() if key.startswith("act") and times > 1] == []
    assert tree.world.ran_after_end == []


def started_is_recorded(tree: Tree) -> None:
    """A tool starts only after the journal has recorded the start of its call."""
    began = {
        f"{id}/{event.id}"
        for id in tree.sessions
        for event in tree.events(id)
        if isinstance(event, CallMoved) and isinstance(event.state, Running)
    }
    assert {key.split(" ", 1)[1] for key in tree.world.started} <= began


def unknown_is_said(tree: Tree) -> None:
    """A call that started and has no recorded end is reported as unknown outcome, never as done."""
    for id, made in tree.parts(Call):
        ran = any(key.split(" ", 1)[1] == f"{id}/{made.id}" for key in tree.world.started)
        if ran and isinstance(made.state, Refused):
            assert made.state.refusal.name == "unknown_outcome", (id, made.id)


def ack_durable(tree: Tree) -> None:
    """Every published event is in the journal, as it was published."""
    for session, sequence, events in tree.disk.published:
        assert tree.entries[session][sequence - 1].events == events, (session, sequence)
    assert tree.disk.lost == []


def peer_once(tree: Tree) -> None:
    """An MCP server never repeats an effect, and only accepted, unchanged tools are called."""
    if tree.world.fetched is not None:
        assert [key for key, times in tree.world.fetched.done.items() if times > 1] == []
        assert tree.world.fetched.unlike == []


def single_writer(tree: Tree) -> None:
    """Every write to a session is made under its latest lease, and sequence numbers have no gap and no fork."""
    assert tree.disk.stale == []
    for id, entries in tree.entries.items():
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1)), id


def perm(tree: Tree) -> None:
    """No tool runs that a rule of its turn, or of any turn above it, denies."""
    for key in tree.world.started:
        name, _, which = key.partition(" ")
        id, _, call_id = which.partition("/")
        start = tree.starts[id, int(call_id.split(".")[0])]
        layers = start.delegation.rules if start.delegation is not None else ()
        own = tree.plan.permission if start.agent == "build" else tree.plan.child_permission
        for layer in (*layers, own):
            assert judge(layer, Access("python", name), default="allow") != "deny", key


def answers_hold(tree: Tree) -> None:
    """A rejected call does not run."""
    ran = {key.split(" ", 1)[1] for key in tree.world.started}
    for ask, choice in tree.plan.answers.items():
        session, _, id = ask.rpartition(":")
        if choice.startswith("reject"):
            assert f"{session or SESSION}/{id.rpartition('.')[0]}" not in ran, ask


def asked_first(tree: Tree) -> None:
    """A call that needs approval runs only with an approval, for this call or a permanent one."""
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
    layers = start.delegation.rules if start.delegation is not None else ()
    own = tree.plan.permission if start.agent == "build" else tree.plan.child_permission
    return strictest(judge(layer, Access("python", name), default="allow") for layer in (*layers, own))


def _always(tree: Tree, said: dict[str, str], id: str, name: str) -> bool:
    """Whether a person said always to this tool, in this session or above it."""
    for key, choice in said.items():
        where, _, ask = key.partition("/")
        if choice != "always" or (id != where and not id.startswith(f"{where}.")):
            continue
        # A call that a power loss has taken back, and its approval with it, allows nothing.
        asked_in = tree.sessions.get(where)
        call = asked_in.parts.get(ask.rpartition(".")[0]) if asked_in is not None else None
        if isinstance(call, Call) and call.name == name:
            return True
    return False


def no_surprises(tree: Tree) -> None:
    """Every failure was caused by the world: no error in Bridle itself ends a turn, a call or a drive."""
    told = [part.detail for _, part in tree.parts(Halt)]
    told += [part.state.error for _, part in tree.parts(Request) if isinstance(part.state, Broken)]
    told += [part.state.output for _, part in tree.parts(Call) if isinstance(part.state, (Failed, Refused))]
    assert [words for words in told if OWN_ERROR.search(words)] == []
    assert tree.world.surprises == []


def no_secret(tree: Tree) -> None:
    """A provider's key is nowhere in the record, even if the provider repeats it."""
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
    """The active time of a turn never decreases, and waiting for a subagent counts for as long as it worked."""
    for id, entries in tree.entries.items():
        last, turn = 0.0, 0
        for entry in entries:
            begins = [event.part.number for event in entry.events if puts(event, TurnStart)]
            last = 0.0 if begins and begins[0] != turn else last
            turn = begins[0] if begins else turn
            assert entry.elapsed >= last, (id, entry.sequence)
            last = entry.elapsed
    for (id, number), start in tree.starts.items():
        if start.delegation is not None:
            parent = tree.finishes[start.delegation.parent, int(start.delegation.call.split(".")[0])]
            assert parent.spent.seconds >= tree.finishes[id, number].spent.seconds - 0.002
