"""The system prompt: its pieces in their order, without the empty ones."""

from bridle.core.system_prompt import system_prompt


def test_pieces_are_joined_in_their_order_and_empty_ones_are_left_out():
    whole = system_prompt(
        header=" Header.\n",
        agent="Agent.",
        environment="Here.",
        instructions=("One.", "Two."),
        call="Call.",
        user="User.",
    )
    assert whole == "Header.\n\nAgent.\n\nHere.\n\nOne.\n\nTwo.\n\nCall.\n\nUser."
    fewer = system_prompt(header="", agent="Agent.", environment=" \n", instructions=("", "Two."), call="", user="")
    assert fewer == "Agent.\n\nTwo."
