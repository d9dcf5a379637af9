"""Faults of connections: statuses, waits, drops and stalls."""

import gzip
import itertools
from email.utils import formatdate

from support.fault_cells import (
    DONE,
    FAILED,
    NOW,
    RETRIED,
    WORK,
    Cells,
    Make,
    Outcome,
    adder,
    ended,
    fixed,
    part,
    problem,
    said,
    slowly,
    then_sound,
)
from support.wire_faults import Answer, Ending, events, sound
from support.wires import KEY

CELLS: Cells = {}
cell = adder(CELLS)

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
        fixed(answer),
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
        then_sound(fixed(Answer([raw], 503, kind="application/json", framing="length"))),
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
ENDINGS: tuple[Ending, ...] = ("rst", "fin", "clean")
for end, where in itertools.product(ENDINGS, ("the text", "the arguments", "a whole call", "the last delta")):
    cell(
        f"{end} after {where}",
        RETRIED,
        then_sound(ended(where, end)),
    )


def broken_later(end: Ending) -> Make:
    """A whole reply, then one that is broken off, then a whole one."""
    return lambda wire: [sound(wire, WORK), Answer(events(wire, DONE)[:-1], end=end), sound(wire, DONE)]


for end in ENDINGS[:2]:
    cell(f"{end} before headers", RETRIED, then_sound(fixed(Answer(raw=True, end=end))))
    cell(
        f"{end} in the headers",
        RETRIED,
        then_sound(fixed(Answer([b"HTTP/1.1 200 OK\r\ncontent-ty"], raw=True, end=end))),
    )
    cell(f"{end} after headers", RETRIED, then_sound(fixed(Answer(end=end))))
    cell(
        f"{end} after a call has run",
        Outcome(requests=3),
        broken_later(end),
    )
    cell(
        f"{end} for ever",
        Outcome("error", 6, (), "", says="retries"),
        ended("the text", end),
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
    cell(f"a stall after {where}", RETRIED, then_sound(ended(where, "hang")))
cell(
    "one byte at a time, and never a whole event",
    RETRIED,
    then_sound(lambda wire: [Answer(slowly([b"d"] * 200), end="hang")]),
)
cell(
    "comments for ever",
    RETRIED,
    then_sound(lambda wire: [Answer(slowly([b": alive\n\n"] * 200), end="hang")]),
)
cell(
    "a stall after the terminator",
    Outcome(requests=2),
    lambda wire: [Answer(events(wire, reply), end="hang") for reply in (WORK, DONE)],
)
cell(
    "a slow but steady reply",
    Outcome(requests=2),
    lambda wire: [Answer(slowly(events(wire, reply))) for reply in (WORK, DONE)],
)
