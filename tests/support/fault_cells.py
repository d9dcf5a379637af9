"""What a cell of the fault matrix is made of: faults of a provider, and what must come of each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from bridle.testing.scripted import Reply, ScriptedCall
from support.wire_faults import Answer, Ending, events, sound

WORK = Reply(text="Looking around.", calls=(ScriptedCall("look", {"name": "a"}),))
DONE = Reply(text="Done.")
NOW = 1_800_000_000.0


@dataclass
class Outcome:
    """What must come of a cell: how the turn ends, what was asked and run, how long was waited, what is said."""

    reason: str = "answered"
    requests: int = 3
    ran: tuple[str, ...] = ("a",)
    text: str | None = "Done."
    waits: tuple[float | tuple[float, float], ...] | None = None
    says: str = ""


RETRIED = Outcome()
FAILED = Outcome("error", 1, (), "")


Make = Callable[[str], list[Answer]]
Cells = dict[str, tuple[Make, Outcome]]


def adder(cells: Cells) -> Callable[[str, Outcome, Make], None]:
    """Return a function that adds one cell, whose id is new."""

    def cell(id: str, outcome: Outcome, make: Make) -> None:
        assert id not in cells
        cells[id] = (make, outcome)

    return cell


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


def fixed(*answers: Answer) -> Make:
    """The same answers on every wire."""
    return lambda wire: list(answers)


def ended(where: str, end: Ending) -> Make:
    """A reply whose connection ends somewhere in it."""
    return lambda wire: [Answer(part(wire, where), end=end)]


def slowly(pieces: Iterable[bytes]) -> list[bytes | float]:
    """Pieces with a little time after each."""
    return [each for piece in pieces for each in (piece, 0.05)]


def replies(*given: Reply) -> Make:
    return lambda wire: [sound(wire, reply) for reply in given]
