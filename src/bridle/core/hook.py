"""`HookSettings`: a shell command from the settings, and the moment of a turn at which `turn.shell_hook` runs it."""

from __future__ import annotations

from typing import Literal

import msgspec

HookEvent = Literal[
    "before_call", "after_call", "step_start", "step_end", "before_compaction", "pause", "limit", "turn_end"
]


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command of the user as a hook."""

    on: HookEvent
    command: str
    """A shell command that receives JSON on standard input. Before a call, an exit status other than 0 blocks the call.

    It may print an answer as JSON: `arguments` before a call, `output` after one, `instruction` or `add` before a
    compaction.
    """
    tool: str = "*"
    """Runs only for calls of tools that match this pattern."""
    seconds: float = 60.0
    sandbox: bool = True
    """False runs the command outside the sandbox; only the user's own configuration may set that."""
