"""A call as it came from the stream becomes a part that can be judged and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.core.parts import Call
from bridle.core.repair import Sound, available, call_digest, read_arguments, tool_name
from bridle.core.stream import ToolCall
from bridle.tools.tool import Tool


def call_part(id: str, event: ToolCall, tools: Mapping[str, Tool], *, cut: str = "") -> Call:
    """The part of a call; one that cannot be run carries what is wrong with it."""
    name = tool_name(event.name, tools)
    if cut and not isinstance(read_arguments(event.arguments, _refuse), Sound):
        return Call(id, name or event.name, "{}", call_digest(event.name, event.arguments, ()), invalid=cut)
    read = read_arguments(event.arguments, _mend)
    if not isinstance(read, Sound):
        wrong = f"This call was not understood: {read.error}. {available(tools)}"
        return Call(id, name or event.name, "{}", call_digest(event.name, event.arguments, ()), invalid=wrong)
    text = (
        event.arguments if not read.note and event.arguments.strip() else msgspec.json.encode(read.arguments).decode()
    )
    if name is None:
        wrong = f'There is no tool "{event.name}". {available(tools)}'
        return Call(id, event.name, text, call_digest(event.name, read.arguments, ()), invalid=wrong)
    digest = call_digest(name, read.arguments, tools[name].ignored_arguments)
    invalid = ""
    try:
        tools[name].check(read.arguments)
    except msgspec.ValidationError as error:
        invalid = f"The arguments do not fit {name}: {error}. {available(tools)}"
    return Call(id, name, text, digest, note=read.note, invalid=invalid)


def _refuse(text: str) -> Any:
    raise ValueError("cut")


def _mend(text: str) -> Any:
    # Loaded only when a call is broken: most turns never need it.
    import json_repair

    return json_repair.loads(text)
