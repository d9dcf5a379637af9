"""The terminal application, driven by its keys: what a person does, and what they see."""

import random

import pytest
from support.odd_texts import PIECES
from support.tui_app import seated, told
from textual.geometry import Region
from textual.widgets import Input

from bridle import Reply, call
from bridle.config.settings import CommandSettings, UiSettings
from bridle.core.events import CallMoved, Entry, PartDelta, PartPut, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import load
from bridle.core.limits import UNLIMITED, Limits, Spent
from bridle.core.parts import Call, File, Prompt, Request, Sentinel, StepFinish, StepStart, Text, TurnFinish, TurnStart
from bridle.core.permission import Rule
from bridle.core.states import Done, Replied, Running, Usage
from bridle.surfaces.shared.safe_text import plain
from bridle.surfaces.tui.asks import AskScreen
from bridle.surfaces.tui.dialogs import DialogText, Picker
from bridle.surfaces.tui.editor import Completions
from bridle.surfaces.tui.host import StartChoices
from bridle.surfaces.tui.rows import RowsView
from bridle.surfaces.tui.streamed_text import WordsView
from bridle.surfaces.tui.views import CallView, SentinelView, ThoughtView, notice, view_of

SIZES = [(80, 24), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
def test_prompt_stream_permission_and_answer(tmp_path, size):
    async def story():
        replies = Reply(text="I *look*.", reasoning="Hm.", calls=(call("look", key="it"),), chunk=3), "**Done.**"
        async with seated(tmp_path, *replies, size=size, rules=(Rule("python", "*", "ask"),), steps=5) as seat:
            await seat.ask("please look")
            await seat.until(lambda: isinstance(seat.app.screen, AskScreen))
            assert "Allow python: look?" in seat.read() and '{"key":"it"}' in seat.read()
            await seat.until(lambda: seat.app.screen.ready)
            await seat.pilot.press("enter")
            await seat.ended()
            assert seat.kinds() == ["prompt", "ThoughtView", "WordsView", "CallView", "WordsView", "end"]
            shown = seat.read()
            assert "I look." in shown and "Done." in shown and "✓ look" in shown
            assert "idle" in shown and "2/5" in shown and "1/200" in shown

    told(story)


def test_a_rejection_with_words_goes_on_and_one_without_ends_the_turn(tmp_path):
    async def story():
        asking = (Rule("python", "*", "ask"),)
        async with seated(tmp_path, call("look", key="a"), "I see.", call("look", key="b"), rules=asking) as seat:
            await seat.ask()
            await seat.until(lambda: isinstance(seat.app.screen, AskScreen))
            await seat.until(lambda: seat.app.screen.ready)
            seat.app.screen.query_one("#words", Input).value = "not now"
            seat.app.screen.query_one("#words", Input).focus()
            await seat.pilot.press("enter")
            await seat.ended()
            assert "not now" in str(seat.model.requests[-1].messages[-1])
            await seat.ask("again")
            await seat.until(lambda: isinstance(seat.app.screen, AskScreen) and seat.app.screen.ready)
            await seat.pilot.press("left", "enter")
            await seat.ended(2)
            assert "SentinelView" in seat.kinds()

    told(story)


def test_ctrl_c_ends_the_turn_and_keeps_everything_then_leaves(tmp_path):
    async def story():
        async with seated(tmp_path, call("slow", key="a"), "never") as seat:
            await seat.ask()
            await seat.until(lambda: any(view.has_class("running") for view in seat.chat.transcript.calls()))
            await seat.pilot.press("ctrl+c")
            await seat.ended()
            assert "aborted" in seat.read() and seat.app.is_running
            await seat.pilot.press("ctrl+c")
            await seat.until(lambda: not seat.app.is_running)

    told(story)


def test_at_the_cap_a_card_says_so_and_one_key_goes_on(tmp_path):
    async def story():
        replies = [call("look", key="a"), "closed", "went on"]
        async with seated(tmp_path, *replies, steps=2) as seat:
            await seat.ask()
            await seat.ended()
            assert "Step limit reached (2/2)" in seat.read() and "▰▰▰▰▰▰▰▰ 2/2" in seat.read()
            await seat.pilot.press("ctrl+t")
            await seat.ended(2)
            assert "went on" in seat.read()

    told(story)


def test_a_limit_is_extended_with_one_key(tmp_path):
    async def story():
        asking = (Rule("python", "*", "ask"),)
        async with seated(tmp_path, call("look", key="a"), "done", steps=2, rules=asking) as seat:
            await seat.ask()
            await seat.until(lambda: isinstance(seat.app.screen, AskScreen))
            await seat.pilot.press("escape")
            await seat.until(lambda: seat.app.screen is seat.chat)
            await seat.pilot.press("f5")
            await seat.until(lambda: seat.chat.transcript.session.turn.cap == 7)
            assert "1/7" in seat.read()
            await seat.pilot.press("ctrl+x", "p")
            await seat.until(lambda: isinstance(seat.app.screen, AskScreen))
            await seat.until(lambda: seat.app.screen.ready)
            await seat.pilot.press("enter")
            await seat.ended()

    told(story)


def test_what_was_undone_is_gone_and_stands_in_the_editor_again(tmp_path):
    async def story():
        async with seated(tmp_path, "one", "two") as seat:
            await seat.ask("first")
            await seat.ended()
            await seat.ask("second")
            await seat.ended(2)
            await seat.pilot.press("f8")
            await seat.until(lambda: seat.kinds().count("prompt") == 1)
            assert seat.chat.editor.text == "second"
            await seat.pilot.press("f9")
            await seat.until(lambda: seat.kinds().count("prompt") == 2)

    told(story)


def test_models_agents_and_sessions_are_picked_by_typing(tmp_path):
    async def story():
        async with seated(tmp_path, "one") as seat:
            await seat.ask("first words")
            await seat.ended()
            await seat.pilot.press("f4")
            await seat.until(lambda: isinstance(seat.app.screen, Picker))
            await seat.type("plan")
            await seat.pilot.press("enter")
            await seat.until(lambda: seat.chat.agent == "plan")
            other = await seat.runtime.create("ses_two")
            seat.chat.model = "n"
            await seat.chat.open(other)
            assert seat.kinds() == []
            await seat.ask("elsewhere")
            await seat.ended()
            assert "From the other." in seat.read() and "plan · n" in seat.read()
            await seat.pilot.press("f2")
            await seat.until(lambda: isinstance(seat.app.screen, Picker))
            await seat.type("first")
            await seat.pilot.press("enter")
            await seat.until(lambda: seat.chat.id_of_session == "ses_one" and "first words" in seat.read())

    told(story)


def test_the_editor_remembers_completes_and_takes_several_lines(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "main.py").write_text("print()\n")

    async def story():
        async with seated(tmp_path, "one", "two", "three") as seat:
            editor = seat.chat.editor
            await seat.ask("earlier")
            await seat.ended()
            await seat.pilot.press("up")
            assert editor.text == "earlier"
            await seat.pilot.press("down")
            assert editor.text == ""
            await seat.type("see @mai")
            await seat.until(lambda: seat.app.screen.query_one(Completions).display)
            await seat.pilot.press("tab")
            assert editor.text == "see @source/main.py "
            await seat.pilot.press("ctrl+j", "x")
            await seat.pilot.press("enter")
            await seat.ended(2)
            first, second = (part for part in seat.chat.transcript.session.parts.values() if isinstance(part, Prompt))
            assert (first.text, first.files) == ("earlier", ())
            assert second.text.split() == ["see", "@source/main.py", "x"]
            assert second.files == (File("source/main.py", "print()\n"),)

    told(story)


def test_an_unknown_command_is_refused_and_stands_in_the_editor_again(tmp_path):
    async def story():
        async with seated(tmp_path, "one", commands={"greet": CommandSettings("Greet.")}) as seat:
            await seat.ask("/gret now")
            await seat.until(lambda: seat.chat.editor.text == "/gret now")
            assert seat.model.requests == []
            (said,) = (toast.message for toast in seat.app._notifications)
            assert said.startswith("there is no command /gret; did you mean /greet?")

    told(story)


def test_the_welcome_names_the_model_that_answers(tmp_path):
    async def story(choices, words):
        async with seated(tmp_path, choices=choices, model="m") as seat:
            await seat.until(lambda: words in seat.read())

    told(lambda: story(StartChoices(), "m answers here"))
    told(lambda: story(StartChoices(model="n"), "n answers here (as you asked)"))


def test_f1_shows_all_keys(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            await seat.pilot.press("f1")
            await seat.until(lambda: isinstance(seat.app.screen, DialogText))
            shown = ""
            for _ in range(6):
                shown += seat.read()
                await seat.pilot.press("pagedown")
            assert all(
                words in shown for words in ("f5", "ctrl+x u", "Undo the last turn", "/sessions", "earlier prompts")
            )
            await seat.pilot.press("escape")
            await seat.until(lambda: seat.app.screen is seat.chat)

    told(story)


@pytest.mark.parametrize("theme", ["light", "dark", "contrast"])
def test_themes_come_from_the_settings(tmp_path, theme):
    async def story():
        async with seated(tmp_path, ui=UiSettings(theme=theme)) as seat:
            assert seat.app.theme == theme

    told(story)


def a_long_session(steps):
    """Entries of a turn that made a call in every step."""
    start = TurnStart("1.start", 1, "build", "m", steps + 1, Limits(), "person")
    entries = [
        Entry(1, 0.0, 0.0, (SessionPut(SessionInfo("ses_long", "/p")),)),
        Entry(2, 0.0, 0.0, (PartPut(start), PartPut(Prompt("p", "go", turn=1)))),
    ]
    for number in range(1, steps + 1):
        made = Call(f"1.{number}.c", "look", '{"key":"x"}', "d")
        put = (
            PartPut(StepStart(f"1.{number}.start", number, steps + 1)),
            PartPut(Request(f"1.{number}.1", "step", number, 1, "m")),
            PartPut(Text(f"1.{number}.t", f"Words of step **{number}**.")),
            PartPut(made),
            RequestMoved(f"1.{number}.1", Replied(Usage(1, 1))),
            PartPut(StepFinish(f"1.{number}.finish", number, 1)),
            CallMoved(made.id, Running()),
            CallMoved(made.id, Done("saw", "d")),
        )
        entries.append(Entry(len(entries) + 1, 0.0, float(number), put))
    finish = TurnFinish("1.finish", 1, "answered", Spent(), Usage())
    return [*entries, Entry(len(entries) + 1, 0.0, 1.0, (PartPut(finish),))]


def test_a_session_of_five_thousand_parts_shows_its_end_and_the_rest_when_asked(tmp_path):
    async def story():
        session = load(a_long_session(1_000))
        assert len(session.parts) > 5_000
        async with seated(tmp_path) as seat:
            await seat.chat.transcript.open(session)
            await seat.pilot.pause()
            shown = len(seat.kinds())
            assert shown <= 80 and "answered" in seat.read()
            await seat.chat.transcript.show_older()
            assert len(seat.kinds()) > shown

    told(story)


def test_a_long_running_session_puts_its_oldest_views_aside(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            transcript = seat.chat.transcript
            await transcript.open(load([]))
            for entry in a_long_session(400):
                await transcript.take(entry)
            await seat.pilot.pause()
            assert len(seat.kinds()) <= 300 and "Words of step 400." in seat.read()
            for _ in range(20):
                await transcript.show_older()
            assert seat.kinds().count("WordsView") == 400
            texts = [view.source for view in transcript.query(WordsView)]
            assert texts == [f"Words of step **{number}**." for number in range(1, 401)]

    told(story)


def test_a_search_finds_older_parts_opens_what_is_folded_and_marks_the_text(tmp_path):
    async def story():
        session = load(a_long_session(100))
        async with seated(tmp_path, size=(100, 30)) as seat:
            transcript = seat.chat.transcript
            await transcript.open(session)
            await seat.pilot.press("ctrl+f")
            await seat.type("step 7")
            await seat.until(lambda: "1/11" in seat.read() and "Words of step 79." in seat.read())
            await seat.pilot.press("enter")
            await seat.until(lambda: "2/11" in seat.read() and "Words of step 78." in seat.read())
            await seat.pilot.press("down", "down")
            await seat.until(lambda: "11/11" in seat.read() and "Words of step 7." in seat.read())
            strips = seat.app.screen._compositor.render_strips()
            marked = "".join(text for strip in strips for text, style, _ in strip if style and style.reverse)
            assert "step 7" in marked
            await seat.pilot.press("escape")
            assert seat.app.focused is seat.chat.editor
            await seat.pilot.press("ctrl+f")
            await seat.type("no such words")
            await seat.until(lambda: "not found" in seat.read())

    told(story)


def test_twenty_thousand_deltas_end_as_one_text(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            transcript = seat.chat.transcript
            await seat.until(lambda: transcript.session.sequence)
            begun = TurnStart("1.start", 1, "build", "m", 5, UNLIMITED, "deny")
            for part in (begun, StepStart("1.1.start", 1, 5), Request("1.1.1", "step", 1, 1, "m")):
                await transcript.take(Entry(transcript.session.sequence + 1, 0.0, 0.0, (PartPut(part),)))
            for place in range(20_000):
                await transcript.take(PartDelta("1.1.1.0.t", place * 5, "word ", "text"))
            view = transcript._views["1.1.1.0.t"]
            await view.settle("word " * 20_000)
            assert (view.length, len(view.source)) == (100_000, 100_000)
            assert seat.kinds().count("WordsView") == 1

    told(story)


def test_a_thousand_odd_texts_show_safely_at_every_size(tmp_path):
    chance = random.Random(7)
    texts = ["".join(chance.choices(PIECES, k=chance.randint(1, 12))) for _ in range(1_000)]

    async def story():
        for turn, size in enumerate(((20, 5), (80, 24), (300, 100))):
            async with seated(tmp_path, size=size) as seat:
                transcript = seat.chat.transcript
                # All at once, since each that comes by itself lays out those before it anew.
                await transcript.mount_all(view(place, words) for place, words in enumerate(texts[turn::3]))
                await seat.pilot.pause()
                shown = seat.read() + "".join(drawn(widget) for widget in transcript.walk_children())
                assert len(shown) > 5_000
                assert not set(shown) & set("\x1b\x07\x08\x00\x9b\u202e\u2066\u200f")

    told(story)


def view(place, words):
    """A view of each kind in turn, with text from outside wherever it has some."""
    views = (
        lambda: view_of(Prompt("p", words)),
        lambda: WordsView(words),
        lambda: ThoughtView(words),
        lambda: CallView(Call("c", words, words, "d", Done(words, "d"))),
        lambda: notice(words),
        lambda: SentinelView(Sentinel("s", "error", words)),
    )
    return views[place % len(views)]()


def drawn(widget):
    """A widget as it is drawn, also where it is out of sight."""
    return "".join(strip.text for strip in widget.render_lines(Region(0, 0, *widget.size)))


def test_every_part_that_is_shown_has_its_widget():
    parts = (Prompt("p", "x"), Text("t", "x"), Sentinel("s", "error", "x"))
    assert [type(view_of(part)) for part in parts] == [RowsView, WordsView, SentinelView]
    assert view_of(TurnFinish("f", 1, "answered", Spent(), Usage())).has_class("end")
    assert plain("\x1b[31mred") == "\N{REPLACEMENT CHARACTER}[31mred"


@pytest.mark.parametrize("said", ["42.", "1.\n2.", "-", "#", "> 7)"])
def test_a_short_answer_that_looks_like_an_empty_list_is_shown(tmp_path, said):
    async def story():
        async with seated(tmp_path, said) as seat:
            await seat.ask()
            await seat.ended()
            view = seat.chat.transcript.query_one(WordsView)
            shown = "\n".join(strip.text for strip in (*view._set_lines, *view._tail_lines))
            assert shown.split() == said.split()

    told(story)
