"""Answers that must fit a JSON schema: how the model is asked for one, and whether what it gave is one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from bridle.core.repair import result_digest
from bridle.core.states import Done, Refusal, Refused
from bridle.core.stream import ToolSpec
from bridle.errors import ConfigError

OUTPUT = "structured_output"
INSTRUCTION = f"When you are done, give the answer by calling `{OUTPUT}` once. Plain words are not read."
REMINDER = f"Your answer is missing: give it by calling `{OUTPUT}` with what it asks for, now."
MOST_PROBLEMS = 5
FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


class Wanted:
    """A schema, as a call that is captured and never run; one that is no object is asked for as a value in one."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self._wrapped = schema.get("type") != "object"

    def check(self) -> None:
        """Raise `ConfigError` if it is no schema."""
        # Loaded where an answer has a schema: most have none.
        import jsonschema

        try:
            jsonschema.validators.validator_for(self._schema).check_schema(self._schema)
        except jsonschema.SchemaError as error:
            raise ConfigError(f"this is no JSON schema: {error.message}") from error

    @cached_property
    def spec(self) -> ToolSpec:
        asked: dict[str, Any] = dict(self._schema)
        if self._wrapped:
            asked = {"type": "object", "properties": {"value": asked}, "required": ["value"]}
        return ToolSpec(OUTPUT, "Gives the answer, and ends the work.", asked)

    def captured(self, arguments: str) -> Done | Refused:
        """What becomes of a call that gives the answer."""
        try:
            given = msgspec.json.decode(arguments or "{}")
        except msgspec.MsgspecError as error:
            return Refused(Refusal("invalid"), f"this is no JSON: {error}")
        problems = self._problems(given["value"] if self._wrapped and self._has_value(given) else given)
        if problems:
            return Refused(Refusal("invalid"), "the answer does not fit: " + "; ".join(problems))
        value = given["value"] if self._wrapped and self._has_value(given) else given
        text = msgspec.json.encode(value).decode()
        return Done(text, result_digest(text), answers=True)

    def found_in(self, text: str) -> str:
        """The arguments of the call that a model should have made, if its words are the answer; empty if not."""
        fenced = FENCE.match(text)
        bare = (fenced[1] if fenced else text).strip()
        try:
            given = msgspec.json.decode(bare)
        except msgspec.MsgspecError:
            return ""
        if self._problems(given):
            return ""
        return msgspec.json.encode({"value": given} if self._wrapped else given).decode()

    @staticmethod
    def _has_value(given: Any) -> bool:
        return isinstance(given, dict) and set(given) == {"value"}

    def _problems(self, given: Any) -> list[str]:
        import jsonschema
        from referencing.exceptions import Unresolvable

        kind = jsonschema.validators.validator_for(self._schema)
        try:
            found = sorted(kind(self._schema).iter_errors(given), key=lambda error: list(map(str, error.path)))
        except (Unresolvable, RecursionError) as error:
            return [f"it cannot be checked: {error}"]
        return [f"{error.json_path}: {error.message[:200]}" for error in found[:MOST_PROBLEMS]]
