"""Ends a turn: final text, reason and usage in one append; also the instruction for its last step, limit notices."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from bridle.core.action import Finish
from bridle.core.compaction import prunable
from bridle.core.events import PartPut, Recorded
from bridle.core.ids import notice_id, turn_part_id
from bridle.core.ledger import AccountChange
from bridle.core.limits import LIMIT_OF_REASON, LIMITS, ROWS, LimitName, ReachedLimit, Reason, counted
from bridle.core.parts import Compaction, Notice, Sentinel, Text, TurnFinish
from bridle.core.session import OpenTurn
from bridle.core.states import Refusal
from bridle.core.todos import open_todos
from bridle.errors import ConfigError
from bridle.turn.active_turn import ActiveTurn
from bridle.turn.limit_words import WHOSE, limit_name, shared_limit, too_low
from bridle.turn.output_schema import CLOSING
from bridle.turn.settle import left_over

LIMIT_WORDS: dict[Reason, str] = {
    **{row.reason: row.headline for row in ROWS},
    "tree_budget": "tree budget exhausted",
    "doom_loop": "the same calls were repeated without progress",
}

OTHER_WORDS: dict[Reason, str] = {
    "context_full": "The context window is full",
    "denied": "Stopped because a person said no",
    "empty": "The model gave two empty replies",
    "error": "The turn failed",
    "aborted": "Aborted",
}

QUIET: tuple[Reason, ...] = ("answered", "synthesized")
OF_OTHERS = ("tree_budget", *(row.reason for row in ROWS if "day" in row.scopes))
"""Endings whose limit may belong to another account than the turn's own."""


def refused_call(closing: Reason | None) -> tuple[Refusal, str]:
    """Return the refusal of a call that came although tools were off."""
    if closing is None:
        return Refusal("tools_off"), "not executed: this agent has no tools"
    row = LIMITS["steps"] if closing == "tree_budget" else LIMIT_OF_REASON.get(closing)
    refusal = Refusal("limit", row.name) if row is not None else Refusal("tools_off")
    return refusal, f"not executed: {LIMIT_WORDS.get(closing, 'tools are off')}"


def used(turn: OpenTurn, reason: Reason, elapsed: float) -> str:
    """Return the used part of the limit, as "25/25"; empty where nothing is counted."""
    row = LIMIT_OF_REASON.get(reason)
    if row is None:
        return ""
    spent, allowed = turn.spent(elapsed).of(row.name), turn.limits.of(row.name) or 0
    if row.last_closes:
        # The closing step counts, even before it has begun.
        spent = max(spent, min(spent + 1, allowed))
    return f"{row.exact(spent)}/{row.exact(allowed)}" + (" s" if row.unit == "seconds" else "")


def reached_limit(turn: OpenTurn, reason: Reason, elapsed: float) -> ReachedLimit | None:
    """Return the limit that ends the turn; None if another reason does."""
    refused, row = turn.refused, LIMIT_OF_REASON.get(reason)
    if refused is not None and reason == refused.closes:
        return ReachedLimit(refused.limit, refused.scope, refused.spent, refused.allowed, refused.owner)
    if row is None:
        return None
    spent, allowed = turn.spent(elapsed).of(row.name), turn.limits.of(row.name) or 0
    return ReachedLimit(row.name, "turn", float(spent), float(allowed))


def headline(turn: OpenTurn, reason: Reason, detail: str, elapsed: float) -> str:
    """Return one line that says why the turn ended early."""
    if reason in LIMIT_WORDS:
        refused = turn.refused
        if refused is not None and reason != "doom_loop" and (low := too_low(refused)):
            return low
        if refused is not None and refused.scope != "turn" and reason in OF_OTHERS:
            limit = limit_name(WHOSE[refused.scope], refused.limit, refused.owner)
            return shared_limit(limit, refused.limit, "reached", refused.spent, refused.allowed)
        words = LIMIT_WORDS[reason]
        amount = used(turn, reason, elapsed)
        text = words[0].upper() + words[1:] + (f" ({amount})" if amount else "")
        return f"Doom loop: {words}" if reason == "doom_loop" else text
    words = OTHER_WORDS.get(reason, reason)
    return f"{words}: {detail}" if detail else words


