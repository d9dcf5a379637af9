"""The theme of the terminal application: by the terminal's background, as picked, and without colors."""

import os
import pty
import shlex
import threading
import time
import tty

import pytest
from support.cli_home import BRIDLE, Home
from support.tmux_terminal import Terminal
from support.tui_app import seated, told

from bridle.surfaces.tui.terminal_background import QUERY, is_light_terminal
from bridle.surfaces.tui.themes import COLORS


def asked(answer, **environment):
    """What is found out in a terminal that gives this answer."""
    ours, theirs = pty.openpty()
    tty.setraw(ours)
    heard = []

    def terminal():
        while len(b"".join(heard)) < len(QUERY):
            heard.append(os.read(ours, 64))
        os.write(ours, answer)

    answering = threading.Thread(target=terminal)
    answering.start()
    try:
        return is_light_terminal(environment, os.ttyname(theirs))
    finally:
        answering.join()
        os.close(ours)
        os.close(theirs)
        assert b"".join(heard) == QUERY


@pytest.mark.parametrize(
    ("answer", "is_light"),
    [
        (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;c", True),
        (b"\x1b]11;rgb:1e1e/1e1e/2e2e\x07\x1b[?62;c", False),
        (b"\x1b]11;rgb:f/f/f\x07\x1b[?62;c", True),
        (b"\x1b[?62;c", False),
        (b"", False),
    ],
)
def test_the_background_of_the_terminal_is_asked_for(answer, is_light):
    assert asked(answer) is is_light


@pytest.mark.parametrize(("colors", "is_light"), [("0;15", True), ("15;0", False), ("0;default;7", True), ("", False)])
def test_a_terminal_that_does_not_tell_may_have_colorfgbg(colors, is_light):
    assert asked(b"\x1b[?62;c", COLORFGBG=colors) is is_light
    assert is_light_terminal({"COLORFGBG": colors}, "/nowhere/tty") is is_light


def test_a_picked_theme_is_kept_until_the_setting_changes(tmp_path):
    async def story():
        async with seated(tmp_path) as seat:
            seat.app.begin_theme("auto", tmp_path)
            assert seat.app.theme == "dark"
            seat.app.theme = "nord"
        found = {}
        for setting in ("auto", "light", "gruvbox"):
            async with seated(tmp_path) as seat:
                seat.app.begin_theme(setting, tmp_path)
                found[setting] = seat.app.theme
        assert found == {"auto": "nord", "light": "light", "gruvbox": "gruvbox"}

    told(story)


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": "none", "setting": "auto"}'])
def test_a_damaged_pick_is_forgotten(tmp_path, content):
    (tmp_path / "theme.json").write_bytes(content)

    async def story():
        async with seated(tmp_path) as seat:
            seat.app.begin_theme("auto", tmp_path)
            assert seat.app.theme == "dark"

    told(story)


@pytest.mark.parametrize(("variable", "value", "kind"), [("NO_COLOR", "1", "none"), ("TERM", "xterm", "sixteen")])
def test_a_terminal_without_colors_gets_none_and_one_with_sixteen_no_others(tmp_path, variable, value, kind):
    (tmp_path / "home" / "project").mkdir(parents=True)
    home = Home(tmp_path / "home", tmp_path / "home" / "project")
    home.environment["BRIDLE_MODEL"] = home.script({"text": "Some **words** and `code`."})
    words = ["env", f"{variable}={value}", shlex.quote(str(BRIDLE))]
    terminal = Terminal(home, [" ".join(words)], 100, 30)
    try:
        terminal.until("Every turn here", "f1")
        terminal.press("hello", "Enter")
        terminal.until("Some words and code.", "answered")
        codes = terminal.colors()
    finally:
        terminal.close()
    assert {code for code in codes if len(code) > 1} == set()
    assert bool(codes) == (kind == "sixteen")


def test_a_theme_that_is_picked_in_the_terminal_is_there_at_the_next_start(tmp_path):
    (tmp_path / "home" / "project").mkdir(parents=True)
    home = Home(tmp_path / "home", tmp_path / "home" / "project")
    home.environment["BRIDLE_MODEL"] = home.script({"text": "Hello."})
    background = ("48", "2", *(str(part) for part in bytes.fromhex(COLORS["nord"].background[1:])))
    for start in (1, 2):
        terminal = Terminal(home, ["env", "COLORTERM=truecolor", str(BRIDLE)], 100, 30)
        try:
            terminal.until("Every turn here", "f1")
            if start == 1:
                assert background not in terminal.colors()
                terminal.press("C-p")
                terminal.until("Search for commands")
                terminal.press("theme", "Enter")
                terminal.until("Search for themes")
                terminal.press("nord", "Enter")
            until(lambda shown=terminal: background in shown.colors())
            terminal.press("C-c")
            terminal.gone()
        finally:
            terminal.close()


def until(seen, seconds=60.0):
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.05)
