"""What networks and providers do wrong, over real sockets, on all three wires: each cell with what must come of it."""

import asyncio
import gzip
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate

import msgspec
import pytest
from support.wire_faults import Answer, RawServer, events, sound
from support.wires import KEY, WIRES, lane_to, model_of

from bridle import Runtime, RuntimeConfig, tool
from bridle.config.settings import DeadlineSettings, Settings
from bridle.core.agent import AgentDefinition
from bridle.core.parts import Call, Halt, Request
from bridle.core.states import Broken, Open, Replied
from bridle.seams import Seams
from bridle.testing.scripted import Reply, ScriptedCall

WORK = Reply(text="Looking around.", calls=(ScriptedCall("look", {"name": "a"}),))
DONE = Reply(text="Done.")
NOW = 1_800_000_000.0


RECORDING_SECONDS = 0.3
"""What is waited for is what is left of a wait, and writing it down takes a moment, on a busy machine a long one."""


@dataclass
class Outcome:
    """What must come of a cell: how the turn ends, what was asked and run, how long was waited, what is said."""

    reason: str = "answered"
    requests: int = 3
    ran: tuple[str, ...] = ("a",)
    text: str = "Done."
    waits: tuple[float | tuple[float, float], ...] | None = None
    says: str = ""


RETRIED = Outcome()
FAILED = Outcome("error", 1, (), "")


class Fixed:
    """A clock whose wall stands still, so that dates in headers mean the same in every run."""

    def __init__(self):
        self._real = Seams().clock

    def wall(self):
        return NOW

    def monotonic(self):
        return self._real.monotonic()


@dataclass
class Instant(Seams):
    """Seams whose waits are written down instead of waited for."""

    waits: list[float] = field(default_factory=list)

    async def sleep(self, seconds):
        self.waits.append(round(seconds, 2))
        await asyncio.sleep(0)


Make = Callable[[str], list[Answer]]
CELLS: dict[str, tuple[Make, Outcome]] = {}


def cell(id: str, outcome: Outcome, make: Make) -> None:
    assert id not in CELLS
    CELLS[id] = (make, outcome)


def said(status: int, body: object, **headers: str) -> Make:
    """A refusal with a JSON body, or with the text that is given."""
    content = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda wire: [Answer([content], status, named, kind="application/json", framing="length")]


def problem(message: str, code: str = "") -> dict[str, object]:
    return {"type": "error", "error": {"message": message, "type": code or "some_error", "code": code or None}}


def then_sound(make: Make) -> Make:
    """The fault, and after it a server that works."""
    return lambda wire: [*make(wire), sound(wire, WORK), sound(wire, DONE)]


