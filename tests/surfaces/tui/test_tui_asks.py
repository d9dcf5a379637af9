"""Asks of the terminal application: what answers them, what does not, and that they fit."""

import pytest
from support.tui_app import seated, told
from textual import events
from textual.command import CommandPalette
from textual.widgets import Button

from bridle import call
from bridle.core.permission import Access, Rule
from bridle.core.states import Ask
from bridle.surfaces.tui.asks import AskScreen, Confirm
from bridle.surfaces.tui.dialogs import DialogText, Picker
from bridle.surfaces.tui.paste import Pasted

ASKING = (Rule("python", "*", "ask"),)
LONG = "--- a.py\n+++ a.py\n@@ -1 +1,80 @@\n" + "\n".join(f"+line {number}" for number in range(1, 81))
LONG_NAME = " ".join(f"word{number}" for number in range(60))
SMALL = [(80, 24), (60, 15), (40, 12), (32, 9)]


async def asked(seat):
    await seat.until(lambda: isinstance(seat.app.screen, AskScreen))
    return seat.app.screen


def open_asks(seat):
    return [ask.text for ask in seat.chat.transcript.session.running.asks]


def test_typing_on_answers_nothing_and_becomes_the_draft(tmp_path):
    async def story():
        async with seated(tmp_path, call("look", key="a"), "Done.", rules=ASKING) as seat:
            await seat.ask()
            screen = await asked(seat)
            await seat.until(lambda: screen.ready)
            await seat.type("wait a moment, also check it or not")
            await seat.pilot.press("backspace", "enter", "tab", "enter")
            # Whoever has typed may pause, and then end the line.
            await seat.until(lambda: screen.ready)
            await seat.pilot.press("enter", "y", "enter")
            assert seat.app.screen is screen and open_asks(seat) == ["Allow python: look?"]
            assert seat.chat.editor.text == "wait a moment, also check it or noy"
            assert seat.chat.transcript.session.running.asks
            await seat.until(lambda: screen.ready)
            await seat.pilot.press("right", "enter")
            await seat.ended()
            assert seat.chat.editor.text == "wait a moment, also check it or noy"
            assert "✓ look" in seat.read()

    told(story)


def test_a_draft_from_before_the_ask_keeps_enter_from_answering(tmp_path):
    async def story():
        async with seated(tmp_path, call("look", key="a"), "Done.", rules=ASKING) as seat:
            await seat.type("and then")
            seat.chat.send("go", Pasted())
            screen = await asked(seat)
            await seat.until(lambda: screen.ready)
            await seat.pilot.press("enter", "o", "a", "r", "enter")
            assert seat.app.screen is screen and seat.chat.editor.text == "and thenoar"

    told(story)


@pytest.mark.parametrize("keys", ["enter", "o", "a", "r", "y", "space", "tab enter", "right enter", "down enter"])
def test_nothing_is_answered_before_a_moment_of_quiet(tmp_path, keys):
    async def story():
        async with seated(tmp_path, call("look", key="a"), rules=ASKING, quiet=3_600.0) as seat:
            await seat.ask()
            screen = await asked(seat)
            await seat.pilot.press(*keys.split())
            await seat.pilot.click(screen.query_one("#once", Button))
            assert seat.app.screen is screen and open_asks(seat) == ["Allow python: look?"]
            question = Ask("q", "Which?", (), ("one", "two"), kind="question")
            for later in (AskScreen(question, seat.chat.editor), Confirm("Do it?", "rm -r .", seat.chat.editor)):
                await seat.app.push_screen(later)
                await seat.pilot.press(*keys.split())
                assert seat.app.screen is later

    told(story)


