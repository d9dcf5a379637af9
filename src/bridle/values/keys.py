"""`KeySettings`: the keys of the terminal application, by the name of what they do, and their check."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

LEADER = "leader"
PLAIN_NAMES = (
    *("enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
    *("up", "down", "left", "right", "minus", "plus", "comma", "full_stop", "slash", "backslash", "question_mark"),
)
"""Names of keys besides letters, digits and function keys."""
MODIFIED = re.compile(r"(?:(?:ctrl|alt|shift)\+)*(?P<name>[a-z0-9]|f[1-9]|f1\d|f2[0-4]|[a-z_]{2,})")


class KeySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of the terminal application: several are separated by commas, none is an empty text.

    `leader m` means the leader key and then m.
    """

    leader: str = "ctrl+x"
    """The key before the keys with `leader`."""
    send: str = "enter"
    """Send the prompt; while a turn runs, steer it."""
    newline: str = "ctrl+j, shift+enter, alt+enter"
    queue: str = "leader enter"
    """Send the prompt for a turn of its own, after the running one."""
    stop: str = "escape"
    """Close a list, leave a mode, stop the turn; twice when idle: clear the draft, or rewind."""
    interrupt: str = "ctrl+c"
    """Stop the turn; clear the draft; leave."""
    next_agent: str = "tab"
    """The next primary agent; completes while a list is open."""
    approvals: str = "shift+tab"
    """Approvals: by the rules, ask each time, or automatic."""
    prompts: str = "ctrl+r"
    """Search earlier prompts of all sessions."""
    editor: str = "ctrl+g, leader e"
    paste: str = "ctrl+v"
    help: str = "f1, leader h"
    sessions: str = "f2, leader l"
    models: str = "f3, leader m"
    agents: str = "f4, leader a"
    extend: str = "f5"
    """Raise the limit of which most is used, by half."""
    subagents: str = "f6, leader o"
    background: str = "f7"
    undo: str = "f8, leader u"
    redo: str = "f9, leader r"
    proceed: str = "ctrl+t"
    """Continue after a limit, or an interrupted turn."""
    copy: str = "ctrl+o, leader y"
    new: str = "leader n"
    timeline: str = "leader g"
    compact: str = "leader c"
    export: str = "leader x"
    themes: str = "leader t"
    status: str = "leader s"
    diff: str = "leader d"
    fork: str = "leader f"
    variants: str = "leader v"
    asks: str = "leader p"
    """Show a postponed ask again."""
    waiting: str = "leader w"
    """Edit or withdraw a prompt that waits."""
    read: str = "leader tab"
    """Go to the transcript."""
    search: str = "ctrl+f"
    """Search the transcript."""
    palette: str = "ctrl+p"
    """Search everything that the application can do."""
    exit: str = "ctrl+d, leader q"
    quit: str = "ctrl+q"
    """Leave, also from a dialog and with a draft."""
    list_rename: str = "ctrl+r"
    """In the list of sessions, like the next three: the highlighted one."""
    list_pin: str = "ctrl+t"
    list_fork: str = "ctrl+f"
    list_delete: str = "ctrl+d"
    list_favorite: str = "ctrl+f"
    """In the list of models, like the next one."""
    list_connect: str = "ctrl+l"
    list_undo: str = "ctrl+u"
    """In the list of earlier prompts: undo from the highlighted one on."""
    list_withdraw: str = "ctrl+d"
    """In the list of prompts that wait."""
    list_login: str = "ctrl+l"
    """In the list of MCP servers."""


def keys_of(given: str) -> list[str]:
    """Return the single keys of a setting; those after the leader begin with `leader `."""
    return [" ".join(key.lower().split()) for key in given.split(",") if key.strip()]


def wrong_keys(given: object) -> str | None:
    """Return why the value of a key setting is invalid; None if it is valid."""
    if not isinstance(given, str):
        return f'must be keys as text, as in "f2, leader l", not {given!r}'
    for key in keys_of(given):
        pressed = key.removeprefix(f"{LEADER} ")
        found = MODIFIED.fullmatch(pressed)
        name = found["name"] if found is not None else ""
        if found is None or (len(name) > 1 and not re.fullmatch(r"f\d+", name) and name not in PLAIN_NAMES):
            near = get_close_matches(name or pressed, PLAIN_NAMES, 1)
            hint = f"; did you mean {near[0]}?" if near else ', as in "f2", "ctrl+o" or "leader l"'
            return f"names no key: {pressed}{hint}"
        if key == pressed and len(pressed) == 1:
            return f"cannot be the plain key {pressed}, which is typed: add ctrl+, alt+ or leader"
    return None


LISTS = (
    ("list_rename", "list_pin", "list_fork", "list_delete"),
    ("list_favorite", "list_connect"),
    ("list_undo",),
    ("list_withdraw",),
    ("list_login",),
)
"""Settings whose keys count in one list, and take precedence there over all others."""


def clashes(keys: KeySettings) -> list[tuple[str, str]]:
    """Return each setting with a key that another setting has too, with that key."""
    given = msgspec.structs.asdict(keys)
    everywhere = [name for name in given if not any(name in listed for listed in LISTS)]
    return [clash for names in (everywhere, *LISTS) for clash in _clashing({name: given[name] for name in names})]


def _clashing(given: Mapping[str, str]) -> list[tuple[str, str]]:
    taken = Counter(key for keys in given.values() for key in keys_of(keys))
    return [(name, key) for name, keys in given.items() for key in keys_of(keys) if taken[key] > 1]
