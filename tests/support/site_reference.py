"""Pages of the site that are made from code: commands, settings, events and errors."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from bridle import errors
from bridle.surfaces.cli.index import INDEX, load
from support.paths import ROOT

Json = Mapping[str, Any]
HEADS = ("key", "type", "default", "meaning")
EXAMPLES = re.compile(r"^Examples?:", re.MULTILINE)
NEVER_SHOWN = ("help", "install_completion", "show_completion")


def commands_page() -> str:
    """Return the page of all commands, by the sections of `bridle --help`."""
    lines = ["# Commands", "", "Made from the commands themselves. `bridle COMMAND --help` prints the same.", ""]
    for section, commands in INDEX.items():
        lines += [f"## {section}", ""]
        for name, command in commands.items():
            lines += _command(f"bridle {name}", _clicked(load(name)), command.help)
    return "\n".join(lines)


def _clicked(loaded: Any) -> Any:
    """Return the command in the form that has its parameters."""
    if isinstance(loaded, typer.Typer):
        return typer.main.get_command(loaded)
    app = typer.Typer(add_completion=False)
    app.command()(loaded)
    return typer.main.get_command(app)


def _command(words: str, command: Any, help: str) -> Iterator[str]:
    yield from (f"### {words}", "", help, "")
    whole = inspect.cleandoc(command.help or "")
    told, *example = EXAMPLES.split(whole, maxsplit=1)
    yield from (told.partition("\n")[2].strip(), "")
    if example:
        # Several stand in one line.
        yield from ("```sh", *re.split(r";\s+", example[0].strip()), "```", "")
    yield from _parameters(command)
    inner: Mapping[str, Any] = getattr(command, "commands", {})
    for name, each in inner.items():
        yield from _command(f"{words} {name}", each, inspect.cleandoc(each.help or "").partition("\n")[0])


def _parameters(command: Any) -> Iterator[str]:
    rows = [
        _row(each) for each in command.params if each.name not in NEVER_SHOWN and not getattr(each, "hidden", False)
    ]
    if rows:
        yield from ("| word | meaning |", "| --- | --- |", *rows, "")


def _row(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.param_type_name == "argument":
        names = f"`{(parameter.name or '').upper()}`"
    return f"| {names} | {cell(getattr(parameter, 'help', '') or '')} |"


def settings_page() -> str:
    """Return the page of all settings, from their schema."""
    schema = json.loads((ROOT / "docs" / "bridle.schema.json").read_text())
    lines = [
        "# All settings",
        "",
        "Made from [the schema](bridle.schema.json). [Settings](settings.md) explains them.",
        "",
    ]
    for name, definition in schema["$defs"].items():
        title = "Top level" if name == "Settings" else name.removesuffix("Settings")
        lines += [f"## {title}", "", *_fields(definition)]
    return "\n".join(lines)


def events_page() -> str:
    """Return the page of the public events, from their schema."""
    schema = json.loads((ROOT / "docs" / "json-lines.schema.json").read_text())
    lines = [
        "# All events",
        "",
        "Made from [the schema](json-lines.schema.json). [JSON lines](json.md) explains them.",
        "",
    ]
    for definition in schema["$defs"].values():
        kinds = definition.get("properties", {}).get("type", {}).get("enum", [])
        lines += [f"## {kinds[0] if kinds else definition['title']}", "", *_fields(definition)]
    return "\n".join(lines)


def errors_page() -> str:
    """Return the page of the exceptions, from their module."""
    lines = ["# Errors", "", "Every exception of Bridle, made from `bridle.errors`.", ""]
    for name, value in vars(errors).items():
        if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == errors.__name__:
            parent = value.__bases__[0].__name__
            lines += [f"## {name}", "", f"A kind of `{parent}`.", "", inspect.getdoc(value) or "", ""]
    return "\n".join(lines)


def _fields(definition: Json) -> Iterator[str]:
    if text := definition.get("description", ""):
        yield from (text, "")
    needed = definition.get("required", ())
    rows = [
        [
            f"`{key}`",
            kind(value),
            "required" if key in needed else written(value.get("default")),
            value.get("description", ""),
        ]
        for key, value in definition.get("properties", {}).items()
    ]
    # Only columns that say something.
    heads = [head for number, head in enumerate(HEADS) if any(row[number] for row in rows)]
    yield from (f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |")
    for row in rows:
        yield f"| {' | '.join(cell(text) for head, text in zip(HEADS, row, strict=True) if head in heads)} |"
    yield ""


def written(default: object) -> str:
    """Return a default as it is written in a file; that of a whole table follows from its own keys."""
    if default in (None, "", [], {}) or isinstance(default, dict):
        return ""
    return f"`{json.dumps(default, ensure_ascii=False)}`"


def kind(value: Json) -> str:
    """Return the type of a schema in words."""
    if "$ref" in value:
        name = str(value["$ref"]).rpartition("/")[2].removesuffix("Settings")
        return f"[{name}](#{name.lower()})"
    if "enum" in value:
        return ", ".join(f"`{json.dumps(each)}`" for each in value["enum"])
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(kind(each) for each in value["anyOf"]))
    if value.get("type") == "array":
        return f"list of {kind(value.get('items') or {})}"
    if value.get("type") == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"table of {kind(value['additionalProperties'])}"
    return str(value.get("type", "any"))


def cell(text: str) -> str:
    """Return a text that fits into a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