def test_each_answer_is_chosen_with_the_arrows_and_given_with_enter(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            for keys, wanted in (((), "once"), (("right",), "always"), (("left",), "reject"), (("right",) * 3, "once")):
                answers = []
                screen = AskScreen(Ask("a", "Allow?", (Access("edit", "x"),)), seat.chat.editor)
                await seat.app.push_screen(screen, answers.append)
                await seat.until(lambda shown=screen: shown.ready)
                await seat.pilot.press(*keys, "enter")
                assert [reply.choice for reply in answers] == [wanted]

    told(story)


def test_a_command_is_confirmed_with_a_button_and_not_with_a_letter(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            for keys, wanted in ((("enter",), True), (("right", "enter"), False), (("escape",), False)):
                answers = []
                screen = Confirm("Do it?", "git log", seat.chat.editor)
                await seat.app.push_screen(screen, answers.append)
                await seat.until(lambda shown=screen: shown.ready)
                await seat.pilot.press("y", "n", "backspace", "backspace")
                await seat.until(lambda shown=screen: shown.ready)
                await seat.pilot.press(*keys)
                assert answers == [wanted]
            assert seat.chat.editor.text == ""

    told(story)


@pytest.mark.parametrize("size", SMALL, ids=str)
@pytest.mark.parametrize("kind", ["diff", "words", "question"])
def test_an_ask_fits_the_terminal_and_everything_in_it_can_be_read(tmp_path, kind, size):
    asks = {
        "diff": Ask("a", "Allow edit: a.py?", (Access("edit", "a.py", always="src/*"),), diff=LONG),
        "words": Ask("a", f"Allow bash: {LONG_NAME}?", (Access("bash", "x"),), detail=LONG),
        "question": Ask("a", LONG_NAME, (), tuple(f"choice {n}" for n in range(30)), kind="question", detail=LONG),
    }

    async def story():
        async with seated(tmp_path, size=size) as seat:
            screen = AskScreen(asks[kind], seat.chat.editor)
            await seat.app.push_screen(screen)
            await seat.until(lambda: screen.ready)
            whole = screen.region
            for button in screen.query(Button):
                assert button.region.height and whole.contains_region(button.region)
            words = screen.query_one("#words")
            assert words.region.height and whole.contains_region(words.region)
            labels = ("Once", "Always", "Reject") if kind != "question" else ("choice 0",)
            assert all(label in seat.read() for label in labels)
            read = ""
            while "line 80" not in seat.read() and len(read) < 500_000:
                read += seat.read()
                await seat.pilot.press("pagedown")
            assert "line 80" in seat.read()
            read += seat.read()
            assert all(f"line {number} " in read for number in range(1, 81))
            assert kind == "diff" or all(f"word{number}" in read for number in range(60))
            await seat.pilot.press("pageup")
            assert "line 80" not in seat.read()
            if kind != "question":
                await seat.pilot.press(*["down"] * 30)
                assert "line 80" in seat.read()

    told(story)


SUM = "--- a/shop.py\n+++ b/shop.py\n@@ -7,2 +7,2 @@\n def total(items):\n-    return 0\n+    return sum(items)\n"
LONG_LINE = SUM.replace("items)\n", f"items)  # {LONG_NAME}\n", 2)


@pytest.mark.parametrize(("diff", "width", "beside"), [(SUM, 140, True), (SUM, 100, False), (LONG_LINE, 140, False)])
def test_a_change_is_asked_about_as_the_transcript_shows_it_and_nothing_of_it_is_cut(tmp_path, diff, width, beside):
    async def story():
        async with seated(tmp_path, size=(width, 40)) as seat:
            await seat.app.push_screen(AskScreen(Ask("a", "Allow?", (), diff=diff), seat.chat.editor))
            await seat.until(lambda: "return sum(items)" in seat.read())
            shown = seat.read().splitlines()
            assert any("shop.py  +1 -1" in each for each in shown)
            assert any("8 -     return 0" in each and "│8 +     return sum" in each for each in shown) is beside
            assert all(each in "".join(shown) for each in LONG_NAME.split()) is (diff is LONG_LINE)

    told(story)


OVER = {
    "ask": None,
    "picker": ("f4", Picker),
    "help": ("f1", DialogText),
    "palette": ("ctrl+p", CommandPalette),
}


@pytest.mark.parametrize("over", OVER)
def test_ctrl_c_ends_the_turn_and_then_leaves_wherever_it_is_pressed(tmp_path, over):
    async def story():
        replies, rules = (call("look", key="a"),), ASKING
        if over != "ask":
            replies, rules = (call("slow", key="a"),), ()
        async with seated(tmp_path, *replies, "never", rules=rules) as seat:
            await seat.ask()
            if over == "ask":
                await asked(seat)
            else:
                await seat.until(lambda: any(view.has_class("running") for view in seat.chat.transcript.calls()))
                key, screen = OVER[over]
                await seat.pilot.press(key)
                await seat.until(lambda: isinstance(seat.app.screen, screen))
            await seat.pilot.press("ctrl+c")
            await seat.ended()
            assert seat.app.is_running
            if over == "ask":
                await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.pilot.press("ctrl+c")
            await seat.until(lambda: not seat.app.is_running)

    told(story)


@pytest.mark.parametrize("over", [each for each in OVER if each != "ask"])
def test_keys_that_come_while_a_dialog_closes_close_nothing_below_it(tmp_path, over):
    async def story():
        async with seated(tmp_path, size=(5, 4)) as seat:
            key, screen = OVER[over]
            for each in (key, "pageup", "pagedown"):
                seat.app.post_message(events.Key(each, None))
            await seat.until(lambda: isinstance(seat.app.screen, screen))
            await seat.pilot.resize_terminal(80, 24)
            seat.post("no such entry")
            for each in ("pageup", "pagedown", "escape", "escape"):
                seat.app.post_message(events.Key(each, None))
            await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.pilot.press("ctrl+x")
            seat.post("zzz")
            await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.type("!")
            assert seat.app.is_running and seat.app.screen is seat.chat

    told(story)


def test_ctrl_c_copies_what_is_marked_and_ends_nothing(tmp_path):
    async def story():
        async with seated(tmp_path, "Hello.") as seat:
            await seat.type("some words")
            seat.chat.editor.select_all()
            await seat.pilot.press("ctrl+c")
            assert seat.app.is_running and seat.app.clipboard == "some words"

    told(story)


def test_an_ask_that_was_answered_elsewhere_goes_away(tmp_path):
    async def story():
        async with seated(tmp_path, call("look", key="a"), "Done.", rules=ASKING) as seat:
            await seat.ask()
            screen = await asked(seat)
            ask = screen.ask.id
            await seat.app.push_screen(DialogText("Keys", "over it"))
            await seat.runtime.answer(seat.chat.id_of_session, ask, "once")
            await seat.runtime.resume(seat.chat.id_of_session)
            await seat.ended()
            await seat.pilot.press("escape")
            await seat.until(lambda: seat.app.screen is seat.chat)

    told(story)
