"""Faults of streams and of what they hold: odd shapes, odd replies, odd numbers, errors inside."""

import json
from collections.abc import Callable
from typing import Any

from bridle.testing.scripted import Reply, ScriptedCall
from support.fault_cells import (
    DONE,
    FAILED,
    RETRIED,
    WORK,
    Cells,
    Make,
    Outcome,
    adder,
    part,
    problem,
    replies,
    said,
    then_sound,
)
from support.wire_faults import Answer, events
from support.wires import KEY

CELLS: Cells = {}
cell = adder(CELLS)

# The shape of the stream: whatever the standard allows is read the same.
for name, change in {
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "CRLF and LF by turns": lambda data: data.replace(b"\n\n", b"\r\n\n"),
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "no blank after the colon": lambda data: data.replace(b"data: ", b"data:"),
    "comments between": lambda data: b": hello\n\n" + data.replace(b"\n\n", b"\n: more\n\n: and more\n\n"),
    "ids and retries": lambda data: data.replace(b"data: ", b"id: 7\nretry: 100\ndata: "),
    "blank lines between": lambda data: data.replace(b"\n\n", b"\n\n\n\n\n"),
    "event names missing": lambda data: b"".join(
        line + b"\n" for line in data.split(b"\n")[:-1] if not line.startswith(b"event:")
    ),
    "event names that lie": lambda data: data.replace(b"data: ", b"event: surprise\ndata: "),
    "fields nobody knows": lambda data: data.replace(b"data: ", b"colour: blue\nnonsense\ndata: "),
    "the last blank line missing": lambda data: data[:-1],
    "the last line unended": lambda data: data[:-2],
    "events after the terminator": lambda data: data + b'data: {"type":"later","choices":"x"}\n\n',
    "the terminator twice": lambda data: data + data[data[:-2].rfind(b"\n\n") + 2 :],
}.items():
    for cut in ("whole", "byte by byte"):
        if cut == "byte by byte" and name not in ("CRLF", "CR", "a byte order mark", "event names missing"):
            continue

        def reshaped(wire: str, change: Callable[[bytes], bytes] = change, cut: str = cut) -> list[Answer]:
            answers = []
            for reply in (Reply(text="Grüße, Welt 🐎.", calls=WORK.calls), DONE):
                data = change(b"".join(events(wire, reply)))
                answers.append(Answer([data] if cut == "whole" else [data[at : at + 1] for at in range(len(data))]))
            return answers

        cell(f"{name}, {cut}", Outcome(requests=2), reshaped)


def multi_line(data: bytes) -> bytes:
    """JSON over several data lines: a line break between its tokens."""
    return b"".join(
        line.replace(b'{"', b'{\ndata: "', 1) + b"\n" if line.startswith(b"data: {") else line + b"\n"
        for line in data.split(b"\n")[:-1]
    )


cell(
    "data in several lines",
    Outcome(requests=2),
    lambda wire: [Answer([multi_line(b"".join(events(wire, reply)))]) for reply in (WORK, DONE)],
)
cell(
    "an event that never ends",
    Outcome("error", 1, (), "", says="too long"),
    lambda wire: [Answer([b"data: " + b"x" * 1_000_000, *[b"x" * 1_000_000] * 9])],
)
cell(
    "a page instead of a stream",
    Outcome("error", 1, (), "", says="not a stream"),
    lambda wire: [Answer([b"<html>Please log in</html>"], kind="text/html", framing="length")],
)
cell("an error instead of a stream", RETRIED, then_sound(said(200, problem("overloaded"))))
cell("JSON instead of a stream", Outcome("error", 1, (), "", says="not a stream"), said(200, {"hello": "there"}))


def then(data: bytes) -> Make:
    """The beginning of a reply, and then a chunk of something else."""
    return lambda wire: [Answer([*part(wire, "the text")[:-1], b"data: " + data + b"\n\n"])]


