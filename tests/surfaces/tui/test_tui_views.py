"""The views of a transcript: one for each tool, with colors that are readable in every theme."""

import subprocess

import pytest
from rich.color import Color as RichColor
from support.tui_app import seated, told
from support.tui_sessions import EDITS, TOOLS, session_of
from textual.color import Color

from bridle.config.settings import UiSettings
from bridle.core.parts import Call
from bridle.core.states import Done
from bridle.surfaces.tui.call_rows import Seen, call_rows
from bridle.surfaces.tui.colors import CONTRAST, GROUNDS, INKS, contrast
from bridle.surfaces.tui.commands import WORDS
from bridle.surfaces.tui.dialogs import Choice, DialogText, Picker
from bridle.surfaces.tui.themes import COLORS, SEEDS

DRAWN = set(" ▎┃│─╭╮╰╯▰▱█▁▂▃▄▅▆▇▔▏▕▌▐▊▋▍▉▀")
"""Characters that are lines and bars, and no text."""


def lines_of(tool, width=100):
    """The call of a tool as lines of text, at a width."""
    for number, (name, _, state) in enumerate((*EDITS, *TOOLS)):
        if name == tool:
            session = session_of((*EDITS, *TOOLS), ended=False)
            call = session.call(f"1.1.1.0.{number}")
            seen = Seen(call, state, directory="/code", wide=width >= 120)
            return ["".join(text for text, _ in row.pieces) for row in call_rows(seen, width)]
    raise AssertionError(tool)


@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("read", ["→ Read shop/cart.py  from line 10  2 lines"]),
        ("grep", ["✱ Search total\\(  in shop  2 lines"]),
        ("glob", ["✱ Find **/*.py  2 files"]),
        ("list", ["→ List .  3 entries"]),
        ("webfetch", ["↓ Fetch https://docs.python.org/3/library/decimal.html  2 lines"]),
        ("skill", ["→ Skill release"]),
        ("github_search", ["✓ github_search decimal is:open"]),
        ("bash", ["✗ pytest -q", "..F", "1 failed, 2 passed", "", "exit status 1"]),
        (
            "todowrite",
            ["≡ Todos 1/4", "[✓] Read the cart", "[•] Sum up prices", "[ ] Test an empty cart", "[-] Use floats"],
        ),
        ("question", ["? Which database?", "  ● SQLite", "  ○ PostgreSQL"]),
        (
            "task",
            [
                "◈ scout find the prices",
                "  answered · 3 steps · 5 calls · 4,200 tokens · $0.0120 · 9.0 s",
                "  In shop/prices.py.",
            ],
        ),
        (
            "write",
            [
                "← Write tests/test_cart.py  +3  new",
                "1 + def test_total():",
                "2 +     cart = Cart()",
                "3 +     assert cart",
            ],
        ),
    ],
)
def test_each_tool_has_its_view(tool, lines):
    assert [line.rstrip() for line in lines_of(tool)] == lines


def test_an_edit_is_a_diff_and_side_by_side_from_120_columns():
    one, two = lines_of("edit", 100), lines_of("edit", 120)
    assert one[0] == two[0] == "← Edit shop/cart.py  +3  -2"
    assert "17 -         return 0" in one and "17 +         # Prices are exact: no float is summed up." in one
    beside = next(line for line in two if "return 0" in line)
    assert beside.split("│")[0].strip() == "17 -         return 0"
    assert beside.split("│")[1].strip() == "17 +         # Prices are exact: no float is summed up."


def test_output_of_a_command_ends_with_its_last_lines_and_opens_to_all_of_them():
    output = "\n".join(map(str, range(1, 31)))
    call = Call("c", "bash", '{"command": "seq 30"}', "d", Done(output, "d"))
    closed, opened = (
        ["".join(text for text, _ in row.pieces) for row in call_rows(Seen(call, call.state, opened=opened), 80)]
        for opened in (False, True)
    )
    assert closed == ["$ seq 30", "… 22 earlier lines", *map(str, range(23, 31))]
    assert opened == ["$ seq 30", *map(str, range(1, 31))]


