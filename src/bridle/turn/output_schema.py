"""`OutputSchema`: the JSON schema of a turn's answer; offered as a tool call, found in the reply, validated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from bridle.core.context import estimate_tokens
from bridle.core.parts import OUTPUT as OUTPUT
from bridle.core.repair import result_digest
from bridle.core.states import Done, Refusal, Refused
from bridle.core.stream import ToolSpec
from bridle.errors import ConfigError

INSTRUCTION = f"When you are done, give the answer by calling `{OUTPUT}` once. Plain words are not read."
REMINDER = f"Your answer is missing: give it by calling `{OUTPUT}` with what it asks for, now."
CLOSING = f"One call still counts: give the answer by calling `{OUTPUT}` now. Plain words are not read."
MOST_PROBLEMS = 5
UNCHECKED = "it cannot be checked"
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


class OutputSchema:
    """A schema, offered as a tool call that is captured and never run; a non-object is wrapped in an object."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self._wrapped = schema.get("type") != "object" and "properties" not in schema

    def check(self) -> None:
        """Raise `ConfigError` if it is not a valid schema."""
        # Imported only for an answer with a schema: most have none.
        import jsonschema

        try:
            jsonschema.validators.validator_for(self._schema).check_schema(self._schema)
            elsewhere = [name for name in _references(self._schema) if not name.startswith("#")]
            self._problems({})
        except jsonschema.SchemaError as error:
            raise ConfigError(f"this is not a valid JSON schema: {error.message}") from error
        except (TypeError, ValueError, RecursionError, AttributeError) as error:
            raise ConfigError(f"this is not a valid JSON schema, or too deep: {error}") from error
        if elsewhere:
            raise ConfigError(f"this schema refers to something outside of it, which is not fetched: {elsewhere[0]}")

    @property
    def tokens(self) -> int:
        """Estimated tokens that it adds to every request."""
        return estimate_tokens(len(msgspec.json.encode(self._schema)))

    @cached_property
    def spec(self) -> ToolSpec:
        asked: dict[str, Any] = dict(self._schema)
        if self._wrapped:
            apart: dict[str, Any] = {key: asked.pop(key) for key in ("$defs", "definitions") if key in asked}
            asked = {"type": "object", "properties": {"value": asked}, "required": ["value"], **apart}
        return ToolSpec(OUTPUT, "Gives the answer, and ends the work.", asked)

    def captured(self, arguments: str) -> Done | Refused:
        """Return the new state of a call that gives the answer."""
        try:
            given = msgspec.json.decode(arguments or "{}")
            wrapped = self._wrapped and isinstance(given, dict) and set(given) == {"value"}
            value = given["value"] if wrapped else given
            problems = self._problems(value)
            text = msgspec.json.encode(value).decode()
        except (msgspec.MsgspecError, RecursionError) as error:
            return Refused(Refusal("invalid"), f"this is no JSON, or too deep: {error}")
        if problems:
            return Refused(Refusal("invalid"), "the answer does not fit: " + "; ".join(problems))
        return Done(text, result_digest(text), answers=True)

    def growing(self, arguments: str) -> Any:
        """Return the answer in the arguments of a call that are not complete yet; None if none of it is there."""
        # Imported only for streamed answers.
        from json_repair import loads

        given = loads(arguments)
        if not isinstance(given, dict):
            return None
        return given.get("value") if self._wrapped else given

    def found_in(self, text: str) -> str:
        """Return the arguments for the call that the model should have made, if its text is the answer; else empty."""
        fenced = FENCE.match(text)
        bare = (fenced[1] if fenced else text).strip()
        try:
            given = msgspec.json.decode(bare)
            if self._problems(given):
                return ""
        except (msgspec.MsgspecError, RecursionError):
            return ""
        return msgspec.json.encode({"value": given} if self._wrapped else given).decode()

    def _problems(self, given: Any) -> list[str]:
        import jsonschema
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        kind = jsonschema.validators.validator_for(self._schema)
        try:
            # Without any way to fetch references: a schema may name addresses and files.
            made = kind(self._schema, registry=Registry())
            found = sorted(made.iter_errors(given), key=lambda error: list(map(str, error.path)))
        except Unresolvable as error:
            return [f"{UNCHECKED}: {error}"]
        return [f"{error.json_path}: {error.message[:200]}" for error in found[:MOST_PROBLEMS]]


def _references(schema: Any) -> Iterator[str]:
    """Yield every reference in a schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key in ("$ref", "$dynamicRef") and isinstance(value, str):
                yield value
            yield from _references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _references(value)
