"""`KeyMap`: which key does what, by the settings; and the help text that lists keys and commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import msgspec
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys

from bridle.values.keys import LEADER, KeySettings, keys_of

IN_EDITOR: Final = {
    "send": "send the prompt; while a turn runs, steer it",
    "newline": "a new line; also \\ and enter",
    "queue": "send the prompt for a turn of its own, after the running one",
    "next_agent": "complete; else the next agent",
    "approvals": "approve calls by the rules, ask each time, or automatically",
    "stop": "close, leave a mode, stop the turn; twice: clear the draft, or rewind",
    "interrupt": "stop the turn and keep everything; clear the draft; leave",
    "paste": "paste, also an image; long text stands as a mark",
    "read": "go to the transcript: arrows scroll, enter opens a call",
    "search": "search the transcript",
    "palette": "search everything",
    "quit": "leave, also from a dialog",
    "leader": "wait for one more key",
}
"""What keys do that have no command."""
IN_LISTS: Final = {
    "list_rename": "rename",
    "list_pin": "pin",
    "list_fork": "fork",
    "list_delete": "delete",
    "list_favorite": "favorite",
    "list_connect": "connect a provider",
    "list_undo": "undo from here on",
    "list_withdraw": "withdraw",
    "list_login": "log in",
}
"""What keys do with the highlighted entry of a list."""
TYPED: Final = """\
!             in an empty line: run a shell command
@             attach a file or a folder, or ask an agent
/             a command
up, down      earlier prompts, and those that wait
pageup, down  scroll the transcript
arrows, enter choose an answer to a request and give it; esc: later

Everything works with the mouse as well.
A file that is dropped here goes with the prompt.
"""


def mend_sequences() -> None:
    """Teach Textual how terminals without the kitty protocol send alt+enter and shift+enter: as a new line."""
    known = cast("dict[str, tuple[Keys, ...]]", ANSI_SEQUENCES_KEYS)
    for sequence in ("\x1b\r", "\x1b[27;2;13~", "\x1b[27;3;13~", "\x1b[27;5;13~"):
        known[sequence] = (Keys.ControlJ,)


class KeyMap:
    """The keys of a person."""

    def __init__(self, settings: KeySettings) -> None:
        self._keys = {name: keys_of(given) for name, given in msgspec.structs.asdict(settings).items()}

    def direct(self, name: str) -> list[str]:
        """Return the keys that do this at once."""
        return [key for key in self._keys.get(name, []) if not key.startswith(f"{LEADER} ")]

    def by_key(self, names: Iterable[str]) -> dict[str, str]:
        """Return the actions of keys pressed alone, restricted to these names."""
        return {key: name for name in names for key in self.direct(name)}

    def in_list(self, *names: str) -> dict[str, str]:
        """Return what each key of these names does with the highlighted entry of a list."""
        return {key: IN_LISTS[name] for name in names for key in self.direct(name)}

    def hint(self, name: str) -> str:
        """Return the first key of an action, or else its command, as text for people."""
        return self.shown(name).partition(", ")[0] or f"/{name}"

    def after_leader(self) -> dict[str, str]:
        """Return the actions of keys pressed after the leader key."""
        found = ((key, name) for name, keys in self._keys.items() for key in keys if key.startswith(f"{LEADER} "))
        return {key.removeprefix(f"{LEADER} "): name for key, name in found}

    def shown(self, name: str) -> str:
        """Return the keys of an action as text for people; empty if it has none."""
        leader = next(iter(self._keys["leader"]), "")
        return ", ".join(_short(key.replace(LEADER, leader, 1)) for key in self._keys.get(name, []))

    def help(self, commands: Mapping[str, str]) -> str:
        """Return all keys and commands; `commands` are the words of each slash command."""
        lines = [f"{self.shown(name) or '-':<26} {words}" for name, words in IN_EDITOR.items()]
        lines += [f"{self.shown(name) or '-':<26} in a list: {words}" for name, words in IN_LISTS.items()]
        lines += [f"{'/' + name:<14}{self.shown(name):<12} {words}" for name, words in commands.items()]
        return "\n".join([*lines, "", TYPED])


def _short(key: str) -> str:
    return key.replace("escape", "esc")


def leader_lines(keys: KeyMap, words_of: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each key after the leader key."""
    for key, name in sorted(keys.after_leader().items()):
        yield f"{key:<6} {words_of.get(name) or IN_EDITOR.get(name, name)}"
