"""Keys of the terminal application: esc, tab, ctrl+c, shell mode, history, leader and settings."""

from importlib import import_module
from pkgutil import iter_modules

import pytest
from msgspec.structs import asdict
from support.tui_app import seated, told
from textual.binding import Binding
from textual.command import CommandPalette
from textual.dom import DOMNode

from bridle import call
from bridle.core.parts import Call, Prompt
from bridle.surfaces import tui
from bridle.surfaces.tui.app import UNBOUND
from bridle.surfaces.tui.dialogs import Picker
from bridle.surfaces.tui.editor import ACTIONS
from bridle.surfaces.tui.escape import EscapeKey
from bridle.surfaces.tui.host import PlainHost
from bridle.surfaces.tui.keys import IN_LISTS
from bridle.surfaces.tui.leader import LeaderScreen
from bridle.tools.registry import builtin_tools
from bridle.values.keys import KeySettings, clashes


def prompts(seat):
    return [part.text for part in seat.chat.transcript.session.parts.values() if isinstance(part, Prompt)]


def shown(seat, words):
    return words in seat.read()


async def busy(seat):
    await seat.until(lambda: any(view.has_class("running") for view in seat.chat.transcript.calls()))


def test_esc_means_one_thing_after_the_other():
    key = EscapeKey()
    assert [key.pressed(at, busy=busy, draft=draft) for at, busy, draft in ((9.0, True, True), (9.5, False, True))] == [
        "stop",
        "nothing",
    ]
    later = [(20.0, True), (20.5, True), (30.0, False), (30.9, False), (40.0, True), (41.5, True)]
    assert [key.pressed(at, busy=False, draft=draft) for at, draft in later] == [
        *("wait", "clear"),
        *("wait", "rewind"),
        *("wait", "wait"),
    ]


def test_esc_stops_the_turn_and_a_second_one_keeps_the_draft(tmp_path):
    async def story():
        async with seated(tmp_path, call("slow", key="a"), "never") as seat:
            await seat.ask()
            await busy(seat)
            await seat.type("my draft")
            await seat.pilot.press("escape")
            await seat.pilot.press("escape")
            await seat.ended()
            assert seat.chat.transcript.session.ended == "aborted" and seat.chat.editor.text == "my draft"

    told(story)


def test_esc_twice_clears_the_draft_which_up_brings_back_and_then_goes_back_to_prompts(tmp_path):
    async def story():
        async with seated(tmp_path, "one", "two") as seat:
            await seat.ask("first")
            await seat.ended()
            await seat.ask("second")
            await seat.ended(2)
            await seat.type("draft")
            await seat.pilot.press("escape", "escape")
            assert seat.chat.editor.text == "" and shown(seat, "the draft was cleared")
            await seat.pilot.press("up")
            assert seat.chat.editor.text == "draft"
            await seat.pilot.press("ctrl+c")
            assert seat.app.is_running and seat.chat.editor.text == ""
            await seat.pilot.press("escape", "escape")
            await seat.until(lambda: isinstance(seat.app.screen, Picker))
            await seat.type("first")
            await seat.pilot.press("ctrl+u")
            await seat.until(lambda: seat.chat.editor.text == "first")
            assert prompts(seat) == []

    told(story)


def test_tab_changes_the_agent_and_shift_tab_the_approvals(tmp_path):
    async def story():
        writes = call("write", filePath="a.txt", content="x\n")
        tools = [tool for tool in builtin_tools() if tool.spec.name == "write"]
        async with seated(tmp_path, writes, "Done.", tools=tools) as seat:
            await seat.pilot.press("tab")
            assert seat.chat.agent_now == "plan" and shown(seat, "plan ·")
            primary = sum(row.agent.mode != "subagent" and not row.agent.hidden for row in seat.runtime.agents())
            await seat.pilot.press(*["tab"] * (primary - 1))
            assert seat.chat.agent_now == "build"
            await seat.pilot.press("shift+tab")
            await seat.until(lambda: shown(seat, "every edit and command asks"))
            await seat.ask()
            await seat.until(lambda: seat.chat.status == "paused" and shown(seat, "Allow edit: a.txt?"))
            assert (await seat.runtime.load("ses_one")).info.approvals == "ask"
            await seat.pilot.press("escape")
            await seat.until(lambda: shown(seat, "a request waits for your answer: /asks shows it"))
            await seat.pilot.press("shift+tab")
            await seat.until(lambda: shown(seat, "approvals: automatic"))
            await seat.pilot.press("shift+tab")
            await seat.until(lambda: not shown(seat, "approvals:"))
            assert (await seat.runtime.load("ses_one")).info.approvals == "rules"

    told(story)


