"""Flags of commands that come from the table of limits."""

import re

from typer.testing import CliRunner

from bridle.core.limits import ROWS
from bridle.surfaces.cli.main import app


def flags(command):
    """The flags that the help of a command shows, in its order, each with its words."""
    shown = CliRunner().invoke(app, [command, "--help"])
    assert shown.exit_code == 0
    unwrapped = re.sub(r"\n {10,}", " ", shown.stdout)
    return re.findall(r"^  (--[a-z-]+) .*?  +(\S.*)$", unwrapped, re.M)


def test_a_run_has_a_flag_for_every_limit_behind_the_variant():
    shown = flags("run")
    place = [flag for flag, _ in shown].index("--variant") + 1
    assert shown[place : place + 5] == [
        ("--steps", "Limit on steps; the last one answers without tools. 0 disables tools."),
        ("--max-tool-calls", "Limit on tool calls."),
        ("--max-tokens", "Limit on tokens."),
        ("--max-cost", "Limit on US dollars."),
        ("--max-seconds", "Limit on seconds."),
    ]


def test_every_limit_of_a_turn_can_be_extended():
    assert flags("extend")[:5] == [
        ("--steps", "More steps."),
        ("--tool-calls", "More tool calls."),
        ("--tokens", "More tokens."),
        ("--cost", "More US dollars."),
        ("--seconds", "More seconds."),
    ]


def test_no_row_of_the_table_is_left_out():
    names = [row.name.replace("_", "-") for row in ROWS]
    run, extend = ([flag for flag, _ in flags(command)] for command in ("run", "extend"))
    assert extend == [*(f"--{name}" for name in names), "--help"]
    assert [name for name in names if not {f"--{name}", f"--max-{name}"} & {*run}] == []
