"""Every widget and screen of the terminal application, as a picture that is compared."""

import os
import re
from pathlib import Path

import pytest
from support.tui_app import seated, task, told, with_scout
from support.tui_sessions import EDITS, TOOLS, session_of
from textual.widgets import Input, TextArea

from bridle.config.settings import UiSettings
from bridle.core.events import CallMoved, Entry, PartPut, RequestMoved, SessionInfo, SessionPut
from bridle.core.fold import load
from bridle.core.limits import Limits, Spent
from bridle.core.parts import (
    Call,
    Changed,
    Compaction,
    Notice,
    Patch,
    Prompt,
    Reasoning,
    Request,
    Sentinel,
    StepFinish,
    StepStart,
    Text,
    TurnFinish,
    TurnStart,
)
from bridle.core.permission import Access
from bridle.core.states import Ask, Asking, Done, Failed, Refusal, Refused, Replied, Running, Usage, Waiting
from bridle.surfaces.tui import commands
from bridle.surfaces.tui.asks import AskScreen, Confirm, Deliberate
from bridle.surfaces.tui.dialogs import Choice, DialogText, Picker
from bridle.surfaces.tui.session_screen import SessionScreen

FOLDER = Path(__file__).parent / "pictures"
UPDATE = os.environ.get("UPDATE") == "1"
"""`UPDATE=1` writes the pictures anew; look at them before they are committed."""

WORDS = "## Plan\n\nI will **look** at `total()` and:\n\n1. read it\n2. mend it\n\n```python\nreturn sum(items)\n```\n"
DIFF = "--- app.py\n+++ app.py\n@@ -1,2 +1,2 @@\n def total(items):\n-    return 0\n+    return sum(items)"


def session_with_everything(*more):
    """A turn with every kind of part, and a call in every state."""
    calls = {
        "1.1.a": ("read", '{"filePath":"app.py"}', Done("     1\tdef total(items):", "d")),
        "1.1.b": ("bash", '{"command":"pytest -q"}', Failed("1 failed\nexit status 1", "d")),
        "1.1.c": ("edit", '{"filePath":"/etc/passwd"}', Refused(Refusal("denied"), "not executed: a rule")),
        "1.1.d": ("bash", '{"command":"make"}', Running()),
        "1.1.e": ("task", '{"prompt":"look"}', Waiting("ses_one.1")),
        "1.1.f": ("bash", '{"command":"rm -rf /"}', Asking(Ask("x", "Allow?", (Access("bash", "rm"),)))),
    }
    start = TurnStart(
        "1.start", 1, "build", "anthropic/claude", 5, Limits(tool_calls=7, tokens=9_000, cost=1.0), "person"
    )
    step = [
        PartPut(StepStart("1.1.start", 1, 5)),
        PartPut(Request("1.1.1", "step", 1, 1, "m")),
        PartPut(Reasoning("1.1.r", "The test is wrong, or the code.")),
        PartPut(Text("1.1.t", WORDS)),
        *(PartPut(Call(id, name, given, "d")) for id, (name, given, _) in calls.items()),
        RequestMoved("1.1.1", Replied(Usage(7_000, 400), 0.86)),
        PartPut(StepFinish("1.1.finish", 1, len(calls))),
        *(CallMoved(id, Running()) for id in list(calls)[:2]),
        *(CallMoved(id, state) for id, (_, _, state) in calls.items()),
        PartPut(Patch("1.1.p", "a", "b", (Changed("app.py", "changed", 1, 1),), state="taken")),
        PartPut(Notice("1.n", "limit", "Step 4/5, 1 step remaining", limit="steps")),
        PartPut(Compaction("1.k", "usage", "smaller", before=90_000, after=20_000)),
        PartPut(Sentinel("1.s", "step_cap", "Step limit reached (5/5)")),
    ]
    begun = (SessionPut(SessionInfo("ses_one", "/p", title="Mend total()")),)
    opened = (PartPut(start), PartPut(Prompt("p", "Mend total() in app.py.\nKeep it short.", turn=1)))
    entries = [Entry(1, 0, 0, begun), Entry(2, 0, 0, opened), Entry(3, 0, 3.0, tuple(step))]
    return load([*entries, *([Entry(4, 0, 42.0, tuple(map(PartPut, more)))] if more else [])])


def finished_session():
    return session_with_everything(TurnFinish("1.finish", 1, "answered", Spent(4, 6, 7_400, 0.86, 42.0), Usage()))


PERMISSION = Ask("a", "Allow edit: app.py?", (Access("edit", "app.py"),), diff=DIFF)
QUESTION = Ask("q", "Which database?", (), ("SQLite", "PostgreSQL"), kind="question")


async def with_session(seat, session):
    await seat.chat.transcript.open(session)
    seat.chat.show_state()


async def transcript(seat):
    await with_session(seat, session_with_everything())