def unreadable(seat, within=None):
    """The texts on the screen, or in a widget, whose contrast is too low, with their colors."""
    found = set()
    region = (within or seat.app.screen).region
    for strip in seat.app.screen._compositor.render_strips()[region.y : region.bottom]:
        for text, style, _ in strip.crop(region.x, region.right):
            if style is None or not set(text) - DRAWN or style.color is None or style.bgcolor is None:
                continue
            ink, ground = (Color.from_rich_color(each) for each in swapped(style))
            if contrast(ink, ground) < CONTRAST:
                found.add((text.strip(), ink.hex, ground.hex, round(contrast(ink, ground), 2)))
    return found


def swapped(style):
    colors: tuple[RichColor, RichColor] = (style.color, style.bgcolor)
    return colors[::-1] if style.reverse else colors


@pytest.mark.parametrize("theme", SEEDS)
def test_every_ink_of_a_theme_is_readable_on_each_of_its_grounds(theme):
    colors = COLORS[theme]
    worst = {
        (ink, ground): ratio
        for ink in INKS
        for ground in GROUNDS
        if (ratio := contrast(Color.parse(getattr(colors, ink)), Color.parse(getattr(colors, ground)))) < CONTRAST
    }
    assert worst == {}


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "solarized-light"])
def test_all_text_on_the_screen_is_readable(tmp_path, theme):
    async def story():
        async with seated(tmp_path, size=(140, 90), ui=UiSettings(theme=theme)) as seat:
            await seat.chat.transcript.open(session_of((*EDITS, *TOOLS), ended=True))
            seat.chat.show_state()
            await seat.pilot.pause()
            assert unreadable(seat) == set()
            for dialog in (
                Picker("Agents", [Choice("build", "Writes."), Choice("plan", "Plans.")]),
                DialogText("Keys", seat.app.keymap.help(WORDS)),
            ):
                await seat.app.push_screen(dialog)
                await seat.pilot.pause()
                # What a dialog covers is dimmed.
                assert unreadable(seat, dialog.query_one(".dialog")) == set()
                await seat.pilot.press("escape")

    told(story)


def test_a_theme_that_is_not_readable_would_be_found(tmp_path):
    async def story():
        async with seated(tmp_path, size=(140, 40)) as seat:
            await seat.chat.transcript.open(session_of(EDITS, ended=True))
            for view in seat.chat.transcript.query(".end"):
                view.styles.background = COLORS["dark"].muted
            await seat.pilot.pause()
            assert any("answered" in text for text, *_ in unreadable(seat))

    told(story)


def test_the_theme_of_the_terminal_has_the_sixteen_colors_of_the_terminal_alone(tmp_path):
    async def story():
        async with seated(tmp_path, size=(140, 60), ui=UiSettings(theme="terminal")) as seat:
            await seat.chat.transcript.open(session_of(TOOLS, ended=False))
            await seat.pilot.pause()
            strips = seat.app.screen._compositor.render_strips()
            styles = [style for strip in strips for _, style, _ in strip if style is not None]
            colors = {color for style in styles for color in (style.color, style.bgcolor) if color is not None}
            assert {color.name for color in colors if color.is_system_defined or color.is_default} == {
                color.name for color in colors
            }

    told(story)


def test_the_line_below_the_editor_shows_context_cost_agent_model_place_and_branch(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "topic"], cwd=tmp_path, check=True)

    async def story():
        async with seated(tmp_path, size=(200, 30)) as seat:
            await seat.chat.transcript.open(session_of(EDITS, ended=True))
            seat.chat.show_state()
            await seat.until(lambda: ":topic" in seat.read())
            assert "context 12 % · $0.03 · build · anthropic/claude · " in seat.read()

    told(story)


def test_the_sidebar_is_shown_from_120_columns_with_its_facts(tmp_path):
    async def story():
        async with seated(tmp_path, size=(119, 40)) as seat:
            await seat.chat.transcript.open(session_of((*EDITS, *TOOLS), ended=True))
            seat.chat.show_state()
            await seat.pilot.pause()
            assert "Changed files" not in seat.read()
            await seat.pilot.resize_terminal(120, 40)
            await seat.until(lambda: "Changed files" in seat.read())
            shown = seat.read()
            for words in ("24.4k of 200k tokens", "Limits of this turn", "Todos  1/4", "shop/cart.py", "+4 -2"):
                assert words in shown, words

    told(story)