def part(wire: str, where: str, reply: Reply = WORK) -> list[bytes]:
    """The beginning of a sound reply, up to somewhere."""
    whole = events(wire, reply)
    words = next(at for at, data in enumerate(whole) if b"Looking" in data)
    arguments = max(at for at, data in enumerate(whole) if b'{\\"name\\"' in data and b"output_item.done" not in data)
    match where:
        case "the text":
            return [*whole[:words], whole[words][: len(whole[words]) // 2]]
        case "the arguments":
            return [*whole[:arguments], whole[arguments][: len(whole[arguments]) - 8]]
        case "a whole call":
            return whole[: arguments + (2 if wire != "chat" else 1)]
        case "the last delta":
            return whole[:-1]
    raise AssertionError(where)


# Statuses: what passes by itself is asked again, what does not is not.
for status in (408, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529):
    cell(f"status {status} passes", RETRIED, then_sound(said(status, problem("busy"))))
for status in (400, 401, 402, 403, 404, 405, 409, 410, 415, 418, 422, 451, 501, 505):
    cell(f"status {status} does not pass", FAILED, said(status, problem("no such thing")))
for status in (301, 302, 303, 307, 308):
    answer = Answer([], status, {"location": "http://127.0.0.1:9/elsewhere"}, framing="length")
    cell(
        f"status {status} is not followed",
        Outcome("error", 1, (), "", says="redirected"),
        lambda wire, answer=answer: [answer],
    )
for status in (429, 500, 503):
    cell(
        f"status {status} for ever", Outcome("error", 6, (), "", says="after 5 retries"), said(status, problem("busy"))
    )
for name, body in {
    "no body": "",
    "text": "upstream connect error",
    "a page": "<html><body>Bad gateway</body></html>",
    "a list": [problem("busy")],
    "plain detail": {"detail": "busy"},
    "error as text": {"error": "busy"},
    "null": "null",
}.items():
    cell(f"status 503 with {name}", RETRIED, then_sound(said(503, body)))
for name, raw in {
    "broken letters": b'{"error":{"message":"\xff busy"}}',
    "nesting": b"[" * 30_000 + b"]" * 30_000,
}.items():
    cell(
        f"status 503 with {name}",
        RETRIED,
        then_sound(lambda wire, raw=raw: [Answer([raw], 503, kind="application/json", framing="length")]),
    )
cell(
    "a redirect to nowhere",
    Outcome("error", 1, (), "", says="redirected"),
    lambda wire: [Answer([], 302, {"location": "http://[bad"}, framing="length")],
)
for name, message, code in (
    ("OpenAI", "You exceeded your current quota, please check your plan", "insufficient_quota"),
    ("Anthropic", "Your credit balance is too low to access the API", "invalid_request_error"),
    ("DeepSeek", "Insufficient Balance", ""),
):
    cell(f"status 429, but {name}'s quota is gone", FAILED, said(429, problem(message, code)))
cell("a content filter refuses", FAILED, said(400, problem("flagged", "content_filter")))
cell("the key is wrong and repeated", Outcome("error", 1, (), "", says="[key]"), said(401, problem(f"bad key {KEY}")))
cell("a status in the middle of nowhere", FAILED, said(299, problem("odd")))
for name, message, code in (
    ("OpenAI", "This model's maximum context length is 128000 tokens.", "context_length_exceeded"),
    ("Anthropic", "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"),
    ("llama.cpp", "the request exceeds the available context size", "exceed_context_size_error"),
    ("vLLM", "Please reduce the length of the messages", "BadRequestError"),
):
    # A context this short cannot be made shorter: two summaries are asked for, and the turn ends with a word.
    cell(
        f"{name} says that the context is full", Outcome("context_full", 3, (), None), said(400, problem(message, code))
    )

# How long to wait: what the provider says, within reason.
for name, status, headers, waits in (
    ("seconds", 429, {"retry_after": "2"}, (2.0,)),
    ("fractional seconds", 429, {"retry_after": "1.5"}, (1.5,)),
    ("less than the floor", 429, {"retry_after": "0.2"}, (0.5,)),
    ("zero", 429, {"retry_after": "0"}, (0.5,)),
    ("negative", 429, {"retry_after": "-1"}, (0.5,)),
    ("the longest", 429, {"retry_after": "120"}, (120.0,)),
    ("blanks", 429, {"retry_after": "  3  "}, (3.0,)),
    ("a date", 429, {"retry_after": formatdate(NOW + 7, usegmt=True)}, (7.0,)),
    ("a date that is over", 429, {"retry_after": formatdate(NOW - 60, usegmt=True)}, (0.5,)),
    ("garbage", 429, {"retry_after": "soon"}, ((1.0, 2.0),)),
    ("nothing", 429, {"retry_after": ""}, ((1.0, 2.0),)),
    ("infinity", 429, {"retry_after": "inf"}, ((1.0, 2.0),)),
    ("no number", 429, {"retry_after": "nan"}, ((1.0, 2.0),)),
    ("milliseconds", 429, {"retry_after_ms": "1500"}, (1.5,)),
    ("zero milliseconds", 429, {"retry_after_ms": "0"}, (0.5,)),
    ("milliseconds before seconds", 429, {"retry_after_ms": "900", "retry_after": "30"}, (0.9,)),
    ("garbled milliseconds and seconds", 429, {"retry_after_ms": "x", "retry_after": "3"}, (3.0,)),
    ("no header at all", 429, {}, ((1.0, 2.0),)),
    ("seconds with a 503", 503, {"retry_after": "4"}, (4.0,)),
    ("told to go on at a 400", 400, {"x_should_retry": "true"}, ((1.0, 2.0),)),
):
    cell(f"asked to wait: {name}", Outcome(waits=waits), then_sound(said(status, problem("wait"), **headers)))
for name, headers in {
    "an hour": {"retry_after": "3600"},
    "a little too long": {"retry_after": "121"},
    "too many milliseconds": {"retry_after_ms": "3600000"},
    "exponents": {"retry_after": "1e9"},
    "a date next year": {"retry_after": formatdate(NOW + 3e7, usegmt=True)},
}.items():
    outcome = Outcome("error", 1, (), "", waits=(), says="longer than retry.longest_wait")
    cell(f"asked to wait: {name}", outcome, said(429, problem("wait"), **headers))
cell("told to stop at a 500", FAILED, said(500, problem("no"), x_should_retry="false"))
backoff = tuple((2.0**n, 2.0**n + 1) for n in range(5))
cell("waits grow", Outcome("error", 6, (), "", waits=backoff), said(500, problem("busy")))

# Drops: nothing of a reply that is not whole is run, and nothing is said twice.
for end, where in itertools.product(
    ("rst", "fin", "clean"), ("the text", "the arguments", "a whole call", "the last delta")
):
    cell(
        f"{end} after {where}",
        RETRIED,
        then_sound(lambda wire, end=end, where=where: [Answer(part(wire, where), end=end)]),
    )
for end in ("rst", "fin"):
    cell(f"{end} before headers", RETRIED, then_sound(lambda wire, end=end: [Answer(raw=True, end=end)]))
    cell(
        f"{end} in the headers",
        RETRIED,
        then_sound(lambda wire, end=end: [Answer([b"HTTP/1.1 200 OK\r\ncontent-ty"], raw=True, end=end)]),
    )
    cell(f"{end} after headers", RETRIED, then_sound(lambda wire, end=end: [Answer(end=end)]))
    cell(
        f"{end} after a call has run",
        Outcome(requests=3),
        lambda wire, end=end: [sound(wire, WORK), Answer(events(wire, DONE)[:-1], end=end), sound(wire, DONE)],
    )
    cell(
        f"{end} for ever",
        Outcome("error", 6, (), "", says="retries"),
        lambda wire, end=end: [Answer(part(wire, "the text"), end=end)],
    )
cell("an empty body", RETRIED, then_sound(lambda wire: [Answer([])]))
cell(
    "a body shorter than it says",
    RETRIED,
    then_sound(
        lambda wire: [Answer(part(wire, "the text"), headers={"content-length": "99999"}, framing="length", end="fin")]
    ),
)
cell(
    "gzip that is cut",
    RETRIED,
    then_sound(
        lambda wire: [Answer([gzip.compress(b"".join(events(wire, WORK)))[:60]], headers={"content-encoding": "gzip"})]
    ),
)
cell(
    "gzip that is none",
    RETRIED,
    then_sound(lambda wire: [Answer([b"data: x\n\n"], headers={"content-encoding": "gzip"})]),
)
cell(
    "gzip that is whole",
    Outcome(requests=2),
    lambda wire: [
        Answer([gzip.compress(b"".join(events(wire, reply)))], headers={"content-encoding": "gzip"})
        for reply in (WORK, DONE)
    ],
)
cell("not HTTP at all", RETRIED, then_sound(lambda wire: [Answer([b"SSH-2.0-hello\r\n"], raw=True, end="fin")]))
cell(
    "a broken chunk size",
    RETRIED,
    then_sound(
        lambda wire: [
            Answer(
                [b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nx"],
                raw=True,
                end="fin",
            )
        ]
    ),
)

# Slow: every wait has an end, and something that says nothing is no sign of life.
cell("no first byte", RETRIED, then_sound(lambda wire: [Answer(raw=True, end="hang")]))
cell("nothing after the headers", RETRIED, then_sound(lambda wire: [Answer(end="hang")]))
for where in ("the text", "the arguments", "a whole call", "the last delta"):
    cell(
        f"a stall after {where}", RETRIED, then_sound(lambda wire, where=where: [Answer(part(wire, where), end="hang")])
    )
cell(
    "one byte at a time, and never a whole event",
    RETRIED,
    then_sound(lambda wire: [Answer([*itertools.chain.from_iterable((b"d", 0.05) for _ in range(200))], end="hang")]),
)
cell(
    "comments for ever",
    RETRIED,
    then_sound(
        lambda wire: [Answer([*itertools.chain.from_iterable((b": alive\n\n", 0.05) for _ in range(200))], end="hang")]
    ),
)
cell(
    "a stall after the terminator",
    Outcome(requests=2),
    lambda wire: [Answer(events(wire, reply), end="hang") for reply in (WORK, DONE)],
)
cell(
    "a slow but steady reply",
    Outcome(requests=2),
    lambda wire: [
        Answer([*itertools.chain.from_iterable((data, 0.05) for data in events(wire, reply))]) for reply in (WORK, DONE)
    ],
)

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

        def reshaped(wire, change=change, cut=cut):
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
        then_sound(lambda wire, data=data: [Answer([*part(wire, "the text")[:-1], b"data: " + data + b"\n\n"])]),
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
def replies(*given: Reply) -> Make:
    return lambda wire: [sound(wire, reply) for reply in given]


def calls(*given: ScriptedCall, **more) -> Reply:
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

    def miscounted(wire, number=number):
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
    def make(wire):
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


def looked(wire, answers, address="", **how):
    """Run a turn against a server that plays these answers."""
    ran = []

    @tool
    def look(name: str) -> str:
        """Look at something."""
        ran.append(name)
        return f"saw {name}"

    async def work():
        seams = Instant(clock=Fixed())
        settings = Settings(deadlines=DeadlineSettings(0.5, 0.3, 30.0))
        async with RawServer(wire, answers) as server:
            lane = lane_to(address or server.address, **how)
            model = model_of(wire, lane)
            agents = [AgentDefinition("build", model="m")]
            async with Runtime(
                RuntimeConfig(models={"m": model}, tools=[look], agents=agents, settings=settings, seams=seams)
            ) as runtime:
                session = await runtime.create()
                result = await runtime.wait(session, await runtime.prompt(session, "go"))
                await lane.close()
                return result, await runtime.load(session), server, seams.waits

    return *asyncio.run(asyncio.wait_for(work(), 30)), ran


def words(session):
    """Everything that was said about failures."""
    parts = session.parts.values()
    found = [part.detail for part in parts if isinstance(part, Halt)]
    for state in (part.state for part in parts if isinstance(part, Request)):
        found += [state.error] if isinstance(state, Broken) else []
        found += [one.error for one in state.tries] if isinstance(state, Open) else []
    return " ".join(found)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("id", CELLS)
def test_cell(id, wire):
    make, expected = CELLS[id]
    result, session, server, waits, ran = looked(wire, make(wire))
    assert (result.reason, server.requests, tuple(sorted(ran, key=ran.index))) == (
        expected.reason,
        expected.requests,
        expected.ran,
    ), words(session)
    if expected.text:
        assert result.text == expected.text
    assert server.problems == []
    assert expected.says in words(session)
    if expected.waits is not None:
        bounds = [wait if isinstance(wait, tuple) else (wait, wait) for wait in expected.waits]
        assert len(waits) == len(bounds) and all(
            low - RECORDING_SECONDS <= wait <= high for wait, (low, high) in zip(waits, bounds, strict=True)
        ), waits
    recorded = msgspec.json.encode(list(session.parts.values()))
    assert KEY.encode() not in recorded
    for part_ in session.parts.values():
        if isinstance(part_, Call):
            assert not isinstance(part_.state, (Open,))
        if isinstance(part_, Request) and isinstance(part_.state, Replied):
            assert part_.state.usage.total > 0


def test_the_matrix_is_large_enough():
    assert len(CELLS) * len(WIRES) >= 250