# Chunks that make no sense: the reply is lost, and asked for again.
for name, data in {
    "broken JSON": b'{"choices": [',
    "a number": b"7",
    "null": b"null",
    "a list": b"[]",
    "a text": b'"hello"',
    "nesting without end": b'{"choices":' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    "NaN": b'{"choices": NaN}',
}.items():
    cell(
        f"a chunk of {name}",
        RETRIED,
        then_sound(then(data)),
    )


def garbled(old: bytes, new: bytes) -> Make:
    return lambda wire: [Answer([data.replace(old, new) for data in events(wire, reply)]) for reply in (WORK, DONE)]


cell(
    "invalid UTF-8 in the text", Outcome(requests=2, text="D\N{REPLACEMENT CHARACTER}ne."), garbled(b"Done", b"D\xffne")
)
cell("half a character, escaped", Outcome(requests=2, text="D?ne."), garbled(b"Done", b"D\\ud800ne"))
cell("a zero in the text", Outcome(requests=2, text="D\0ne."), garbled(b"Done", b"D\\u0000ne"))
cell("escape sequences in the text", Outcome(requests=2, text="D\x1b[2Jne."), garbled(b"Done", b"D\\u001b[2Jne"))


# What a reply holds.
def calls(*given: ScriptedCall, **more: Any) -> Reply:
    return Reply(calls=given, **more)


LOOK = ScriptedCall("look", {"name": "a"})
cell("an empty reply twice", Outcome("empty", 2, (), None), replies(Reply(), Reply()))
cell("an empty reply once", Outcome(requests=2, ran=()), replies(Reply(), DONE))
cell("blanks alone", Outcome("empty", 2, (), None), replies(Reply(text=" \n "), Reply(text="\n")))
cell("thoughts alone", Outcome("empty", 2, (), None), replies(Reply(reasoning="Hm."), Reply(reasoning="Hm.")))
cell("stop, with calls", Outcome(requests=2), replies(calls(LOOK, finish="stop"), DONE))
cell("tool_calls, without any", Outcome(requests=1, ran=()), replies(Reply(text="Done.", finish="tool_calls")))
cell("a finish word nobody knows", Outcome(requests=1, ran=()), replies(Reply(text="Done.", finish="bored")))
cell("cut in the text", Outcome(requests=1, ran=()), replies(Reply(text="Done.", finish="length")))
cell(
    "cut in the arguments",
    Outcome(requests=3),
    replies(calls(ScriptedCall("look", '{"name": "'), finish="length"), WORK, DONE),
)
cell(
    "filtered", Outcome("error", 1, (), "", says="content filter"), replies(Reply(text="Well", finish="content_filter"))
)
cell("thoughts, words and calls", Outcome(requests=2), replies(Reply(text="So.", reasoning="Hm.", calls=(LOOK,)), DONE))
cell(
    "ids used twice",
    Outcome(requests=2, ran=("a", "b")),
    replies(calls(ScriptedCall("look", {"name": "a"}, "x"), ScriptedCall("look", {"name": "b"}, "x")), DONE),
)
cell(
    "ids used again in the next step",
    Outcome(requests=3, ran=("a", "b")),
    replies(calls(ScriptedCall("look", {"name": "a"}, "x")), calls(ScriptedCall("look", {"name": "b"}, "x")), DONE),
)
cell("ids with odd letters", Outcome(requests=2), replies(calls(ScriptedCall("look", {"name": "a"}, "a/b:c\n!")), DONE))
cell("ids missing", Outcome(requests=2), garbled(b'"id":"call_0"', b'"id":null'))
cell(
    "a hundred calls",
    Outcome(requests=2, ran=tuple(str(n) for n in range(100))),
    replies(calls(*(ScriptedCall("look", {"name": str(n)}) for n in range(100))), DONE),
)
for name, arguments, ran in (
    ("empty", "", ()),
    ("a list", "[1]", ()),
    ("null", "null", ()),
    ("text in text", '"{\\"name\\": \\"a\\"}"', ("a",)),
    ("a trailing comma", '{"name": "a",}', ("a",)),
    ("single quotes", "{'name': 'a'}", ("a",)),
    ("a code fence", '```json\n{"name": "a"}\n```', ("a",)),
    ("a string that is cut", '{"name": "a', ("a",)),
    ("NaN", '{"name": NaN}', ()),
    ("nesting without end", '{"name": ' + "[" * 5_000 + "]" * 5_000 + "}", ()),
    ("half a character", '{"name": "\\ud800"}', ("?",)),
):
    # Anthropic puts arguments into its own JSON as an object; everybody else as a text: both are read the same.
    cell(f"arguments: {name}", Outcome(requests=2, ran=ran), replies(calls(ScriptedCall("look", arguments)), DONE))
