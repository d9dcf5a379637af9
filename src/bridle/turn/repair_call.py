"""Makes the recorded `Call` of a streamed tool call: with repaired arguments, or with the error for the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from bridle.core import repair
from bridle.core.parts import Call
from bridle.core.stream import ToolCall
from bridle.tools.tool import Tool


def call_part(
    id: str, event: ToolCall, tools: Mapping[str, Tool], *, offered: Collection[str] = (), cut: str = ""
) -> Call:
    """Return the part of a call; one that cannot be run carries its error and the names of the offered tools."""
    name = repair.tool_name(event.name, tools)
    # A call that was cut off is not mended: the rest of its arguments is missing.
    read = repair.read_arguments(event.arguments, _refuse if cut else _mend)
    if not isinstance(read, repair.Sound):
        wrong = cut or f"This call was not understood: {read.error}. {repair.available(offered)}"
        return Call(id, name or event.name, "{}", repair.call_digest(event.name, event.arguments, ()), invalid=wrong)
    text = (
        event.arguments if not read.note and event.arguments.strip() else msgspec.json.encode(read.arguments).decode()
    )
    if name is None:
        wrong = f"{_unknown(event.name, read.arguments)}. {repair.available(offered)}"
        return Call(id, event.name, text, repair.call_digest(event.name, read.arguments, ()), invalid=wrong)
    return _checked(Call(id, name, text, "", note=read.note), read.arguments, tools[name], offered)


def _checked(call: Call, arguments: repair.Arguments, tool: Tool, offered: Collection[str]) -> Call:
    """Return the call with arguments that fit its tool; valid arguments stay as the model wrote them."""
    try:
        tool.check(arguments)
    except msgspec.ValidationError:
        mended = repair.fitted(arguments, tool.spec.schema)
        try:
            tool.check(mended.arguments)
        except msgspec.ValidationError as error:
            wrong = f"The arguments do not fit {call.name}: {error}. {repair.available(offered)}"
            digest = repair.call_digest(call.name, arguments, tool.ignored_arguments)
            return msgspec.structs.replace(call, digest=digest, invalid=wrong)
        arguments = mended.arguments
        note = "; ".join(filter(None, (call.note, mended.note)))
        call = msgspec.structs.replace(call, arguments=msgspec.json.encode(arguments).decode(), note=note)
    return msgspec.structs.replace(call, digest=repair.call_digest(call.name, arguments, tool.ignored_arguments))


def _unknown(name: str, arguments: repair.Arguments) -> str:
    if name.casefold() == repair.INVALID and "error" in arguments:
        return f"The call of {arguments.get('tool', 'a tool')} was invalid: {arguments['error']}".rstrip(".")
    return f'There is no tool "{name}"'


def _refuse(text: str) -> Any:
    raise ValueError("cut")


def _mend(text: str) -> Any:
    # Imported only for a malformed call: most turns never need it.
    import json_repair

    return json_repair.loads(text)
