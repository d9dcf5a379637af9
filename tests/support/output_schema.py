"""A schema for answers, with one that fits."""

from bridle import call

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


GOOD = {"name": "Rocinante", "age": 12}


GIVEN = call("structured_output", **GOOD)