def closing_notice(turn: OpenTurn, reason: Reason, template: str, elapsed: float) -> Notice:
    """Return the closing instruction: a user message, since an assistant message would be a prefill."""
    text = template.replace("{limit}", headline(turn, reason, "", elapsed)).strip()
    if turn.start.output is not None:
        text = f"{text}\n\n{CLOSING}"
    return Notice(turn_part_id(turn.start.number, "closing"), "closing", text, told=True)


def limit_notice(turn: OpenTurn, name: LimitName, number: int, elapsed: float) -> Notice:
    """Return the 80 % notice, for the reader and for the model."""
    row, allowed = LIMITS[name], turn.limits.of(name) or 0
    spent = number if row.last_closes else turn.spent(elapsed).of(name)
    left = allowed - spent
    used, most = row.exact(spent), row.exact(allowed)
    text = row.notice.format(used=used, allowed=most, left=row.exact(left), counted=counted(int(left), row.noun))
    return Notice(notice_id(turn.start.number, name), "limit", text, told=True, limit=name)


def summary(turn: OpenTurn, reason: Reason, detail: str, elapsed: float, todos: Sequence[str] = ()) -> str:
    """Return the text that Bridle writes from the record when the model gave none."""
    if turn.step is None and not turn.prompts and reason == "answered":
        return turn.compaction_words
    lines = [headline(turn, reason, detail, elapsed) + "."]
    calls = ", ".join(f"{name} {count} times" if count > 1 else name for name, count in turn.tally.items())
    done = f"{counted(turn.used.steps, 'step')}, {counted(turn.used.tool_calls, 'tool call')}"
    lines.append(f"Done in this turn: {done}{f' ({calls})' if calls else ''}.")
    if todos:
        lines.append("Still to be done: " + "; ".join(todos) + ".")
    if turn.files:
        lines.append("Files changed: " + ", ".join(turn.files) + ".")
    if turn.refused is not None and too_low(turn.refused):
        lines.append("Nothing was asked: raise the limit and ask again.")
    else:
        lines.append('Nothing was lost: say "continue" to go on from here.')
    return "\n".join(lines)


async def finish(active: ActiveTurn, action: Finish) -> Finish:
    """Write final text, sentinel and TurnFinish in one append: the only place where a turn ends."""
    turn, reason = active.turn, action.reason
    elapsed = active.record.elapsed
    number = turn.start.number
    events: list[Recorded] = []
    step = turn.step
    # Text before calls is no answer: only the text of a last step is, or its part before an abort.
    spoken = step is not None and (step.final or step.closing is not None or step.cut or turn.cap == 0)
    spoken = spoken or reason == "synthesized"
    answer = (tuple(turn.words) if spoken else ()) or tuple(turn.kept_words)
    # An output that fits the schema is the answer, regardless of other text.
    output = turn.output or turn.kept_output
    if output or not answer:
        words = output or summary(turn, reason, action.detail, elapsed, open_todos(active.session.todos))
        text = Text(turn_part_id(number, "text"), words, by="bridle")
        events.append(PartPut(text))
        answer = (text.id,)
    if reason not in QUIET:
        text_line = headline(turn, reason, action.detail, elapsed)
        events.append(PartPut(Sentinel(turn_part_id(number, "sentinel"), reason, text_line)))
    events += _pruning(active)
    spent = replace(turn.spent(round(elapsed, 3)), cost=round(turn.used.cost, 10))
    ending = TurnFinish(
        turn_part_id(number, "finish"),
        number,
        reason,
        spent,
        turn.usage,
        answer=answer,
        detail=action.detail,
        cut=turn.cut,
        unasked=turn.unasked,
        files=tuple(turn.files),
        output=output,
        limit=reached_limit(turn, reason, round(elapsed, 3)),
        models={ref: replace(use, cost=round(use.cost, 10)) for ref, use in turn.models.items()},
    )
    # Nothing stays reserved, and a subagent's place is free.
    change = AccountChange(turn.start.account, settles=await left_over(active), closes=True)
    await active.record.append(*events, PartPut(ending), change=change, weight="ending")
    return action


def _pruning(active: ActiveTurn) -> list[Recorded]:
    """Return the pruning of old outputs at the end of a turn, in one block, before the next request."""
    session, turn = active.session, active.turn
    try:
        wanted = active.setup.prunes
    except ConfigError:
        # The setup of the turn no longer exists; the turn ends all the same.
        return []
    gone = prunable(session.messages, session.characters_per_token) if wanted else ()
    if not gone:
        return []
    return [PartPut(Compaction(turn_part_id(turn.start.number, "pruned"), "prune", "smaller", pruned=gone))]
