"""Builds the HTML page of a report: one self-contained file in which all model text is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

from msgspec.structs import replace

from bridle.core.events import SessionInfo
from bridle.core.ids import step_address
from bridle.core.limits import NOTHING, ROWS, Limit, Spent, counted
from bridle.core.parts import Patch, Reasoning, TurnFinish
from bridle.surfaces.report.charts import duration, limits_chart, state_style, state_words, timeline, tokens_chart
from bridle.surfaces.report.escape import quoted, text
from bridle.surfaces.report.gather import CallRow, StepRow, TurnView
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.limit_levels import short, used_words
from bridle.values.secrets import redacted

MOST_OUTPUT = 6_000
MOST_OUTPUT_IN_LONG_TURNS = 1_000
LONG_TURN = 300
MOST_DIFF_LINES = 3_000
MOST_NAMED = 8
MOST_OPEN = 6
GOOD = ("answered", "synthesized")
BAD = ("error", "denied", "empty")


def page(info: SessionInfo, turns: Sequence[TurnView], diffs: Mapping[int, str], made: str) -> str:
    """Return the complete HTML page, without secrets because reports are meant to be shared."""
    style, script = _file("report.css"), _file("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    title = info.title or next((prompt.text for turn in turns for prompt in turn.prompts), "") or info.id
    foot = f'<footer class="dim">{text(made)}. This page is one file and asks nothing of the network.</footer>'
    body = "".join([*_head(info, turns, title), *_contents(turns), *_turns(turns, diffs), foot])
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{quoted(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(_line(title))}</title><style>{style}</style></head><body>{body}"
        f"<script>{script}</script></body></html>\n"
    )


def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _line(words: str, most: int = 90) -> str:
    first = " ".join(words.split())
    return first if len(first) <= most else first[: most - 1] + "…"


def _head(info: SessionInfo, turns: Sequence[TurnView], title: str) -> Iterator[str]:
    last = turns[-1] if turns else None
    when = datetime.fromtimestamp(info.created, UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield '<header><div class="bar"><h1>' + text(_line(title)) + "</h1>"
    yield '<button id="theme" type="button" title="Light or dark">◐</button></div>'
    model = f" · {text(last.start.model)}" if last is not None else ""
    yield f'<p class="dim">{text(info.id)} · {text(info.directory)} · {when}{model}</p>'
    ends = [turn.finish for turn in turns if turn.finish is not None]
    spent = reduce(Spent.plus, (end.spent for end in ends), NOTHING)
    spent = replace(spent, seconds=sum(turn.seconds for turn in turns))
    facts = [(str(len(turns)), "turns" if len(turns) != 1 else "turn")]
    facts += [(_total(row, spent.of(row.name)), row.label) for row in ROWS]
    yield '<div class="facts">' + "".join(f"<div><b>{text(what)}</b><span>{name}</span></div>" for what, name in facts)
    yield "</div></header>"


def _total(row: Limit, value: float) -> str:
    if row.unit == "seconds":
        return duration(value)
    if row.unit == "dollars":
        return row.exact(value) if value else "none"
    return short(value) if row.thousands else f"{value:,}"


def _contents(turns: Sequence[TurnView]) -> Iterator[str]:
    if len(turns) < 2:
        return
    yield '<nav aria-label="Turns"><ol>'
    for turn in turns:
        asked = turn.prompts[0].text if turn.prompts else "(no prompt)"
        number = turn.start.number
        yield f'<li value="{number}"><a href="#turn-{number}">{text(_line(asked, 100))}</a> {_badge(turn.finish)}</li>'
    yield "</ol></nav>"


def _badge(finish: TurnFinish | None) -> str:
    reason = finish.reason if finish is not None else "open"
    kind = "good" if reason in GOOD else "bad" if reason in BAD else "calm" if reason in ("aborted", "open") else "warn"
    return f'<span class="badge {kind}">{reason}</span>'


def _turns(turns: Sequence[TurnView], diffs: Mapping[int, str]) -> Iterator[str]:
    for turn in turns:
        number = turn.start.number
        yield f'<section id="turn-{number}"><h2>Turn {number} {_badge(turn.finish)}</h2>'
        yield from _turn(turn)
        yield from _changes(turn, diffs.get(number, ""))
        yield "</section>"


def _turn(turn: TurnView, prefix: str = "") -> Iterator[str]:
    for prompt in turn.prompts:
        yield f'<div class="prompt">{text(prompt.text)}</div>'
        for file in prompt.files:
            yield f'<p class="dim">attached: {text(file.path)}</p>'
    if turn.sentinel:
        yield f'<p class="sentinel">■ {text(turn.sentinel)}</p>'
    facts = [turn.start.agent, turn.start.model, *used_words(turn.used[-1] if turn.used else NOTHING)]
    yield f'<p class="dim">{text(" · ".join(facts))}</p>'
    if turn.steps:
        yield '<figure class="wide"><figcaption>Timeline</figcaption>' + timeline(turn) + "</figure>"
        charts = [("Limits used", limits_chart(turn)), ("Tokens of each step", tokens_chart(turn))]
        drawn = [f"<figure><figcaption>{name}</figcaption>{chart}</figure>" for name, chart in charts if chart]
        yield f'<div class="charts">{"".join(drawn)}</div>'
    if turn.notes:
        told = "".join(f"<li><span class='dim'>{duration(at)}</span> {text(words)}</li>" for at, words in turn.notes)
        yield f'<ul class="notes">{told}</ul>'
    if turn.answer:
        yield f'<h3>Answer</h3><div class="answer">{text(turn.answer)}</div>'
    yield from _steps(turn, prefix)


def _steps(turn: TurnView, prefix: str) -> Iterator[str]:
    if not turn.steps:
        return
    most = MOST_OUTPUT if len(turn.steps) < LONG_TURN else MOST_OUTPUT_IN_LONG_TURNS
    yield '<h3>Steps <button class="all" type="button">open all</button></h3><div class="list">'
    for step in turn.steps:
        yield from _step(step, turn, prefix + step_address(turn.start.number, step.number), most)
    yield "</div>"


def _step(step: StepRow, turn: TurnView, name: str, most: int) -> Iterator[str]:
    ended = step.ended if step.ended is not None else turn.seconds
    ran = " ".join(f'<i class="dot {state_style(call)}"></i>{text(call.call.name)}' for call in step.calls[:MOST_NAMED])
    more = f" +{len(step.calls) - MOST_NAMED}" if len(step.calls) > MOST_NAMED else ""
    closing = f' <span class="badge warn">closing: {text(step.closing)}</span>' if step.closing else ""
    tries = f' <span class="badge warn">{counted(step.tries, "failed request")}</span>' if step.tries else ""
    said = "".join(part.text for part in step.said if not isinstance(part, Reasoning))
    yield f'<details class="step" id="step-{name}"><summary><b>{step.number}</b>{closing}{tries} <span class="ran">'
    yield f"{ran}{more}</span> <span class='said'>{text(_line(said, 110))}</span>"
    money = f" · ${step.cost:.4f}" if step.cost else ""
    yield f'<span class="took">{short(step.usage.total)} tok{money} · {duration(ended - step.began)}</span></summary>'
    for part in step.said:
        if isinstance(part, Reasoning):
            yield f'<details class="thought"><summary>thought</summary><pre>{text(part.text[:most])}</pre></details>'
        elif part.text.strip():
            yield f'<div class="words">{text(part.text)}</div>'
    for call in step.calls:
        yield from _call(call, name, most)
    for patch in step.patches.values():
        yield from _patch(patch)
    yield "</details>"


def _patch(patch: Patch) -> Iterator[str]:
    if patch.files:
        shown = [
            f'{text(each.path)} <span class="plus">+{each.added}</span> <span class="minus">-{each.removed}</span>'
            for each in patch.files[:MOST_NAMED]
        ]
        rest = len(patch.files) - MOST_NAMED + patch.more
        yield f'<p class="patch">changed: {", ".join(shown)}{f" and {rest} more" if rest > 0 else ""}</p>'


def _call(call: CallRow, name: str, most: int) -> Iterator[str]:
    took = f" · {duration(call.ended - call.began)}" if call.began is not None and call.ended is not None else ""
    yield f'<details class="call"><summary><i class="dot {state_style(call)}"></i><b>{text(call.call.name)}</b> '
    yield f"<code>{text(_line(telling(call.call.arguments), 120))}</code>"
    yield f'<span class="took">{state_words(call)}{took}</span></summary>'
    yield f"<pre>{text(_pretty(call.call.arguments)[:most])}</pre>"
    output = getattr(call.call.state, "output", "")
    if output:
        left = f"\n… {len(output) - most:,} more characters" if len(output) > most else ""
        yield f'<pre class="output">{text(output[:most] + left)}</pre>'
    for below in call.below:
        yield f'<div class="below"><h4>Subagent {text(call.child)} {_badge(below.finish)}</h4>'
        yield from _turn(below, f"{name}-")
        yield "</div>"
    yield "</details>"


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False).replace("\\n", "\n    ")
    except ValueError:
        return arguments


def _changes(turn: TurnView, diff: str) -> Iterator[str]:
    if not diff:
        return
    # Redact the whole diff at once: a key may span several lines.
    lines = redacted(diff).splitlines()
    changed = sum(line.startswith("diff --git ") for line in lines)
    yield f'<h3>Files changed ({changed})</h3><div class="diffs">'
    for file in re.split(r"\n(?=diff --git )", "\n".join(lines[:MOST_DIFF_LINES])):
        yield from _file_diff(file.split("\n"), shown=changed <= MOST_OPEN)
    if len(lines) > MOST_DIFF_LINES:
        yield f'<p class="dim">{len(lines) - MOST_DIFF_LINES:,} more lines: bridle diff --turn {turn.start.number}</p>'
    yield "</div>"


def _file_diff(lines: Sequence[str], *, shown: bool) -> Iterator[str]:
    plus = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    minus = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    name = lines[0].rpartition(" b/")[2] or lines[0]
    yield f'<details class="diff"{" open" if shown else ""}><summary><code>{text(name)}</code> '
    yield f'<span class="plus">+{plus}</span> <span class="minus">-{minus}</span></summary><pre>'
    for line in lines[1:]:
        if line.startswith(("index ", "--- ", "+++ ")):
            continue
        style = {"+": "plus", "-": "minus", " ": "same"}.get(line[:1], "where")
        yield f'<span class="{style}">{text(line)}\n</span>'
    yield "</pre></details>"