def test_an_exclamation_mark_begins_a_shell_command_if_typed_and_not_if_pasted(tmp_path):
    async def story():
        tools = [tool for tool in builtin_tools() if tool.spec.name == "bash"]
        async with seated(tmp_path, "Hello.", tools=tools) as seat:
            await seat.pilot.press("!")
            assert seat.chat.editor.shell and shown(seat, "a shell command")
            await seat.pilot.press("escape", "!", "backspace")
            assert not seat.chat.editor.shell
            await seat.pilot.press("!")
            await seat.type("echo from-the-shell > made.txt")
            await seat.pilot.press("enter")
            await seat.until(lambda: (tmp_path / "made.txt").exists())
            await seat.ended()
            calls = [part for part in seat.chat.transcript.session.parts.values() if isinstance(part, Call)]
            assert [each.name for each in calls] == ["bash"] and seat.model.requests == []
            seat.chat.editor.insert("!rm -r .")
            assert not seat.chat.editor.shell
            await seat.pilot.press("ctrl+c", "up", "up")
            assert seat.chat.editor.shell and seat.chat.editor.text.startswith("echo")

    told(story)


@pytest.mark.parametrize("keys", [("ctrl+j",), ("backslash", "enter"), ("shift+enter",), ("alt+enter",)])
def test_each_of_these_keys_makes_a_new_line(tmp_path, keys):
    async def story():
        async with seated(tmp_path) as seat:
            await seat.type("one")
            await seat.pilot.press(*keys)
            await seat.type("two")
            assert seat.chat.editor.text == "one\ntwo"

    told(story)


def test_history_is_kept_over_sessions_and_starts_and_is_searched(tmp_path):
    folder = tmp_path / "kept"

    async def story():
        async with seated(tmp_path, "one", "two", host=PlainHost(folder=folder)) as seat:
            await seat.ask("mend the parser")
            await seat.ended()
            await seat.ask("write the tests")
            await seat.ended(2)
        async with seated(tmp_path, "one", session="ses_two", host=PlainHost(folder=folder)) as seat:
            await seat.pilot.press("up")
            assert seat.chat.editor.text == "write the tests"
            await seat.pilot.press("down", "ctrl+r")
            await seat.until(lambda: isinstance(seat.app.screen, Picker))
            await seat.type("mndprs")
            await seat.pilot.press("enter")
            await seat.until(lambda: seat.chat.editor.text == "mend the parser")
        assert (folder / "prompts.jsonl").stat().st_mode & 0o777 == 0o600

    told(story)


def test_the_leader_key_shows_keys_and_takes_one_and_all_keys_can_be_set(tmp_path):
    async def story():
        keys = KeySettings(leader="ctrl+b", models="ctrl+y, leader m", sessions="", send="ctrl+s", newline="enter")
        async with seated(tmp_path, "one", host=PlainHost(keys)) as seat:
            await seat.pilot.press("f3", "f2")
            assert seat.app.screen is seat.chat
            for pressed in (("ctrl+y",), ("ctrl+b", "m")):
                await seat.pilot.press(*pressed)
                await seat.until(lambda: isinstance(seat.app.screen, Picker))
                await seat.pilot.press("escape")
                await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.pilot.press("ctrl+b")
            await seat.until(lambda: isinstance(seat.app.screen, LeaderScreen) and shown(seat, "Choose the model"))
            await seat.pilot.press("escape")
            await seat.type("a")
            await seat.pilot.press("enter")
            await seat.type("b")
            await seat.pilot.press("ctrl+s")
            await seat.ended()
            assert prompts(seat) == ["a\nb"]

    told(story)


