"""The whole story of a person in the terminal application, in tmux: on this machine, and attached to a real server."""

import shlex

import pytest
from support.cli_home import BRIDLE
from support.served_home import new_home
from support.terminal_story import set_up, tell_story
from support.tmux_terminal import Terminal


@pytest.fixture
def served():
    made = new_home()
    yield made
    made.end()


@pytest.mark.parametrize(("way", "columns", "lines"), [("here", 80, 24), ("attached", 140, 45)])
def test_the_whole_story_is_typed_and_read_back(served, way, columns, lines):
    set_up(served.home)
    command = [str(BRIDLE)]
    if way == "attached":
        served.serve()
        command.append("attach")
    terminal = Terminal(served.home, [shlex.join(command)], columns, lines)
    try:
        tell_story(terminal, served.home)
    finally:
        terminal.close()
