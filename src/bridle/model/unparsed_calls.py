"""Finds tool calls that a model wrote as text, in replies that consist of nothing else; a shown call is no call."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

MOST_TRIES = 100
"""Maximum number of braces that begin no object; a text with more contains no call."""
NAME_KEYS = ("tool", "name", "function")
ARGUMENT_KEYS = ("arguments", "parameters", "input", "args")
MARKS = re.compile(
    r"</?tool_calls?>|</?function_calls?>|</?tools>|\[/?TOOL_CALLS\]|<\|/?(?:python_tag|tool_calls?)\|>|functools"
    r"|```\w*|[\[\],\s]"
)
"""All that may stand around calls: marks of models, code fences, lists and space."""
NAMED = re.compile(r"([\w.-]+)\[ARGS\]\s*\Z")
FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*</function>", re.DOTALL)
PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def written_calls(text: str, offered: Collection[str]) -> list[tuple[str, str]]:
    """Return the calls of a text that consists only of calls of offered tools; empty for any other text."""
    names = {name.casefold() for name in offered}
    calls = [called(value, names) for value in only_objects(text)]
    found = [call for call in calls if call is not None]
    return found if len(found) == len(calls) else []


def only_objects(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a text that consists only of objects and marks; empty for any other text."""
    if "{" not in text and "<function=" not in text:
        return []
    source = FUNCTION.sub(_as_object, text) if "<function=" in text[: text.find("{")] or "{" not in text else text
    found: list[dict[str, Any]] = []
    at = 0
    for start, end, value in objects(source):
        between = source[at:start]
        named = NAMED.search(between)
        if MARKS.sub("", between[: named.start()] if named is not None else between):
            return []
        listed = value.get("tool_calls")
        if named is not None:
            found.append({"name": named[1], "arguments": value})
        elif isinstance(listed, list) and all(isinstance(item, dict) for item in listed):
            found += listed
        else:
            found.append(value)
        at = end
    return [] if MARKS.sub("", source[at:]) else found


def objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield start, end and value of every top-level JSON object in a text."""
    decoder = json.JSONDecoder(strict=False)
    at = failed = 0
    while (start := text.find("{", at)) >= 0 and failed < MOST_TRIES:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            failed += 1
            continue
        if isinstance(value, dict):
            yield start, end, value
        at = end


def _as_object(found: re.Match[str]) -> str:
    """Convert `<function=NAME>…</function>` to the JSON object that most models write."""
    given = dict(PARAMETER.findall(found[2]))
    arguments = msgspec.json.encode(given).decode() if given else found[2] or "{}"
    return f'{{"name": "{found[1]}", "arguments": {arguments}}}'


def called(value: Mapping[str, Any], names: Collection[str]) -> tuple[str, str] | None:
    """Return a call if an object has both the name of a tool and arguments: a JSON answer may have just a name."""
    inner = value.get("function")
    if isinstance(inner, dict):
        return called(inner, names)
    name = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), "")
    arguments = next((value[key] for key in ARGUMENT_KEYS if isinstance(value.get(key), (dict, str))), None)
    if name.casefold() not in names or arguments is None or _is_schema(arguments):
        return None
    return name, arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _is_schema(arguments: dict[str, Any] | str) -> bool:
    """Return whether these are no arguments, but the declaration of a tool's parameters."""
    return isinstance(arguments, dict) and arguments.get("type") == "object" and "properties" in arguments
