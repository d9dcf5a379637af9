"""The manual page: it says what the commands say, and is well-formed."""

import re

from support.manual import PAGE, page

from bridle.surfaces.cli.index import COMMANDS

MACROS = {".TH", ".SH", ".SS", ".TP", ".PP", '.\\"'}


def test_the_manual_page_says_what_the_commands_say():
    """Written by `scripts/manual`."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_command_has_its_section_and_nothing_is_taken_for_a_macro():
    lines = page().splitlines()
    assert {line.split(" ")[0] for line in lines if line[:1] in (".", "'")} == MACROS
    assert set(COMMANDS) <= {found[1] for line in lines if (found := re.match(r"\.SS bridle (\w+)", line))}
    assert ".SS bridle sessions rename [OPTIONS] [session] [title]" in lines
    assert not re.search(r"[^\\]-", "\n".join(line for line in lines if line.startswith("\\fB")))
