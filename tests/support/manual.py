"""The manual page `bridle(1)`, made of what the command itself says; `scripts/manual` writes it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from bridle.surfaces.cli.index import INDEX
from bridle.surfaces.cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "manual" / "share" / "man" / "man1" / "bridle.1"
"""The wheel has this folder as its data, so that an installation finds the page beside its programs."""
HEAD = '.\\" Written by scripts/manual.\n.TH BRIDLE 1 "" "Bridle" "User Commands"\n'
STATUS = (
    ("0", "answered"),
    ("1", "failed"),
    ("2", "wrong usage"),
    ("3", "a limit was reached"),
    ("4", "a permission was denied"),
    ("5", "waits for an answer"),
    ("130", "aborted"),
)
FILES = (
    ("~/.config/bridle/config.toml", "your settings"),
    ("bridle.toml", "settings of a project, which have an effect once the project is trusted"),
    ("~/.local/share/bridle/journal.db", "the sessions"),
)


def text(words: str) -> str:
    """Return plain text as roff."""
    found = words.replace("\\", "\\\\").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in found.split("\n"))


def item(head: str, words: str) -> str:
    return f".TP\n\\fB{text(head)}\\fR\n{text(words)}"


def paragraphs(words: str) -> Iterator[str]:
    """Yield the paragraphs of a help text; each example stands on a line of its own."""
    for number, each in enumerate(words.strip().split("\n\n")):
        yield from (".PP",) if number else ()
        yield text(" ".join(each.split()))


def described(command: Any, name: str) -> Iterator[str]:
    """Yield the section of a command, and those of its subcommands."""
    context = typer.Context(command, info_name=name, resilient_parsing=True)
    usage = command.collect_usage_pieces(context)
    yield f".SS {text(' '.join([name, *usage]))}"
    yield from paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            yield item(record[0], " ".join(record[1].split()))
    for below in getattr(command, "commands", {}).values():
        yield from described(below, f"{name} {below.name}")


def page() -> str:
    """Return the page as it should be."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="bridle", resilient_parsing=True)
    first, *rest = paragraphs(group.help or "")
    lines = [".SH NAME", f"bridle \\- {first}", ".SH SYNOPSIS"]
    lines += [item("bridle", "[DIR] [-c | -s ID] [-m MODEL] [--agent A] [--prompt TEXT] [--attach URL]")]
    lines += [item("bridle COMMAND", "[ARGUMENT] ..."), ".SH DESCRIPTION", *(rest[1:] if rest[:1] == [".PP"] else rest)]
    lines.append(".SH OPTIONS")
    for parameter in group.get_params(context):
        record = parameter.get_help_record(context)
        lines += [item(record[0], " ".join(record[1].split()))] if record is not None else []
    for title, section in INDEX.items():
        lines.append(f".SH {text(title.upper())}")
        for name in section:
            lines += described(group.get_command(context, name), f"bridle {name}")
    lines += [".SH EXIT STATUS", *(item(*each) for each in STATUS)]
    lines += [".SH FILES", *(item(*each) for each in FILES)]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Write it."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT).as_posix(), file=sys.stderr)


if __name__ == "__main__":
    main()
