"""The system prompt, joined once at the start of a turn and stable until its end."""

from __future__ import annotations

from collections.abc import Sequence


def system_prompt(
    *, header: str, agent: str, environment: str, instructions: Sequence[str], call: str, user: str
) -> str:
    """Join provider header, agent or family prompt, environment, instruction files, this call's and the user's text."""
    pieces = (header, agent, environment, *instructions, call, user)
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())
