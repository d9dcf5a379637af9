"""Inputs made from inputs: bytes, words, lines and JSON values are changed, moved, doubled and exchanged."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

LONGEST = 20_000
ODD = (
    *(b"", b"\0", b"\n", b"\r\n", b"\r", b"\t", b"\x1b[2J", b"\x9b", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf"),
    *("\u202e".encode(), "\u2028".encode(), "e\u0301".encode(), "\U0001f600".encode(), "\u00a0".encode()),
    *(b"\\ud800", b"\\u0000", b"-1", b"0", b"1e400", b"9" * 30, b"null", b"true", b"[]", b"{}", b'""', b"[" * 200),
)
VALUES = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308),
    *("", "a", "\0", "\ud800", "\u202e", "\x1b[31m", "../x", "1", "null", "\n", "x" * 300),
    *([], {}, [[]], {"": ""}, [None], [{}]),
)


def mutated(random: Random, data: bytes, others: Sequence[bytes], words: Sequence[bytes], *, structured: bool) -> bytes:
    """The input after one to eight changes; one that is structured mostly stays JSON."""
    only_values = structured and random.random() < 0.9
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        kind = random.randrange(10)
        if only_values:
            data = _json(random, data, words) if kind else _lines(random, data)
        elif kind < 3:
            data = _bytes(random, data)
        elif kind < 5:
            data = _word(random, data, words)
        elif kind < 7:
            data = _lines(random, data)
        elif kind < 9:
            data = _json(random, data, words)
        else:
            data = _spliced(random, data, random.choice(others))
    return data[:LONGEST]


def _span(random: Random, size: int) -> tuple[int, int]:
    start = random.randint(0, size)
    return start, min(size, start + random.choice((0, 1, 1, 2, 4, 8, 30, 200)))


def _bytes(random: Random, data: bytes) -> bytes:
    start, end = _span(random, len(data))
    match random.randrange(4):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + bytes([random.randrange(256)]) + data[end:]
        case 2:
            return data[:end] + data[start:end] * random.choice((1, 2, 50)) + data[end:]
    target, _ = _span(random, len(data))
    return data[:target] + data[start:end] + data[target:]


def _word(random: Random, data: bytes, words: Sequence[bytes]) -> bytes:
    start, end = _span(random, len(data))
    return data[:start] + random.choice((*words, *ODD) if random.random() < 0.5 else words or ODD) + data[end:]


def _lines(random: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(other, lines[place])
        case 2:
            lines[place], lines[other] = lines[other], lines[place]
        case 3:
            lines[place] = lines[place][: random.randint(0, len(lines[place]))]
    return b"\n".join(lines)


def _spliced(random: Random, data: bytes, other: bytes) -> bytes:
    return data[: random.randint(0, len(data))] + other[random.randint(0, len(other)) :]


def _json(random: Random, data: bytes, words: Sequence[bytes]) -> bytes:
    """One value changed in a JSON text that is the whole input, or stands in one of its lines behind any words."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    for before, text, after in (([], data, []), (lines[:place], lines[place], lines[place + 1 :])):
        opening = min((at for at in (text.find(b"{"), text.find(b"[")) if at >= 0), default=-1)
        try:
            value = json.loads(text[opening:]) if opening >= 0 else None
        except (ValueError, RecursionError):
            continue
        if value is not None:
            written = json.dumps(_changed(random, value, words)).encode()
            return b"\n".join([*before, text[:opening] + written, *after])
    return _bytes(random, data)


def _changed(random: Random, value: Any, words: Sequence[bytes]) -> Any:
    """The value with one of those inside of it changed, each as likely as the others of its level."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        return _changed_table(random, value, words)
    if isinstance(value, list) and value and random.random() < 0.85:
        place = random.randrange(len(value))
        if random.random() < 0.8:
            return [*value[:place], _changed(random, value[place], words), *value[place + 1 :]]
        moved = random.choice(value)
        return random.choice(([*value[:place], *value[place + 1 :]], [*value[:place], moved, *value[place:]]))
    if isinstance(value, str) and random.random() < 0.3:
        return value[: random.randint(0, len(value))]
    if words and random.random() < 0.3:
        return random.choice(words).decode("utf-8", "replace")
    return random.choice(VALUES)


def _changed_table(random: Random, table: dict[str, Any], words: Sequence[bytes]) -> dict[str, Any]:
    key = random.choice(list(table))
    draw = random.random()
    if draw < 0.75:
        return {**table, key: _changed(random, table[key], words)}
    if draw < 0.85:
        return {name: value for name, value in table.items() if name != key}
    if draw < 0.95:
        return {**table, key: table[random.choice(list(table))]}
    return {**table, random.choice((*words, b"x")).decode("utf-8", "replace"): table[key]}
