"""What the model does in each row of the comparison: scripts that react to the requests as they come."""

from __future__ import annotations

from dataclasses import replace

from bench.limits.server import Asked, Call, Delegate, Say, Script

LAST_WORDS = "LAST WORDS: this is what was done."
FIRST_WORDS = "FIRST WORDS: I begin."
CHILD = "CHILD"
POLLS = 6
WINDOW_TOKENS = 20_000
LONG_SUMMARY = "SUMMARY " + " ".join(f"{number * 2_654_435_761 % 2**32:08x}" for number in range(16_000))
"""About as long as the window, and no two words of it the same: a text that repeats itself is one that Bridle ends."""


def stubborn(asked: Asked, _: list[Asked]) -> Say:
    """Calls as long as it has tools."""
    return Say(FIRST_WORDS, (Call(f"n{asked.number}"),)) if asked.tools else Say(LAST_WORDS)


def mulish(asked: Asked, _: list[Asked]) -> Say:
    """Calls even where there is nothing to call."""
    return Say("", (Call(f"n{asked.number}"),))


def expensive(asked: Asked, _: list[Asked]) -> Say:
    return Say("", (Call(f"n{asked.number}"),), (2_900, 100)) if asked.tools else Say(LAST_WORDS, (), (2_900, 100))


def slow(asked: Asked, _: list[Asked]) -> Say:
    call = (Call(f"n{asked.number}"),) if asked.tools else ()
    return Say("" if call else LAST_WORDS, call, delay_seconds=0.4)


def overflow(asked: Asked, _: list[Asked]) -> Say:
    """Ten calls at once, then a text."""
    return Say("", tuple(Call(f"n{at}") for at in range(10))) if asked.number == 1 else Say(LAST_WORDS)


def nested(asked: Asked, _: list[Asked]) -> Say:
    """The parent delegates again and again, the child calls again and again."""
    if not asked.tools:
        return Say(LAST_WORDS)
    if asked.prompted(CHILD):
        return Say("", (Call(f"n{asked.number}"),))
    return Say("", (Delegate(f"{CHILD} {asked.number}"),))


def cycle(period: int) -> Script:
    def script(asked: Asked, _: list[Asked]) -> Say:
        return Say("", (Call(f"same{asked.number % period}"),)) if asked.tools else Say(LAST_WORDS)

    return script


def loose(asked: Asked, _: list[Asked]) -> Say:
    return Say("", (Call("same", loose=asked.number),)) if asked.tools else Say(LAST_WORDS)


def padded(asked: Asked, _: list[Asked]) -> Say:
    return Say("", (Call("same" + " " * asked.number),)) if asked.tools else Say(LAST_WORDS)


def polling(asked: Asked, _: list[Asked]) -> Say:
    return Say("", (Call("poll"),)) if asked.number <= POLLS else Say(LAST_WORDS)


def dropped(cuts: int) -> Script:
    """One call, then so many replies that break off, then a text."""

    def script(asked: Asked, _: list[Asked]) -> Say:
        if asked.number == 1:
            return Say(FIRST_WORDS, (Call("n1"),))
        return Say(LAST_WORDS, cut=asked.number <= cuts + 1)

    return script


def overfull(asked: Asked, all_asked: list[Asked]) -> Say:
    """Three calls and a text are all the work, but the context is always said to be full, and summaries are long."""
    if not asked.tools:
        return Say(LONG_SUMMARY, (), (2 * WINDOW_TOKENS, 36_000))
    if sum(1 for each in all_asked if each.tools) <= 3:
        return Say("", (Call(f"long{asked.number}"),), (2 * WINDOW_TOKENS, 500))
    return Say(LAST_WORDS, (), (2 * WINDOW_TOKENS, 500))


def two_calls(asked: Asked, _: list[Asked]) -> Say:
    """Two calls with words; the third request is where the process dies, and whatever comes later gets a text."""
    if asked.number <= 2:
        return Say(f"{FIRST_WORDS} {asked.number}", (Call(f"n{asked.number}"),))
    return Say(LAST_WORDS, delay_seconds=3.0 if asked.number == 3 else 0.0)


def deadly(asked: Asked, _: list[Asked]) -> Say:
    return Say(FIRST_WORDS, (Call("die"),)) if asked.number == 1 else Say(LAST_WORDS)


def stubborn_and_killed(asked: Asked, before: list[Asked]) -> Say:
    return replace(stubborn(asked, before), delay_seconds=3.0 if asked.number == 3 else 0.0)
