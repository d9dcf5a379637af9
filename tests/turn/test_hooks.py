"""Hooks at every moment of a turn: what they are given, and what becomes of what they say."""

import asyncio

import pytest
from support.hook_story import calls, given, hook, said, told
from support.synthesis import gather, playing

from bridle import Rule, ScriptedModel, call
from bridle.core.parts import Call
from bridle.core.states import Done, Refused


def test_hooks_are_given_the_moment_the_session_and_what_it_is_about(tmp_path):
    moments = ("step_start", "step_end", "before_call", "after_call", "limit", "turn_end")
    model = ScriptedModel([call("look", key="a"), "That was it."])
    session, result = asyncio.run(told(tmp_path, model, [hook(tmp_path, on) for on in moments], steps=2))
    place = {"session": session.info.id, "turn": 1, "directory": str(tmp_path)}
    id = next(part.id for part in session.parts.values() if isinstance(part, Call))
    output = {"output": "saw a", "failed": False}
    assert given(tmp_path) == [
        {"event": "step_start", **place, "step": 1},
        {"event": "step_end", **place, "step": 1},
        {"event": "before_call", **place, "tool": "look", "call": id, "arguments": {"key": "a"}},
        {"event": "after_call", **place, "tool": "look", "call": id, **output},
        {"event": "step_start", **place, "step": 2},
        {"event": "step_end", **place, "step": 2},
        {"event": "limit", **place, "reason": "step_cap"},
        {"event": "turn_end", **place, "reason": "step_cap"},
    ]
    assert (result.reason, said(session)) == ("step_cap", [])


def test_a_hook_that_fails_is_told_to_the_reader_by_its_words_or_its_status(tmp_path):
    hooks = [hook(tmp_path, "step_start", "echo not today; exit 1"), {"on": "turn_end", "command": "exit 7"}]
    session, result = asyncio.run(told(tmp_path, ScriptedModel(["Done."]), hooks))
    assert said(session) == ["step_start: not today", "turn_end: the hook 'exit 7' ended with 7"]
    assert result.reason == "answered"


def test_a_hook_that_takes_too_long_is_ended_and_said_to(tmp_path):
    hooks = [{"on": "step_start", "command": "sleep 30", "seconds": 0.2}]
    session, result = asyncio.run(told(tmp_path, ScriptedModel(["Done."]), hooks))
    assert (said(session), result.reason) == (["step_start: the hook 'sleep 30' took too long"], "answered")


@pytest.mark.parametrize(("tool", "ran"), [("look", False), ("pol*", True)])
def test_a_hook_before_a_call_holds_up_the_tools_that_it_is_for(tmp_path, tool, ran):
    hooks = [hook(tmp_path, "before_call", "echo not this one; exit 1", tool=tool)]
    session, _ = asyncio.run(told(tmp_path, ScriptedModel([call("look", key="a"), "Done."]), hooks))
    state = next(part.state for part in session.parts.values() if isinstance(part, Call))
    assert isinstance(state, Done if ran else Refused)
    assert ("not this one" in state.output) is not ran


def test_what_a_hook_after_a_call_says_goes_behind_its_result(tmp_path):
    hooks = [{"on": "after_call", "command": "echo looks odd; exit 1"}]
    model = ScriptedModel([call("look", key="a"), "Done."])
    asyncio.run(told(tmp_path, model, hooks))
    assert model.requests[1].messages[-1].text == "saw a\n\n[a hook says: looks odd]"


def test_a_pause_is_told_once_with_what_is_asked(tmp_path):
    hooks = [hook(tmp_path, "pause")]
    model = ScriptedModel([call("look", key="a"), "Done."])
    session, result = asyncio.run(told(tmp_path, model, hooks, permission=[Rule("python", "*", "ask")]))
    assert result.reason == "paused"
    assert given(tmp_path) == [
        {
            "event": "pause",
            "session": session.info.id,
            "turn": 1,
            "directory": str(tmp_path),
            "asks": [ask.text for ask in result.asks],
        }
    ]


def test_after_an_abort_no_hook_is_run_and_one_under_way_is_ended(tmp_path):
    async def people(runtime, session):
        while "step_start" not in (tmp_path / "given").read_text():
            await asyncio.sleep(0.01)
        await runtime.abort(session)

    (tmp_path / "given").touch()
    hooks = [hook(tmp_path, "step_start", "sleep 30"), hook(tmp_path, "turn_end")]
    session, result = asyncio.run(told(tmp_path, ScriptedModel(["Done."]), hooks, people=people))
    assert (result.reason, said(session)) == ("aborted", [])
    assert [each["event"] for each in given(tmp_path)] == ["step_start"]


def test_a_turn_with_hooks_is_settled_and_written_up_as_any_other(tmp_path):
    async def give_up(runtime, session):
        while not (await runtime.load(session)).running or not (await runtime.load(session)).running.asks:
            await asyncio.sleep(0.01)
        await runtime.abort(session)

    hooks = [hook(tmp_path, "turn_end")]
    ask = [Rule("python", "*", "ask")]
    model = ScriptedModel([call("look", key="a"), "Done."])
    settled, result = asyncio.run(told(tmp_path, model, hooks, people=give_up, permission=ask))
    assert (result.reason, [part.state.refusal.name for part in calls(settled)]) == ("aborted", ["aborted"])
    _, result = asyncio.run(told(tmp_path, ScriptedModel(playing("Both say yes.")), hooks, tools=[gather]))
    assert (result.reason, result.text) == ("synthesized", "Both say yes.")


def test_a_turn_with_hooks_is_compacted_as_any_other(tmp_path):
    async def compact(runtime, session):
        await ended(runtime, session, 1)
        await runtime.compact(session)
        await ended(runtime, session, 2)

    async def ended(runtime, session, turn):
        while (found := await runtime.load(session)).turns < turn or found.running is not None:
            await asyncio.sleep(0.01)

    model = ScriptedModel(["Done."], summary="It was done.")
    session, _ = asyncio.run(told(tmp_path, model, [hook(tmp_path, "turn_end")], people=compact))
    assert [each["turn"] for each in given(tmp_path)] == [1, 2]
    assert session.turn.last_compaction is not None


@pytest.mark.parametrize("sandbox", [True, False])
def test_what_a_hook_changes_at_protected_places_is_undone_in_the_sandbox_and_logged(tmp_path, caplog, sandbox):
    made = {"on": "turn_end", "command": "echo x > AGENTS.md", "sandbox": sandbox}
    asyncio.run(told(tmp_path, ScriptedModel(["Done."]), [made]))
    assert (tmp_path / "AGENTS.md").exists() is not sandbox
    assert ("AGENTS.md is protected and was removed" in caplog.text) is sandbox
