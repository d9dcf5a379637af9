"""Sessions played back, decided anew, and made into scenarios."""

import json

import msgspec
import pytest
from support.cli_home import Home, calls
from support.stories import tell

from bridle import Reply, ScriptedModel, call
from bridle.core import replay
from bridle.core.events import CallMoved, PartPut
from bridle.core.parts import StepStart, TurnFinish
from bridle.core.replay import verified
from bridle.core.states import Running
from bridle.journal.memory import MemoryJournal
from bridle.testing.record import recorded
from bridle.testing.scripted import ScriptedError


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    return Home(tmp_path / "home", tmp_path / "home" / "project")


def a_session(steps=4):
    """The entries of a turn that makes calls until its cap."""
    journal = MemoryJournal()
    tell(ScriptedModel([call("poll", key=str(n)) for n in range(9)], then="closed"), steps=steps, journal=journal)
    (kept,) = journal._sessions.values()
    return kept.entries


def changed(entries, change):
    """The same entries with one event changed, or left out."""
    found = []
    for entry in entries:
        events = tuple(new for event in entry.events if (new := change(event)) is not None)
        found.append(msgspec.structs.replace(entry, events=events))
    return found


def of_part(kind, place, /, **fields):
    def change(event):
        if isinstance(event, PartPut) and isinstance(event.part, kind) and event.part.number == place:
            return PartPut(msgspec.structs.replace(event.part, **fields))
        return event

    return change


def spent(**fields):
    def change(event):
        if isinstance(event, PartPut) and isinstance(event.part, TurnFinish):
            return PartPut(
                msgspec.structs.replace(event.part, spent=msgspec.structs.replace(event.part.spent, **fields))
            )
        return event

    return change


def uncharged(event):
    starts = isinstance(event, CallMoved) and isinstance(event.state, Running)
    return None if starts and event.id.startswith("1.2.") else event


DIFFERENCES = {
    "a step that is counted twice": (of_part(StepStart, 3, number=2), 2),
    "a closing step that came too late": (of_part(StepStart, 4, closing=None), 3),
    "a closing step that came too early": (of_part(StepStart, 2, closing="step_cap"), 1),
    "another cap": (of_part(StepStart, 3, cap=9), 2),
    "another reason": (of_part(TurnFinish, 1, reason="answered"), 4),
    "tokens that nobody counted": (spent(tokens=1), 4),
    "a call that was not charged": (spent(tool_calls=2), 4),
    "money from nowhere": (spent(cost=1.0), 4),
    "a call that ran without having been started": (uncharged, 4),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_planted_difference_is_found_at_its_step(name):
    change, step = DIFFERENCES[name]
    entries = a_session()
    assert verified(entries) is None
    found = verified(changed(entries, change))
    assert found is not None
    assert found.step == step


@pytest.mark.slow
def test_the_command_says_where_and_leaves_with_1(home, tmp_path):
    script = home.script(calls(("read", {"filePath": "a"})), calls(("glob", {"pattern": "*"})), {"text": "Done."})
    _, lines = home.json("--model", script, "--steps", "3", "go")
    session = lines[-1]["session"]
    shown = home.run("replay", session, "--verify")
    assert (shown.returncode, shown.stdout.startswith("every decision follows")) == (0, True)
    bundle = json.loads(home.run("export", session).stdout)
    text = json.dumps(bundle).replace('"closing": "step_cap"', '"closing": "doom_loop"')
    other = Home(tmp_path / "other", tmp_path / "other" / "project")
    other.project.mkdir(parents=True)
    (other.project / "in.json").write_text(text)
    assert other.run("import", "in.json").returncode == 0
    found = other.run("replay", session, "--verify")
    assert (found.returncode, found.stderr) == (1, "")
    assert "turn 1, step 2, " in found.stdout
    assert "recorded is step 3, closing (doom_loop), decided is step 3, closing (step_cap)" in found.stdout


@pytest.mark.slow
def test_a_session_is_played_back_from_any_step(home):
    script = home.script({"text": "First words.", **calls(("glob", {"pattern": "*"}))}, {"text": "Last words."})
    _, lines = home.json("--model", script, "do it")
    session = lines[-1]["session"]
    whole = home.run("replay", session, "--speed", "0")
    assert (whole.returncode, whole.stdout) == (0, "First words.\nLast words.\n")
    assert "> do it" in whole.stderr and "step 1/" in whole.stderr and "glob" in whole.stderr
    later = home.run("replay", session, "--speed", "0", "--from", "2")
    assert (later.stdout, "step 1/" in later.stderr) == ("Last words.\n", False)
    assert home.run("replay", session, "--from", "1.9").returncode == 2


@pytest.mark.slow
def test_a_recorded_session_plays_again_to_the_same_end(home):
    script = home.script(
        {"text": "Looking.", "reasoning": "Hm.", **calls(("glob", {"pattern": "*"}), ("nonsense", {"a": 1}))},
        {"calls": [{"name": "read", "arguments": '{"filePath": '}]},
        {"text": "Found it.", "usage": {"input": 100, "output": 7}},
    )
    _, first = home.json("--model", script, "go")
    _, _ = home.json("--model", home.script({"text": "And more."}), "--session", first[-1]["session"], "go on")
    done = home.run("testing", "record", first[-1]["session"], "-o", "../scenario.yaml")
    assert done.stdout == "written: ../scenario.yaml\n"
    played = f"scripted:{home.folder / 'scenario.yaml'}"
    _, again = home.json("--model", played, "go")
    told = [[shape(line) for line in lines] for lines in (first, again)]
    assert told[0] == told[1]
    assert "And more." in (home.folder / "scenario.yaml").read_text()


def shape(line):
    """What is the same whenever it is played."""
    kept = {key: value for key, value in line.items() if key not in ("session", "seconds", "next")}
    return kept if line["type"] != "notice" else line["type"]


def test_failed_tries_are_played_again_too():
    journal = MemoryJournal()
    replies = [Reply(error=ScriptedError("overloaded", status=529)), call("look", key="a"), "done"]
    assert tell(ScriptedModel(replies), journal=journal).result.reason == "answered"
    (kept,) = journal._sessions.values()
    failed, called, _ = recorded(kept.entries)["replies"]
    assert failed == {"error": {"message": "overloaded", "status": 529, "retryable": True}}
    assert called["calls"] == [{"name": "look", "arguments": {"key": "a"}}]


def test_a_limit_that_is_newer_than_the_record_is_no_difference(monkeypatch):
    older = changed(a_session(), spent(tool_calls=0))
    assert verified(older) is not None
    rows = [msgspec.structs.replace(row, since_start=row.name != "tool_calls") for row in replay.ROWS]
    monkeypatch.setattr(replay, "ROWS", rows)
    assert verified(older) is None
    assert verified(changed(older, spent(tool_calls=2))) is not None
