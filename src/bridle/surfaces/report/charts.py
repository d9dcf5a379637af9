"""Draws the SVG charts of a report: timeline, limit usage and tokens per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from bridle.core.limits import ROWS
from bridle.core.states import Ended, Refused
from bridle.surfaces.report.escape import text
from bridle.surfaces.report.gather import CallRow, StepRow, TurnView
from bridle.surfaces.shared.limit_levels import level_words, short

WIDTH = 1000.0
LEFT = 74.0
ROW = 20.0
BAR = 14.0
TOP = 22.0
MOST_LANES = 12
CHART_WIDTH = 520.0
CHART_HEIGHT = 190.0
CHART_LEFT = 38.0
MOST_POINTS = 600
LETTER = 6.2


MEANINGS = {
    "model": "step",
    "closing": "closing step",
    "done": "call",
    "failed": "failed call",
    "refused": "refused call",
    "open": "open call",
    "child": "subagent",
}


class Bar(NamedTuple):
    """A bar of the timeline, with start and end in seconds."""

    began: float
    ended: float
    style: str
    label: str
    hint: str


def timeline(turn: TurnView) -> str:
    """Draw the timeline of a turn: model requests, below them tool calls, below those subagents."""
    lanes = list(_lanes(turn))
    height = TOP + ROW * len(lanes) + 6
    span = max(turn.seconds, 0.001)
    scale = (WIDTH - LEFT - 8) / span
    parts = [_open(WIDTH, height, "Timeline of steps and tool calls")]
    for tick in _ticks(span):
        x = LEFT + tick * scale
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP - 4}" x2="{x:.1f}" y2="{height - 4:.1f}"/>')
        parts.append(_words("axis", x, 12, "middle", duration(tick)))
    for row, (name, bars) in enumerate(lanes):
        y = TOP + row * ROW
        parts.append(_words("lane", LEFT - 8, y + 11, "end", name))
        parts += [_bar(bar, y, scale) for bar in bars]
    seen = {bar.style for _, bars in lanes for bar in bars}
    return "".join([*parts, _legend((style, words) for style, words in MEANINGS.items() if style in seen)])


def _open(width: float, height: float, words: str) -> str:
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{words}">'


def _words(style: str, x: float, y: float, anchor: str, words: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _across(style: str, y: float) -> str:
    return f'<line class="{style}" x1="{CHART_LEFT}" y1="{y:.1f}" x2="{CHART_WIDTH - 8}" y2="{y:.1f}"/>'


def _legend(keys: Iterable[tuple[str, str]]) -> str:
    named = "".join(f'<span class="key {style}">{text(words)}</span>' for style, words in keys)
    return f'</svg><p class="legend">{named}</p>'


def _bar(bar: Bar, y: float, scale: float) -> str:
    x = LEFT + bar.began * scale
    width = max(1.2, (bar.ended - bar.began) * scale)
    label = ""
    if bar.label and width > len(bar.label) * LETTER + 6:
        label = _words("on", x + width / 2, y + 10.5, "middle", bar.label)
    rect = f'<rect class="{bar.style}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}" rx="2">'
    return f"<g>{rect}<title>{text(bar.hint)}</title></rect>{label}</g>"


def _lanes(turn: TurnView, offset: float = 0.0, name: str = "model") -> Iterator[tuple[str, list[Bar]]]:
    """Yield the name and the bars of each lane."""
    yield name, [_request(step, offset, turn.seconds) for step in turn.steps]
    calls = [call for step in turn.steps for call in step.calls if call.began is not None]
    for row, lane in enumerate(_beside(calls)[:MOST_LANES]):
        yield "calls" if not row else "", [_call(call, offset, turn.seconds) for call in lane]
    children = [(call, below) for call in calls for below in call.below]
    for call, below in children[:MOST_LANES]:
        yield from _lanes(below, offset + (call.began or 0.0), f"↳ {below.start.agent}"[:12])


def _request(step: StepRow, offset: float, seconds: float) -> Bar:
    ended = step.ended if step.ended is not None else seconds
    style = "closing" if step.closing else "model"
    why = f", closing ({step.closing})" if step.closing else ""
    hint = f"step {step.number}{why}: {duration(ended - step.began)}, {step.usage.total:,} tokens"
    return Bar(offset + step.began, offset + ended, style, str(step.number), hint)


def _call(call: CallRow, offset: float, seconds: float) -> Bar:
    began = call.began or 0.0
    ended = call.ended if call.ended is not None else seconds
    hint = f"{call.call.name}: {state_words(call)}, {duration(ended - began)}"
    return Bar(offset + began, offset + ended, "child" if call.child else state_style(call), call.call.name, hint)


def state_style(call: CallRow) -> str:
    return type(call.call.state).__name__.lower() if isinstance(call.call.state, Ended) else "open"


def state_words(call: CallRow) -> str:
    state = call.call.state
    return f"refused ({state.refusal.name})" if isinstance(state, Refused) else type(state).__name__.lower()


def _beside(calls: Sequence[CallRow]) -> list[list[CallRow]]:
    """Distribute calls over lanes, so that concurrent calls are in different lanes."""
    lanes: list[list[CallRow]] = []
    for call in calls:
        began = call.began or 0.0
        lane = next((lane for lane in lanes if (lane[-1].ended or began) <= began), None)
        if lane is None:
            lanes.append(lane := [])
        lane.append(call)
    return lanes


def _ticks(span: float, most: int = 9) -> list[float]:
    """Return round times from 0 to the end."""
    steps = [base * 10.0**power for power in range(-3, 1) for base in (1, 2, 5)]
    steps += [15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400, 604_800, 2_592_000]
    each = next((step for step in steps if span / step <= most), span)
    return [each * place for place in range(int(span / each) + 1)]


def duration(seconds: float) -> str:
    """Format seconds: "420 ms", "3 min 20 s", "2 h 5 min"."""
    if seconds < 0.0005:
        return "0 s"
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")


class TimelineLine(NamedTuple):
    """The used share of one limit over time."""

    name: str
    points: list[tuple[float, float]]
    words: str


def limits_chart(turn: TurnView) -> str:
    """Draw the used share of each limit over time; empty if no limit was set."""
    lines = list(_used(turn))
    if not lines:
        return ""
    span = max(turn.seconds, 0.001)
    highest = max(1.0, *(share for line in lines for _, share in line.points))
    bottom, left = CHART_HEIGHT - 24, CHART_LEFT
    across, up = (CHART_WIDTH - left - 8) / span, (bottom - 12) / highest
    parts = [_open(CHART_WIDTH, CHART_HEIGHT, "Usage of each limit over time")]
    for share, style in ((0.0, "grid"), (0.5, "grid"), (0.8, "near"), (1.0, "cap")):
        y = bottom - share * up
        parts += [_across(style, y), _words("axis", left - 6, y + 4, "end", f"{share:.0%}")]
    for tick in _ticks(span, 6):
        x = left + tick * across
        parts.append(_words("axis", x, CHART_HEIGHT - 6, "middle", duration(tick)))
    for line in lines:
        path = " ".join(f"{left + at * across:.1f},{bottom - share * up:.1f}" for at, share in _stairs(line.points))
        parts.append(f'<polyline class="line {line.name}" points="{path}"><title>{text(line.name)}</title></polyline>')
    return "".join([*parts, _legend((line.name, f"{line.name} {line.words}") for line in lines)])


def _stairs(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Turn points into steps: a value holds until the next one."""
    before = 0.0
    for at, share in points:
        yield at, before
        yield at, share
        before = share


