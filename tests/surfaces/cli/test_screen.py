"""A run on a terminal: what is printed for good, what is drawn and taken back, and what never reaches it."""

import asyncio
import io
import random
import re
from html import unescape

import pytest
from support.odd_texts import PIECES
from support.terminal_text import Tty, seen

from bridle.surfaces.cli import output
from bridle.surfaces.cli.screen import Screen
from bridle.surfaces.cli.writer import Writer, is_lively
from bridle.surfaces.shared.markdown_stream import LONGEST, Divider

DRAWN = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[2K|\x1b\[1A\x1b\[2K")


def screened(monkeypatch, work, columns=60, lines=20, **more):
    """What a terminal gets, when both streams lead to it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", str(lines))
    terminal = Tty()

    async def play():
        work(Screen(terminal, terminal, quiet=False, **more))

    asyncio.run(play())
    return terminal.getvalue()


def test_markdown_is_set_block_by_block_as_it_streams(monkeypatch):
    def work(screen):
        for letter in "# Title\n\nSome **bold** words.\n\n- one\n- two\n":
            screen.words(letter)
        screen.end_words()

    assert seen(screened(monkeypatch, work)) == ["Title", "", "Some bold words.", "", " • one", " • two", "", ""]


def test_a_block_that_is_not_whole_is_shown_and_taken_back(monkeypatch):
    def work(screen):
        screen.words("half a *sen")
        screen.live(["step 1/5"])

    sent = screened(monkeypatch, work)
    assert seen(sent) == ["half a *sen", "step 1/5"]

    def on(screen):
        work(screen)
        screen.words("tence*")
        screen.say("  ✓ bash  ls")
        screen.live([])

    assert seen(screened(monkeypatch, on)) == ["half a sentence", "", "  ✓ bash  ls", ""]


def test_what_is_under_way_stays_below_what_is_said(monkeypatch):
    def work(screen):
        screen.live(["  ● bash  sleep 5", "step 1/5"])
        screen.say("! a notice")
        screen.live(["  ● bash  sleep 5", "step 1/5"])

    sent = screened(monkeypatch, work)
    assert seen(sent) == ["! a notice", "  ● bash  sleep 5", "step 1/5"]
    # What has not changed is not drawn again.
    assert sent.count("sleep 5") == 2


def test_a_long_line_below_is_cut_at_the_edge(monkeypatch):
    sent = screened(monkeypatch, lambda screen: screen.live(["●" + "漢" * 50]), columns=21)
    assert seen(sent) == ["●" + "漢" * 8 + "…"]


def test_colours_are_left_out_for_who_does_not_want_them(monkeypatch):
    def work(screen):
        screen.words("`code` and **bold**\n\n```python\nx = 1\n```\n")
        screen.say("✗ no")

    coloured = re.compile(r"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38;)")
    assert coloured.search(screened(monkeypatch, work))
    monkeypatch.setenv("NO_COLOR", "1")
    assert not coloured.search(screened(monkeypatch, work))


def test_a_link_shows_where_it_leads(monkeypatch):
    def work(screen):
        screen.words("[your bank](http://evil.example)")
        screen.end_words()

    assert "your bank (http://evil.example)" in "\n".join(seen(screened(monkeypatch, work)))


def test_only_a_terminal_that_can_is_drawn_on():
    assert is_lively(Tty(), {"TERM": "xterm-256color"})
    for stream, environment in ((Tty(), {"TERM": "dumb"}), (Tty(), {}), (io.StringIO(), {"TERM": "xterm"}), (None, {})):
        assert not is_lively(stream, environment)


def test_quiet_writer_shows_the_answer_and_what_must_be_said():
    out, beside = io.StringIO(), io.StringIO()
    writer = Writer(out, beside, quiet=True)
    writer.words("answer")
    writer.end_words()
    writer.say("step 1/5")
    writer.say("■ stopped", always=True)
    assert (out.getvalue(), beside.getvalue()) == ("answer\n", "■ stopped\n")


@pytest.mark.parametrize(("columns", "lines"), [(20, 5), (80, 24), (300, 100)])
def test_odd_texts_reach_the_terminal_without_anything_that_drives_it(monkeypatch, columns, lines):
    chance = random.Random(columns)

    def work(screen):
        for _ in range(100):
            words = "".join(chance.choices(PIECES, k=chance.randint(1, 12)))
            for place in range(0, len(words), 7):
                screen.words(words[place : place + 7])
            screen.end_words()

    left = DRAWN.sub("", screened(monkeypatch, work, columns, lines))
    assert not set(left) & {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u202e\u2066\u200f"} - {"\n"}


ANSWERS = {
    "paragraphs": "Some **words** that go on. " * 8 + "\n\n",
    "a list": "- an item with `code`\n  and a second line\n",
    "a numbered list": "1. an item\n",
    "a loose list": "- an item\n\n",
    "code": "x = 1  # a line of code\n",
    "one line": "word ",
    "letters": "x" * 50,
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_still_changes_stays_small_however_long_an_answer_is(kind):
    words = ("```python\n" if kind == "code" else "") + ANSWERS[kind] * (30_000 // len(ANSWERS[kind]))
    divider, rest, wholes = Divider(), "", []
    for place in range(0, len(words), 40):
        rest += words[place : place + 40]
        divided = divider.divide(rest)
        if divided.whole:
            wholes.append(divided.whole)
            rest = divided.rest
        assert len(rest) <= LONGEST + 80
    letters = "".join("".join([*wholes, rest]).split())
    if kind == "a numbered list":
        # Items that are all called 1 are counted.
        letters = re.sub(r"\d+", "1", letters)
    fences = letters.count("```")
    assert letters.replace("```python", "").replace("```", "") == "".join(words.split()).replace("```python", "")
    assert fences == (0 if kind != "code" else 2 * len(wholes) + 1) and len(wholes) > 3


def test_nothing_is_divided_that_may_still_become_something_else():
    divider = Divider()
    for words in (
        "",
        "one line",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```\ncode\n",
        "- one\n\n  still one",
        "> quote\n> more",
    ):
        assert divider.divide(words) == ("", words, False)
    assert divider.divide("one\n\ntwo") == ("one\n", "two", False)
    assert divider.divide("- one\n- two") == ("- one", "- two", True)


CODE = "\n".join(f"x = {number}" for number in range(35))
ODD_ENDINGS = {
    "a long block of code that ends at once": (f"```py\n{CODE}\n```\n", "Then **bold** words.\n"),
    "one long line of code": ('```json\n{"key": "' + "v" * 5_000, '"}\n```\n\nThen **bold** words.\n'),
    "code within an item": (f"1. item\n\n   ```py\n   {'y' * 5_000}\n", "   ```\n\nThen **bold** words.\n"),
}


@pytest.mark.parametrize("kind", ODD_ENDINGS)
def test_what_comes_after_code_is_no_code(monkeypatch, kind):
    def work(screen):
        for words in ODD_ENDINGS[kind]:
            screen.words(words)
            screen.live([])
        screen.end_words()

    assert "Then bold words." in seen(screened(monkeypatch, work, columns=100))


def test_tags_numbers_tables_and_references_are_shown_as_they_were_meant(monkeypatch):
    path = "src/bridle/surfaces/cli/really/long/path.py"

    def work(screen):
        for words in ("Vec<String> <b>x</b>\n\n", "1. one\n", "1. two\n", "1. three\n\n", "See [docs][1].\n\n"):
            screen.words(words)
            screen.live([])
        screen.words(f"[1]: http://example.org\n\n|a|b|\n|-|-|\n|{path}|{path}|\n")
        screen.end_words()

    shown = "\n".join(seen(screened(monkeypatch, work, columns=40)))
    assert "Vec<String> <b>x</b>" in shown and " 1 one\n 2 two\n 3 three" in shown
    assert "[1]: http://example.org" in shown and "".join(shown.split()).count("path.py") >= 1 and "…" not in shown


def test_what_is_drawn_is_taken_back_whole_when_the_terminal_has_become_narrower(monkeypatch):
    def work(screen):
        screen.live(["x" * 50, "y" * 10])
        screen._console.size = (30, 20)
        screen.live([])

    assert screened(monkeypatch, work).count("\x1b[1A\x1b[2K") == 2


@pytest.mark.parametrize(
    "said",
    [
        "42.",
        "42)",
        "-",
        "*",
        "+",
        "#",
        "##",
        ">",
        "> ",
        "1.\n2.\n3.",
        "- a\n-\n- b",
        "1. a\n2.\n3. c",
        "7. \n\nMore.",
        "```",
        "```python",
        "> 42.",
        "- 42.",
        "| a |\n|---|\n| b | lost |",
        "[](https://example.com/x)",
        "![picture](https://example.com/p.png)",
        '[a](https://example.com "a title")',
        "# \n\n1986. A great year.",
        "<b>bold</b> & &amp; <!-- a comment -->",
        "[note]: https://example.com/n",
    ],
)
def test_no_answer_loses_text_on_its_way_through_markdown(monkeypatch, said):
    def work(screen):
        for letter in said:
            screen.words(letter)
        screen.end_words()

    shown = "".join(seen(screened(monkeypatch, work)))
    wanted = re.findall(r"\w+|^\W+$", unescape(said))
    assert [word for word in wanted if re.sub(r"\s", "", word) not in re.sub(r"\s", "", shown)] == []


SUM = "--- a/shop.py\n+++ b/shop.py\n@@ -7,2 +7,2 @@\n def total(items):\n-    return 0\n+    return sum(items)\n"


@pytest.mark.parametrize("columns", [140, 100])
@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_change_that_is_asked_about_is_drawn_as_in_the_application(monkeypatch, columns, no_color):
    terminal = Tty()
    for name, value in {"COLUMNS": str(columns), "TERM": "xterm-256color", "NO_COLOR": no_color}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stderr", terminal)
    output.tell_change(SUM, "  ")
    lines = seen(terminal.getvalue())
    assert lines[0] == "  shop.py  +1 -1"
    if columns < 120:
        assert lines[1:] == ["  7   def total(items):", "  8 -     return 0", "  8 +     return sum(items)", ""]
    else:
        half = "8 -     return 0".ljust(68)
        assert lines[2:] == [f"  {half}│8 +     return sum(items)", ""]
    assert ("\x1b[3" in terminal.getvalue()) is not bool(no_color)


def test_a_change_that_is_asked_about_stays_a_patch_without_a_capable_terminal(capfd, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    output.tell_change(SUM, "  ")
    assert capfd.readouterr().err == "".join(f"  {each}\n" for each in SUM.splitlines())
