"""The text that a model wrote as the arguments of a call."""

import json

import json_repair
import msgspec

from bridle.core.repair import Sound, read_arguments
from fuzz.target import Target


def strictly(text: str) -> object:
    """What the text says to Python's own reader; None if that is no JSON, or holds what no other reader would take."""

    def refused(word: str) -> None:
        raise ValueError(f"{word} is no JSON")

    try:
        value = json.loads(text, parse_constant=refused)
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return value


def never(text: str) -> object:
    raise AssertionError("the repairer was asked about what is JSON")


def check(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    known = strictly(text)
    if isinstance(known, dict):
        assert read_arguments(text, never) == Sound(known)
    read = read_arguments(text, json_repair.loads)
    if isinstance(read, Sound):
        assert msgspec.json.decode(msgspec.json.encode(read.arguments)) == read.arguments, "it cannot be recorded"
        assert bool(read.note) or not text.strip() or msgspec.json.decode(text) is not None
    else:
        assert "\n" not in read.error.partition("(")[0] and read.error.startswith("the arguments ")


SEEDS = (
    b'{"filePath": "src/a.py", "offset": 3, "deep": {"list": [1, 2.5, null, true, "\\u00e9\\n"]}}',
    b"```json\n{'filePath': 'a', limit: 3,}\n```",
    b'"{\\"filePath\\": \\"a\\"}"',
    b'{"command": "echo \\"a\nb\\"", "x": [1, 2',
    b'{"a": "\\ud83d\\ude00", "b": "\\ud83d"}',
)
WORDS = (b"```json\n", b"\n```", b"{", b"}", b"[", b"]", b'"', b'\\"', b"'", b",", b":", b"//", b"/*", b"NaN", b"None")
WORDS = (*WORDS, b"\\ud83d", b"\\u", b"True", b"Infinity", b"1e5", b"-", b"\\\\", b'"""')
TARGETS = (
    Target(
        "arguments",
        "What is JSON is read as it stands and never repaired; all else becomes an object that can be recorded, or a "
        "refusal in words.",
        check,
        SEEDS,
        WORDS,
        400,
    ),
)