def _used(turn: TurnView) -> Iterator[TimelineLine]:
    points = [*turn.used[:: max(1, len(turn.used) // MOST_POINTS)], *turn.used[-1:]]
    for row in ROWS if points else ():
        if allowed := turn.limits.of(row.name):
            shares = [(point.seconds, point.of(row.name) / allowed) for point in points]
            yield TimelineLine(row.label, shares, level_words(row, points[-1].of(row.name), allowed))


def tokens_chart(turn: TurnView) -> str:
    """Draw the tokens of each step, input below output; empty for fewer than two steps with tokens."""
    steps = [step for step in turn.steps if step.usage.total]
    if len(steps) < 2:
        return ""
    most = max(step.usage.total for step in steps)
    bottom, left = CHART_HEIGHT - 24, CHART_LEFT
    each = (CHART_WIDTH - left - 8) / len(steps)
    up = (bottom - 12) / most
    parts = [_open(CHART_WIDTH, CHART_HEIGHT, "Tokens of each step")]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * most * up
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{WIDTH - 12}" y2="{y:.1f}"/>')
        parts.append(_words("axis", left - 6, y + 4, "end", short(share * most)))
    for place, step in enumerate(steps):
        parts.append(_column(step, left + place * each, each, bottom, up))
        if place % max(1, -(-len(steps) // 12)) == 0:
            parts.append(_words("axis", left + (place + 0.5) * each, CHART_HEIGHT - 7, "middle", str(step.number)))
    return "".join([*parts, _legend((("cached", "from the cache"), ("read", "read"), ("written", "written")))])


def _column(step: StepRow, x: float, each: float, bottom: float, up: float) -> str:
    """Draw the stacked tokens of one step."""
    width = max(0.6, min(26.0, each - 1 if each > 2 else each))
    cached, written = step.usage.cache_read, step.usage.output + step.usage.reasoning
    hint = f"step {step.number}: {step.usage.total:,} tokens, {cached:,} from the cache, {written:,} written"
    pieces: list[str] = []
    place = f'x="{x + (each - width) / 2:.1f}" width="{width:.1f}"'
    for style, amount in (("cached", cached), ("read", step.usage.total - cached - written), ("written", written)):
        bottom -= amount * up
        if amount:
            pieces.append(f'<rect class="{style}" {place} y="{bottom:.1f}" height="{amount * up:.1f}"/>')
    return f"<g><title>{text(hint)}</title>{''.join(pieces)}</g>"