async def ended(seat):
    await with_session(seat, finished_session())


def at_work(calls, *, ended, top=False):
    async def shown(seat):
        seat.chat.transcript.directory = "/code"
        await with_session(seat, session_of(calls, ended=ended))
        if top:
            await seat.pilot.pause()
            seat.chat.transcript.scroll_home(animate=False)

    return shown


async def welcome(seat):
    await seat.until(lambda: "WelcomeView" in seat.kinds())


def over(screen):
    async def shown(seat):
        await with_session(seat, finished_session())
        await seat.app.push_screen(screen(seat.chat.editor))
        if isinstance(seat.app.screen, Deliberate):
            await seat.until(lambda: seat.app.screen.ready)

    return shown


async def subagents(seat):
    await seat.ask()
    await seat.ended()
    await seat.pilot.press("f6")
    await seat.until(lambda: "scout" in seat.read())


async def watch(seat):
    await subagents(seat)
    await seat.pilot.press("enter")
    await seat.until(lambda: "Seen." in seat.read())


async def background(seat):
    await with_session(seat, finished_session())
    await seat.pilot.press("f7")


SCREENS = {
    "welcome": welcome,
    "transcript": transcript,
    "ended": ended,
    "edits": at_work(EDITS, ended=True),
    "edits-top": at_work(EDITS, ended=True, top=True),
    "tools": at_work(TOOLS, ended=False),
    "tools-top": at_work(TOOLS, ended=False, top=True),
    "permission": over(lambda draft: AskScreen(PERMISSION, draft)),
    "question": over(lambda draft: AskScreen(QUESTION, draft)),
    "picker": over(lambda _: Picker("Agents", [Choice("build", "build  Writes."), Choice("plan", "plan  Plans.")])),
    "confirm": over(lambda draft: Confirm("Do this for the prompt?", "git log --oneline | head -3", draft)),
    "subagents": subagents,
    "watch": watch,
    "background": background,
    "help": over(lambda seat: DialogText("Keys and commands", seat.app.keymap.help(commands.WORDS))),
}


async def at_rest(seat, seconds):
    """The picture once the screen changes no more."""
    before, now = [], None
    while before != now:
        await seat.pilot.pause(seconds)
        before, now = now, list(seat.app.screen._compositor.render_strips())
    return steady(seat.app.export_screenshot())


def steady(svg):
    """A picture without what is drawn by chance, and without what a slow machine would change."""
    return re.sub(r"\b\d+(\.\d)?&#160;s\b", "0&#160;s", re.sub(r"terminal-\d+", "terminal", svg))


SIZES = ((80, 24), (100, 30), (140, 44), (200, 60))
EVERY_SIZE = ("edits", "edits-top", "tools", "tools-top", "transcript", "welcome")
"""Screens that change with the size; for the others two sizes are enough."""


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_looks_as_it_did_at_every_size_in_dark_and_light(tmp_path, monkeypatch, name):
    # A cursor that has blinked once before it is told not to stays as it was: none may blink from the start.
    monkeypatch.setattr(TextArea, "_toggle_cursor_blink_visible", lambda _: None)
    monkeypatch.setattr(Input, "_toggle_cursor", lambda _: None)
    # The directory is shown, and differs from run to run.
    monkeypatch.setattr(SessionScreen, "_place", lambda _: "~/shop:main")

    found = {}

    async def story():
        sizes = SIZES if name in EVERY_SIZE else (SIZES[0], SIZES[2])
        scout = with_scout("Seen.") if name in ("subagents", "watch") else {}
        async with seated(tmp_path, task(), "Done.", size=sizes[0], ui=UiSettings(theme="dark"), **scout) as seat:
            # Its cursor is seen below every dialog, if it had the focus before.
            await seat.until(lambda: seat.chat.editor.has_focus)
            await SCREENS[name](seat)
            # Where its thumb ends depends on how it got there.
            seat.chat.transcript.styles.scrollbar_size_vertical = 0
            for width, height in sizes:
                await seat.pilot.resize_terminal(width, height)
                if name in EVERY_SIZE:
                    # A session is opened at each size: where its transcript has been scrolled to, it stays.
                    await SCREENS[name](seat)
                for theme, seconds in (("dark", 0.1), ("light", 0.02)):
                    seat.app.theme = theme
                    found[f"{name}-{width}x{height}-{theme}.svg"] = await at_rest(seat, seconds)

    told(story)
    if UPDATE:
        FOLDER.mkdir(exist_ok=True)
        for picture, svg in found.items():
            (FOLDER / picture).write_text(svg, encoding="utf-8")
    kept = {picture: (FOLDER / picture).read_text(encoding="utf-8") for picture in found}
    changed = [picture for picture in found if found[picture] != kept[picture]]
    assert changed == [], "these pictures have changed; look at them, then UPDATE=1"
