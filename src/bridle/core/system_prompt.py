"""Joins the pieces of a system prompt in order (header, agent, environment, …); `assembly` chooses the pieces.

It is joined at the start of a turn or at a handoff, and stable until the next one.
"""

from __future__ import annotations

from collections.abc import Sequence


def system_prompt(
    *, header: str, agent: str, environment: str, instructions: Sequence[str], call: str, user: str
) -> str:
    """Join provider header, agent or family prompt, environment, instruction files, this call's and the user's text."""
    pieces = (header, agent, environment, *instructions, call, user)
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())
