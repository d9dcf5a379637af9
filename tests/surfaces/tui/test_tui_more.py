"""What goes on besides the turn: subagents and commands that are looked into, things that are pasted, copied, told."""

import asyncio
import base64
import json
import os
import time

import msgspec
import pytest
from support.cli_home import Home, calls
from support.tui_app import ANY, Seat, seated, task, told, with_scout
from textual import events

from bridle import Reply, Runtime, RuntimeConfig, ScriptedModel, call, from_openai
from bridle.config.settings import CommandSettings, ModelSettings, SandboxSettings
from bridle.core.parts import Prompt, StepStart
from bridle.core.permission import Rule
from bridle.runtime.retention import delete_session
from bridle.surfaces.tui.app import BridleApp
from bridle.surfaces.tui.asks import Confirm
from bridle.surfaces.tui.dialogs import Picker
from bridle.surfaces.tui.paste import Pasted
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.tree import BackgroundsScreen, Subagents, TreeWatch
from bridle.tools.registry import builtin_tools

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwADggGAaEIUqQAAAABJRU5ErkJggg=="


def test_a_subagent_is_seen_in_the_tree_and_opened_while_it_works(tmp_path):
    async def story():
        scout = with_scout(Reply(text="I *look*.", calls=(call("slow", key="a"),)))
        async with seated(tmp_path, task(), "never", size=(140, 34), **scout) as seat:
            await seat.ask()
            await seat.until(lambda: any(view.child for view in seat.chat.transcript.calls()))
            await seat.until(lambda: "tree 1/4 at work, 1/32 subagents" in seat.read())
            await seat.pilot.press("f6")
            await seat.until(lambda: isinstance(seat.app.screen, Subagents) and "step 1/7" in seat.read())
            assert "● scout  a piece  step 1/7" in seat.read()
            await seat.pilot.press("enter")
            await seat.until(lambda: isinstance(seat.app.screen, TreeWatch) and "I look." in seat.read())
            assert "● slow a" in seat.read() and "Subagent scout: look into it" in seat.read()
            await seat.pilot.press("escape")
            await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.pilot.press("ctrl+c")
            await seat.ended()

    told(story)


def test_another_session_is_opened_while_the_turn_of_this_one_streams(tmp_path):
    """Not one event of the session that was left reaches the other one."""

    async def story():
        steps = [call("look", key=str(number)) for number in range(150)]
        async with seated(tmp_path, *steps, "Done.") as seat:
            await seat.runtime.create("ses_two")
            await seat.ask()
            while (await seat.runtime.status("ses_one")).state != "idle":
                for session in ("ses_two", "ses_one"):
                    await seat.chat.open(session)
                    await asyncio.sleep(0.01)
                    assert seat.app._exception is None
            await seat.ended()

    told(story)


@pytest.mark.parametrize("after", [2, 4, 7])
def test_the_application_is_left_in_the_middle_of_a_turn_without_an_error(tmp_path, after):
    async def story():
        steps = [Reply(text="so", reasoning="hm", calls=(call("look", key=str(number)),)) for number in range(150)]
        async with seated(tmp_path, *steps, "Done.") as seat:
            await seat.ask()
            await seat.until(lambda: len(seat.chat.transcript.calls()) >= after)
            seat.app.exit()
            await seat.until(lambda: not seat.app.is_running)
        assert seat.app._exception is None

    told(story)


def test_a_call_that_had_a_subagent_opens_it_with_a_click_and_others_unfold(tmp_path):
    async def story():
        first = Reply(calls=(call("look", key="it"),))
        async with seated(tmp_path, first, task(), "Done.", **with_scout("Seen.")) as seat:
            await seat.ask()
            await seat.ended()
            plain, child = seat.chat.transcript.calls()
            await seat.pilot.click(plain)
            await seat.until(lambda: "saw it" in seat.read())
            await seat.pilot.click(child)
            await seat.until(lambda: isinstance(seat.app.screen, TreeWatch) and "Seen." in seat.read())
            await seat.pilot.press("escape")
            await seat.pilot.press("f6")
            await seat.until(lambda: "✓ scout  a piece  step 1/7" in seat.read())

    told(story)


