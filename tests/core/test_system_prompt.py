"""The system prompt: its pieces in order, a blank line between them, and nothing for those that are empty."""

from itertools import product

from bridle.core.system_prompt import system_prompt

NAMES = ("header", "agent", "environment", "instructions", "call", "user")


def test_pieces_are_joined_in_order_and_empty_ones_leave_no_trace():
    for given in product([True, False], repeat=len(NAMES)):
        pieces = {name: f"  The {name}.\n" if there else " \n" for name, there in zip(NAMES, given, strict=True)}
        instructions = (pieces.pop("instructions"), "", "More." if given[3] else "")
        wanted = [f"The {name}." for name, there in zip(NAMES, given, strict=True) if there]
        if given[3]:
            wanted.insert(wanted.index("The instructions.") + 1, "More.")
        assert system_prompt(instructions=instructions, **pieces) == "\n\n".join(wanted)
