"""Recovers native tool calls that a server left unparsed in a reply's text, if the text has nothing else."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from bridle.model.prompted_tools import ARGUMENT_KEYS, NAME_KEYS, objects, unfenced

WRAPPERS = re.compile(
    r"</?tool_calls?>|</?function_calls?>|\[/?TOOL_CALLS\]|<\|/?(?:python_tag|tool_calls?)\|>|functools"
)
FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(.*?)\s*</function>", re.DOTALL)
PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
LIST_MARKS = "[], \n\r\t"


def written_calls(text: str, offered: Collection[str]) -> list[tuple[str, str]]:
    """Return the calls of a text that consists only of calls of offered tools; empty for any other text."""
    if "{" not in text and "<function=" not in text:
        return []
    source = FUNCTION.sub(_as_object, unfenced(WRAPPERS.sub(" ", text)))
    names = {name.casefold() for name in offered}
    calls: list[tuple[str, str]] = []
    at = 0
    for start, end, value in objects(source):
        found = _call(value, names)
        if found is None or source[at:start].strip(LIST_MARKS):
            return []
        calls.append(found)
        at = end
    return [] if source[at:].strip(LIST_MARKS) else calls


def _as_object(found: re.Match[str]) -> str:
    """Convert `<function=NAME>…</function>` to the JSON object that most models write."""
    given = dict(PARAMETER.findall(found[2]))
    arguments = msgspec.json.encode(given).decode() if given else found[2] or "{}"
    return f'{{"name": "{found[1]}", "arguments": {arguments}}}'


def _call(value: Mapping[str, Any], names: Collection[str]) -> tuple[str, str] | None:
    """Return a call if an object has both name and arguments: a JSON answer may have just a name."""
    inner = value.get("function")
    if isinstance(inner, dict):
        return _call(inner, names)
    name = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), "")
    arguments = next((value[key] for key in ARGUMENT_KEYS if isinstance(value.get(key), (dict, str))), None)
    if name.casefold() not in names or arguments is None:
        return None
    return name, arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