FIXED = {"escape", "enter", "tab", "shift+tab", "up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
"""Keys that move and close, everywhere alike; plain letters count only where nothing is typed."""


def test_every_key_is_in_the_settings_and_every_setting_is_a_key():
    """Of all classes of the application; what Textual's own fields do with keys is editing."""
    modules = [import_module(f"bridle.surfaces.tui.{found.name}") for found in iter_modules(tui.__path__)]
    ours = {each for module in modules for each in vars(module).values() if isinstance(each, type)}
    bound = [
        binding
        for owner in ours
        if issubclass(owner, DOMNode) and owner.__module__.startswith("bridle.")
        for binding in Binding.make_bindings(vars(owner).get("BINDINGS", []))
    ]
    keys = asdict(KeySettings())
    fixed = [each for each in bound if each.id not in keys]
    assert {each.key for each in fixed if len(each.key) > 1} - FIXED == {UNBOUND}
    in_editor = {*ACTIONS, *IN_LISTS}
    assert {each.id for each in bound if each.id in keys} | in_editor == set(keys)


@pytest.mark.parametrize(
    ("given", "told_of"),
    [
        ({"search": "ctrl+t"}, {("search", "ctrl+t"), ("proceed", "ctrl+t")}),
        ({"list_pin": "ctrl+r"}, {("list_pin", "ctrl+r"), ("list_rename", "ctrl+r")}),
        ({"list_pin": "ctrl+o", "list_undo": "ctrl+r"}, set()),
    ],
)
def test_keys_of_lists_clash_only_with_keys_of_the_same_list(given, told_of):
    assert set(clashes(KeySettings(**given))) == told_of


def test_the_transcript_is_searched_and_lists_are_worked_with_by_the_keys_of_the_settings(tmp_path):
    async def story():
        keys = KeySettings(search="ctrl+b, leader b", list_pin="ctrl+y", proceed="f12", palette="f10", quit="f11")
        async with seated(tmp_path, "one", host=PlainHost(keys)) as seat:
            await seat.ask()
            await seat.ended()
            for pressed in (("ctrl+b",), ("ctrl+x", "b")):
                await seat.pilot.press(*pressed)
                await seat.until(lambda: seat.chat.search.input.has_focus)
                await seat.pilot.press("escape")
            await seat.pilot.press("ctrl+f")
            assert not seat.chat.search.display
            await seat.pilot.press("f2")
            await seat.until(lambda: isinstance(seat.app.screen, Picker) and shown(seat, "ctrl+y pin"))
            await seat.pilot.press("ctrl+y")
            await seat.until(lambda: isinstance(seat.app.screen, Picker) and shown(seat, "⚑ "))
            assert (await seat.runtime.load("ses_one")).info.pinned
            await seat.pilot.press("escape", "f10")
            await seat.until(lambda: isinstance(seat.app.screen, CommandPalette))
            await seat.pilot.press("escape", "ctrl+q", "f11")
            assert not seat.app.is_running

    told(story)


def test_typing_reaches_the_editor_after_the_transcript_had_the_focus(tmp_path):
    async def story():
        async with seated(tmp_path, call("look", key="a"), "Done.") as seat:
            await seat.ask()
            await seat.ended()
            await seat.pilot.click(seat.chat.transcript)
            await seat.type("one ")
            await seat.pilot.press("ctrl+x", "tab")
            assert not seat.chat.editor.has_focus
            await seat.type("two")
            assert seat.chat.editor.text == "one two" and seat.chat.editor.has_focus
            await seat.pilot.press("ctrl+x", "tab", "escape")
            assert seat.chat.editor.has_focus

    told(story)


def test_the_prompt_is_written_in_the_editor_of_the_person(tmp_path, monkeypatch):
    async def story():
        async with seated(tmp_path) as seat:
            monkeypatch.delenv("EDITOR", raising=False)
            monkeypatch.delenv("VISUAL", raising=False)
            await seat.pilot.press("ctrl+g")
            await seat.until(lambda: any("no editor is set" in toast.message for toast in seat.app._notifications))

    told(story)