cell("a tool nobody has", Outcome(requests=2, ran=()), replies(calls(ScriptedCall("fly", {"name": "a"})), DONE))
cell("a name in the wrong case", Outcome(requests=2), replies(calls(ScriptedCall("Look", {"name": "a"})), DONE))
cell("no name", Outcome(requests=2, ran=()), replies(calls(ScriptedCall("", {"name": "a"})), DONE))
BIG = "".join(f"Line {n} of a long answer, which says {n * 7919} and goes on.\n" for n in range(190_000))
# The model may say 8,192 tokens. The reply is cut off in the piece with which it has more than that in any case.
cell("ten megabytes", Outcome(requests=1, ran=(), text=BIG[:68_000]), replies(Reply(text=BIG, chunk=4_000)))

# Usage: nonsense is replaced by an estimate, and the budget holds.
NUMBERS = {"chat": b'"prompt_tokens":10', "messages": b'"input_tokens":10', "responses": b'"input_tokens":10'}
for name, number in {
    "null": b"null",
    "text": b'"ten"',
    "negative": b"-10",
    "a fraction": b"10.5",
    "huge": b"99999999999999",
    "an object": b"{}",
    "true": b"true",
}.items():

    def miscounted(wire: str, number: bytes = number) -> list[Answer]:
        old = NUMBERS[wire]
        new = old.replace(b"10", number)
        return [Answer([data.replace(old, new) for data in events(wire, reply)]) for reply in (WORK, DONE)]

    cell(f"usage: {name}", Outcome(requests=2), miscounted)
cell(
    "usage: missing",
    Outcome(requests=2),
    replies(Reply(calls=(LOOK,), usage="missing"), Reply(text="Done.", usage="missing")),
)


# An error inside a stream that had begun well.
def broken_off(where: str, message: str, code: str = "") -> Make:
    def make(wire: str) -> list[Answer]:
        body = {**problem(message, code), "response": {"error": problem(message, code)["error"]}}
        kind = {"chat": {}, "messages": {"type": "error"}, "responses": {"type": "response.failed"}}[wire]
        begun = part(wire, where)[:-1] if where else []
        return [Answer([*begun, b"data: " + json.dumps({**body, **kind}).encode() + b"\n\n"])]

    return make


for where in ("", "the text", "a whole call"):
    cell(f"an error event after {where or 'nothing'}", RETRIED, then_sound(broken_off(where, "overloaded")))
cell("an error event with half a character", RETRIED, then_sound(broken_off("", "half \ud800 of it")))
cell("an error event for ever", Outcome("error", 6, (), ""), broken_off("the text", "overloaded"))
cell("an error event: no quota", FAILED, broken_off("", "You exceeded your current quota", "insufficient_quota"))
cell(
    "an error event: context full",
    Outcome("context_full", 3, (), None),
    broken_off("", "too long", "context_length_exceeded"),
)
cell("an error event with the key in it", Outcome("error", 6, (), "", says="[key]"), broken_off("", f"no: {KEY}"))