def test_a_chat_that_was_left_is_refreshed_without_an_error(tmp_path):
    """The worker of a turn refreshes it once more, on a slow machine after its widgets are gone."""

    async def story():
        async with seated(tmp_path, "Seen.") as seat:
            await seat.ask()
            await seat.ended()
            chat = seat.chat
            await chat.query("*").remove()
            await chat.look()

    told(story)


def notified(seat, words):
    return any(words == notification.message for notification in seat.app._notifications)


def test_what_was_deleted_elsewhere_is_said_to_be_gone(tmp_path):
    async def story():
        path = tmp_path / "j.db"
        async with seated(tmp_path, "One.", "Two.", journal=path) as seat:
            await seat.ask()
            await seat.ended()
            await seat.app._watched("ses_one.1.1.1.0.0")
            await seat.until(
                lambda: seat.app.screen is seat.chat and notified(seat, "there is no session ses_one.1.1.1.0.0")
            )
            async with Runtime(RuntimeConfig(journal=path)) as other:
                await delete_session(other, "ses_one")
            await seat.ask("again")
            await seat.until(lambda: notified(seat, "there is no session ses_one"))

    told(story)


def test_a_command_in_the_background_is_read_and_ended(tmp_path):
    async def story():
        command = "echo up and running; sleep 60"
        bash = [tool for tool in builtin_tools() if tool.spec.name == "bash"]
        replies = call("bash", command=command, background=True), "It runs."
        async with seated(tmp_path, *replies, tools=bash, rules=ANY, sandbox=SandboxSettings(mode="off")) as seat:
            await seat.ask()
            await seat.ended()
            await seat.pilot.press("f7")
            await seat.until(lambda: isinstance(seat.app.screen, BackgroundsScreen) and "up and running" in seat.read())
            assert "▶ bg_1  runs  echo up and running; sleep 60" in seat.read()
            await seat.pilot.press("e")
            await seat.until(lambda: "bg_1  ended with" in seat.read())

    told(story)


def test_the_model_is_picked_and_the_next_turn_asks_it(tmp_path):
    async def story():
        async with seated(tmp_path, "From the first.", models={"n": ModelSettings()}) as seat:
            await seat.ask()
            await seat.ended()
            await seat.pilot.press("f3")
            await seat.until(lambda: isinstance(seat.app.screen, Picker))
            await seat.type("n")
            await seat.pilot.press("enter")
            await seat.until(lambda: seat.chat.model == "n")
            await seat.ask("again")
            await seat.ended(2)
            assert "From the other." in seat.read() and "build · n" in seat.read()

    told(story)


