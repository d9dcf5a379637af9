"""How much of each limit is used, always in sight: it changes colour at 80 % and at the cap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from textual.content import Content
from textual.widgets import Static

from bridle.core.limits import LimitName
from bridle.core.session import OpenTurn, Session

WIDTH = 8
NEAR = 0.8


class Level(NamedTuple):
    """One limit: how much of it is used, in words and as a share."""

    name: LimitName
    words: str
    share: float | None


def levels(turn: OpenTurn, elapsed: float) -> Iterator[Level]:
    """What is used of every limit, and of what has none."""
    limits = turn.limits
    yield Level("steps", f"{turn.steps}/{turn.cap}", turn.steps / turn.cap if turn.cap else None)
    calls = limits.tool_calls
    yield Level("tool_calls", f"{turn.tool_calls}" + (f"/{calls}" if calls else ""), _share(turn.tool_calls, calls))
    most = limits.tokens
    yield Level("tokens", _short(turn.tokens) + (f"/{_short(most)}" if most else ""), _share(turn.tokens, most))
    if turn.cost or limits.cost:
        bound = f"/${limits.cost:.2f}" if limits.cost else ""
        yield Level("cost", f"${turn.cost:.3f}{bound}", _share(turn.cost, limits.cost))
    seconds = limits.seconds
    yield Level("seconds", f"{elapsed:.0f}" + (f"/{seconds:.0f}" if seconds else "") + " s", _share(elapsed, seconds))


def nearest(turn: OpenTurn, elapsed: float) -> Level | None:
    """The limit of which most is used."""
    bounded = [level for level in levels(turn, elapsed) if level.share is not None]
    return max(bounded, key=lambda level: level.share or 0.0, default=None)


def _share(used: float, most: float | None) -> float | None:
    return used / most if most else None


def _short(number: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return str(number)


NAMES = {"steps": "steps", "tool_calls": "calls", "tokens": "tokens", "cost": "cost", "seconds": "time"}


class Gauge(Static):
    """One line under the transcript."""

    def __init__(self) -> None:
        super().__init__("", id="gauge")

    def show(self, session: Session, elapsed: float, status: str) -> None:
        turn = session.turn
        if turn is None:
            self.update(Content("no turn yet"))
            return
        pieces: list[Content] = [Content.styled(f" {status} ", "reverse")]
        for level in levels(turn, elapsed):
            style = _style(level.share)
            bar = Content.styled(_bar(level.share), style) if level.share is not None else Content("")
            pieces.append(Content.assemble((NAMES[level.name], "dim"), " ", bar, " ", (level.words, style)))
        below = len(turn.children)
        if below:
            pieces.append(Content.styled(f"{below} subagents", "bold"))
        self.update(Content("  ").join(pieces))


def _bar(share: float | None) -> str:
    filled = min(WIDTH, round((share or 0.0) * WIDTH))
    return "▰" * filled + "▱" * (WIDTH - filled)


def _style(share: float | None) -> str:
    if share is None:
        return ""
    return "$error bold" if share >= 1 else "$warning bold" if share >= NEAR else "$success"
