"""`plain_lines`, `plain_sections`, `plain_toml`: copy given keys of a settings file without logins or secrets."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from bridle.values.secrets import without_logins

_COMMENT = re.compile(r"\s[#;][^@]*$")


def plain_value(text: str) -> str | None:
    """Return a value without logins and without a comment; None if something secret may remain."""
    return without_logins(_COMMENT.sub("", text).rstrip())


def plain_lines(text: str, keys: str) -> str:
    """Return the lines with these keys, and the items (`- x`) below them; other indented lines are dropped."""
    found: list[str] = []
    heading: str | None = None
    for line in text.splitlines():
        is_item = line.lstrip().startswith("- ")
        key = r"\s*-\s+" if is_item else rf"({keys})(\s*[=:]\s*|\s+|$)"
        match = re.fullmatch(rf"(?P<key>{key})(?P<value>.*)", line)
        if not line.strip() or line.lstrip()[0] in "#;" or (is_item and heading is None):
            continue
        value = plain_value(match["value"]) if match is not None else None
        if match is None or value is None:
            heading = heading if is_item else None
        elif is_item:
            # A key whose items are all dropped is not written: programs would read an empty list.
            found += [*([heading] if heading else []), match["key"] + value]
            heading = ""
        else:
            heading = line.rstrip() if not value else None
            found += [match["key"] + value] if value else []
    return "".join(f"{line}\n" for line in found)


def plain_sections(text: str, keys: str) -> str:
    """Return pip's settings with these keys, parsed as pip does, with all lines of a list; empty if invalid."""
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error:
        return ""
    found: list[str] = []
    for section in parser.sections():
        kept: list[str] = []
        for name, value in parser.items(section):
            lines = [plain_value(line) for line in value.split("\n")] if re.fullmatch(keys, name) else []
            plain = [line for line in lines if line]
            if plain and "\n" in value:
                kept += [f"{name} =", *(f"    {line}" for line in plain)]
            elif plain:
                kept.append(f"{name} = {plain[0]}")
        found += [f"[{section}]", *kept] if kept and re.fullmatch(r"[\w-]+", section) else []
    return "".join(f"{line}\n" for line in found)


def plain_toml(text: str, tables: str, keys: str) -> str:
    """Return the settings with these keys, at the top level and in these tables; empty if the file is invalid."""
    try:
        given = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    chosen = {name: value for name, value in given.items() if re.fullmatch(f"{tables}|{keys}", name)}
    return "".join(f"{_key(name)} = {_written(value)}\n" for name, value in _plain_table(chosen, keys).items())


def _plain_table(table: Mapping[str, Any], keys: str) -> dict[str, Any]:
    found = {name: _plain(name, value, keys) for name, value in table.items() if without_logins(name) == name}
    return {name: value for name, value in found.items() if value not in (None, [], {})}


def _plain(name: str, value: Any, keys: str) -> Any:
    """Return the part of a value to keep; None, an empty list or an empty table if there is none."""
    if isinstance(value, dict):
        return _plain_table(value, keys)
    if isinstance(value, list) and all(isinstance(each, dict) for each in value):
        tables = [(each, _plain_table(each, keys)) for each in value]
        # An index without its address is useless.
        return [kept for each, kept in tables if all(key in kept for key in each if re.fullmatch(keys, key))]
    if not re.fullmatch(keys, name):
        return None
    if isinstance(value, list):
        kept = [_plain(name, each, keys) for each in value]
        is_places = re.search("url|links", name)
        return [each for each in kept if each is not None] if is_places or None not in kept else None
    if isinstance(value, str):
        return without_logins(value)
    return value if isinstance(value, bool | int) else None


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_written(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