def test_a_turn_that_a_crash_left_is_shown_as_interrupted_and_goes_on_with_a_key(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    home = Home(tmp_path / "home", tmp_path / "home" / "project")
    model = home.script(calls(("bash", {"command": "echo once >> ran; sleep 60"})), {"text": "Went on."})
    killed = home.start("run", "--format", "json", "--on-ask", "allow", "--model", model, "go")
    session = json.loads(killed.stdout.readline())["session"]
    while not (home.project / "ran").exists():
        assert killed.poll() is None
        time.sleep(0.05)
    killed.kill()
    killed.communicate()

    async def story():
        async with Runtime.open(home.project, environment=home.environment) as runtime:
            app = BridleApp(runtime, session)
            async with app.run_test(size=(100, 34)) as pilot:
                seat = Seat(app, pilot, runtime, None)
                await seat.until(lambda: "interrupted" in seat.read())
                await pilot.press("ctrl+t")
                await seat.ended()
                assert (
                    "Went on." in seat.read()
                    and "⊘ echo once" in seat.read()
                    and "its outcome is unknown" in seat.read()
                )

    told(story)
    assert (home.project / "ran").read_text() == "once\n"


def test_what_is_long_or_an_image_stands_as_a_mark_and_goes_with_the_prompt(tmp_path):
    image = tmp_path / "a picture.png"
    image.write_bytes(base64.b64decode(PIXEL))
    long = "\n".join(f"line {number}" for number in range(30))
    as_sent = long.replace("\n", "\r")
    seeing = ScriptedModel(["Seen.", "Seen again."])
    seeing.info = msgspec.structs.replace(seeing.info, takes=frozenset({"image"}))

    async def story():
        async with seated(tmp_path, brought={"n": seeing}) as seat:
            for words in ("short ", as_sent, f"file://{tmp_path}/a%20picture.png"):
                seat.chat.editor.post_message(events.Paste(words))
                await seat.pilot.pause()
            marks = "short [pasted text 1: 30 lines][image 1: a picture.png]"
            assert seat.chat.editor.text == marks
            await seat.pilot.press("enter")
            # The model cannot see: nothing is lost, and another one may.
            await seat.until(lambda: seat.app._notifications and seat.chat.editor.text == marks)
            seat.chat.model = "n"
            await seat.pilot.press("enter")
            await seat.ended()
            (prompt,) = [part for part in seat.chat.transcript.session.parts.values() if isinstance(part, Prompt)]
            assert prompt.text == marks.replace("[pasted text 1: 30 lines]", long)
            assert [(file.path, file.media, file.data) for file in prompt.files] == [(str(image), "image/png", PIXEL)]
            # What is asked once more goes with everything again.
            await seat.pilot.press("up", "enter")
            await seat.ended(2)
            again = [part for part in seat.chat.transcript.session.parts.values() if isinstance(part, Prompt)][-1]
            assert (again.text, again.files) == (prompt.text, prompt.files)

    told(story)


def test_a_mark_that_was_deleted_takes_its_file_with_it(tmp_path):
    image = tmp_path / "i.png"
    image.write_bytes(base64.b64decode(PIXEL))
    pasted = Pasted()
    mark = pasted.mark_of(f"'{image}'\n")
    assert mark == "[image 1: i.png]"
    assert [len(pasted.sent(words)[1]) for words in (f"see {mark}", "see")] == [1, 0]
    (tmp_path / "notes.txt").write_text("words")
    odd = ("~approx 5 items", "file://[abc", "x\x00y")
    for words in (str(tmp_path / "notes.txt"), str(tmp_path), "/no/such/file.png", "i.png", *odd):
        assert pasted.mark_of(words) == words


def test_an_image_on_the_clipboard_is_pasted_where_a_program_knows_of_it(tmp_path, monkeypatch):
    """Nothing that a model has put into the project is taken for that program."""
    programs, planted = tmp_path / "programs", tmp_path / "project" / ".venv" / "bin"
    for folder, text in ((programs, f"echo {PIXEL} | base64 -d"), (planted, f"touch {tmp_path}/planted")):
        folder.mkdir(parents=True)
        (folder / "wl-paste").write_text(f"#!/bin/sh\n{text}\n")
        (folder / "wl-paste").chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}:{programs}:/usr/bin:/bin")

    async def story():
        async with seated(tmp_path / "project") as seat:
            await seat.pilot.press("ctrl+v")
            await seat.until(lambda: seat.chat.editor.text == "[image 1: clipboard.png]")
        assert not (tmp_path / "planted").exists()

    told(story)


def test_the_last_answer_is_copied_with_a_key(tmp_path):
    async def story():
        async with seated(tmp_path, "The **answer**.") as seat:
            await seat.ask()
            await seat.ended()
            await seat.pilot.press("ctrl+o")
            await seat.until(lambda: seat.app.clipboard == "The **answer**.")

    told(story)


def test_what_the_mouse_marks_is_copied(tmp_path):
    async def story():
        async with seated(tmp_path, "The **answer** is here.") as seat:
            await seat.ask()
            await seat.ended()
            view = seat.chat.transcript.query_one(WordsView)
            await seat.pilot.mouse_down(view, offset=(4, 0))
            await seat.pilot.hover(view, offset=(9, 0))
            await seat.pilot.mouse_up(view, offset=(9, 0))
            await seat.until(lambda: seat.chat.get_selected_text() == "answer")
            await seat.pilot.press("ctrl+c")
            await seat.until(lambda: seat.app.clipboard == "answer")

    told(story)


def test_words_are_set_anew_for_another_width_and_theme(tmp_path):
    async def story():
        async with seated(tmp_path, "# Title\n\n" + "many words " * 12, size=(100, 34)) as seat:
            await seat.ask()
            await seat.ended()
            view = seat.chat.transcript.query_one(WordsView)
            before = view.size.height
            await seat.pilot.resize_terminal(50, 34)
            await seat.until(lambda: view.size.height > before)
            colours = seat.app.export_screenshot()
            seat.app.theme = "light"
            await seat.until(lambda: seat.app.export_screenshot() != colours and "many words" in seat.read())

    told(story)


