"""Context compaction as pure functions: when, which messages stay or are pruned, and a summary without a model."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from bridle.core.messages import FRAME, AssistantMessage, Message, ResultMessage, UserMessage, characters
from bridle.core.parts import Compaction

COMPACT_AT = 0.85
LEAST_GAIN = 0.2
TAIL_SHARE = 0.2
TAIL_TOKENS = 40_000
PROMPT_SHARE = 0.25
SUMMARY_SHARE = 0.1
HISTORY_SHARE = 0.6
PRUNE_BEYOND_TOKENS = 40_000
PRUNE_BLOCK_TOKENS = 20_000
NEVER_PRUNED = ("skill",)
SHOWN_CHARACTERS = 4_000

PLACEHOLDER = "[this output was removed to save room; call the tool again if it is needed]"
SUMMARY_HEAD = "What came before was too long to keep. This summary stands for it:"


def compact_at(window: int, least_reply: int) -> int:
    """Return the token count above which a context is too large: most of the window, always with room for a reply."""
    return max(1, min(int(window * COMPACT_AT), window - least_reply))


def first_kept(messages: Sequence[Message], room: int) -> int:
    """Return the index from which messages stay unchanged: a tail of `room` characters, no call without result."""
    kept, size = len(messages), 0
    for place in range(len(messages) - 1, -1, -1):
        size += characters(messages[place])
        if size > room:
            break
        if not isinstance(messages[place], ResultMessage):
            kept = place
    return kept or len(messages)


def compacted(messages: Sequence[Message], part: Compaction, prompts: Collection[str]) -> list[Message]:
    """Return the summary, the turn's own prompts from before `through`, and every message from there on."""
    kept: list[Message] = [UserMessage(part.id, f"{SUMMARY_HEAD}\n\n{part.summary}", kind="summary")]
    ours = set(prompts)
    through = next((place for place, message in enumerate(messages) if message.id == part.through), len(messages))
    for message in messages[:through]:
        if isinstance(message, UserMessage) and message.id in ours:
            text = part.shortened.get(message.id)
            kept.append(message if text is None else msgspec.structs.replace(message, text=text, kind="shortened"))
    return kept + list(messages[through:])


def pruned(messages: Sequence[Message], part: Compaction) -> list[Message]:
    """Return the messages with the outputs of the pruned results replaced by a placeholder."""
    gone = set(part.pruned)
    return [
        message
        if message.id not in gone
        else msgspec.structs.replace(message, text=PLACEHOLDER)
        if isinstance(message, ResultMessage)
        else UserMessage(message.id, PLACEHOLDER, kind="attached")
        for message in messages
    ]


def prunable(messages: Sequence[Message], characters_per_token: float) -> tuple[str, ...]:
    """Return the ids of results older than the newest ones; none if they are too few to be worth pruning."""
    newest, block = 0.0, 0.0
    found: list[str] = []
    for message in reversed(messages):
        is_result = isinstance(message, ResultMessage) and message.name not in NEVER_PRUNED
        if not is_result and not (isinstance(message, UserMessage) and message.kind == "attached"):
            continue
        size = characters(message)
        tokens = size / characters_per_token
        newest += tokens
        if newest > PRUNE_BEYOND_TOKENS and size > FRAME + len(PLACEHOLDER):
            found.append(message.id)
            block += tokens
    return tuple(reversed(found)) if block >= PRUNE_BLOCK_TOKENS else ()


def head_and_tail(text: str, room: int, between: str = "…") -> str:
    """Return the text, or its two ends if it is longer than `room`."""
    if len(text) <= room:
        return text
    half = max(1, (room - len(between) - 4) // 2)
    return f"{text[:half]}\n[{between}]\n{text[-half:]}"


def serialized(messages: Sequence[Message], room: int) -> str:
    """Return the history as one text to summarize; long pieces, and the whole, are cut to their two ends."""
    lines: list[str] = []
    for message in messages:
        match message:
            case UserMessage():
                # An earlier summary stands for much history and is to be updated, so more of it is shown.
                shown = room // 2 if message.kind == "summary" else SHOWN_CHARACTERS
                lines.append(f"## User\n{head_and_tail(message.text, shown)}")
            case AssistantMessage():
                calls = "".join(f"\ncall {made.name} {made.arguments[:500]}" for made in message.calls)
                lines.append(f"## Assistant\n{head_and_tail(message.text, SHOWN_CHARACTERS)}{calls}")
            case ResultMessage():
                failed = " (failed)" if message.failed else ""
                lines.append(f"## Result of {message.name}{failed}\n{head_and_tail(message.text, SHOWN_CHARACTERS)}")
    return head_and_tail("\n\n".join(lines), room, "the middle of the history is left out")


def mechanical(messages: Sequence[Message], room: int) -> str:
    """Return a summary written without a model: one line per message and call, the newest always included."""
    lines: list[str] = []
    earlier = ""
    for message in messages:
        match message:
            case UserMessage():
                if message.kind == "summary":
                    earlier = head_and_tail(message.text[len(SUMMARY_HEAD) :].strip(), room // 2)
                else:
                    lines.append(f"- the user said: {_line(message.text, 300)}")
            case AssistantMessage():
                if message.text.strip():
                    lines.append(f"- the assistant said: {_line(message.text, 200)}")
                lines += [f"- called {made.name} {_line(made.arguments, 120)}" for made in message.calls]
            case ResultMessage():
                lines.append(f"  {'failed: ' if message.failed else ''}{_line(message.text, 120)}")
    kept, size = len(lines), len(earlier)
    while kept > 0 and size + len(lines[kept - 1]) + 1 <= room:
        kept -= 1
        size += len(lines[kept]) + 1
    head = [f"({kept} earlier lines are left out)"] if kept else []
    written = "Written by Bridle from the record, since the model gave no summary."
    return "\n".join([written, *([earlier] if earlier else []), *head, *lines[kept:]])


def _line(text: str, room: int) -> str:
    flat = " ".join(text[: room * 2].split())
    return flat if len(flat) <= room else f"{flat[:room]}…"
