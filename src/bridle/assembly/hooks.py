"""Lists the hooks of a turn in call order: the user's shell commands, then the program's functions; runs none."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.core.hook import HookSettings
from bridle.core.parts import TurnStart
from bridle.tools.command_setup import CommandSetup
from bridle.turn.caller import Caller
from bridle.turn.hook import Hook
from bridle.turn.setup import PermissionSetup


def turn_hooks(
    settings: Sequence[HookSettings],
    caller: Caller | None,
    place: tuple[str, TurnStart],
    commands: CommandSetup,
    permissions: PermissionSetup,
) -> tuple[Hook, ...]:
    """Return the hooks of a turn in the order in which they are asked; `place` is its session and its start."""
    functions = caller.hooks if caller is not None else ()
    if not settings:
        return tuple(functions)
    # Imported only if there are commands to run.
    from bridle.turn.shell_hook import ShellHook

    session, start = place
    return (*(ShellHook(hook, session, start.number, commands, permissions) for hook in settings), *functions)