def test_who_looks_elsewhere_is_told_of_limits_asks_and_ends_and_who_looks_is_not(tmp_path):
    async def story():
        replies = [call("look", key=f"{number}") for number in range(5)]
        async with seated(tmp_path, *replies, "Done.", steps=5, rules=(Rule("python", "*", "allow"),)) as seat:
            sent, rung = [], []
            seat.app.send, seat.app.bell = lambda *words: sent.append(words), lambda: rung.append(1)
            seat.app.post_message(events.AppBlur())
            await seat.ask()
            await seat.ended()
            said = [words for command, words in sent if command == 9]
            assert said == ["bridle nears a limit: steps 4/5", "bridle: step limit reached"]
            assert len(rung) == 2
            seat.app.post_message(events.AppFocus())
            await seat.ask("more")
            await seat.ended(2)
            assert len(rung) == 2

    told(story)


@pytest.mark.parametrize(("keys", "made"), [("enter", True), ("right enter", False), ("escape", False)])
def test_a_command_that_runs_something_asks_first(tmp_path, keys, made):
    async def story():
        commands = {"do": CommandSettings("Say: !`touch made; echo ran`")}
        rules = {"commands": commands, "permission": {"bash": "ask"}, "sandbox": SandboxSettings(mode="off")}
        async with seated(tmp_path, "Done.", **rules) as seat:
            await seat.type("/do ")
            await seat.pilot.press("enter")
            await seat.until(lambda: isinstance(seat.app.screen, Confirm) and seat.app.screen.ready)
            assert "touch made; echo ran" in seat.read()
            await seat.pilot.press(*keys.split())
            await seat.until(lambda: seat.chat.editor.text == "/do" or "end" in seat.kinds())
            assert ((tmp_path / "made").exists(), "Say: ran" in seat.read()) == (made, made)

    told(story)


def test_the_application_uses_the_cap_of_the_configuration(tmp_path):
    """Opened as `bridle` opens it: what the file says is the cap, and another number in the application would show."""
    (tmp_path / "config" / "bridle").mkdir(parents=True)
    (tmp_path / "config" / "bridle" / "config.toml").write_text("[behavior]\nmax_steps = 13\n")
    (tmp_path / "project").mkdir()
    script = tmp_path / "script.json"
    looks = [{"calls": [{"name": "list", "arguments": {"path": f"folder-{number}"}}]} for number in range(20)]
    for number in range(20):
        (tmp_path / "project" / f"folder-{number}").mkdir()
    script.write_text(json.dumps({"replies": looks, "then": "Closed."}))
    environment = {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "BRIDLE_MODEL": f"scripted:{script}",
        "BRIDLE_SANDBOX__MODE": "off",
    }

    async def story():
        async with Runtime.open(tmp_path / "project", environment=environment) as runtime:
            app = BridleApp(runtime, None)
            async with app.run_test(size=(100, 34)) as pilot:
                seat = Seat(app, pilot, runtime, None)
                await seat.ask()
                await seat.until(lambda: seat.kinds().count("end") >= 1 and not seat.chat.busy, seconds=60)
                steps = [part for part in seat.chat.transcript.session.parts.values() if isinstance(part, StepStart)]
                assert [(step.number, step.cap) for step in steps] == [(number, 13) for number in range(1, 14)]
                assert steps[-1].closing == "step_cap" and "13/13" in seat.read()

    told(story)


def test_a_session_that_began_from_messages_shows_them_as_earlier_conversation(tmp_path):
    looked = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"key":"it"}'}}
    given = [
        {"role": "user", "content": "Look at it."},
        {"role": "assistant", "content": "I look.", "tool_calls": [looked]},
        {"role": "tool", "tool_call_id": "c", "content": "saw it"},
    ]

    async def story():
        async with seated(tmp_path, "Again.") as seat:
            session = await seat.runtime.create(messages=from_openai(given))
            app = BridleApp(seat.runtime, session)
            async with app.run_test(size=(100, 34)) as pilot:
                other = Seat(app, pilot, seat.runtime, seat.model)
                await other.until(lambda: other.kinds() == ["prompt", "WordsView", "CallView"])
                assert "✓ look" in other.read() and "I look." in other.read()
                await other.ask("once more")
                await other.ended()
                assert other.kinds() == ["prompt", "WordsView", "CallView", "prompt", "WordsView", "end"]

    told(story)
