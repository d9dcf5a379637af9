"""Completion of the word at the cursor: slash commands, files, folders and agents, found by fuzzy search."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bridle.errors import BridleError
from bridle.runtime.project import Backend
from bridle.surfaces.shared.fuzzy import ranked
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.widgets import OptionList

if TYPE_CHECKING:
    from bridle.surfaces.tui.commands import CommandTable

MOST_SHOWN = 8
MOST_FILES = 50


class Completion(NamedTuple):
    """A completion: the word, its description, and whether enter may send it at once."""

    word: str
    words: str = ""
    sends: bool = False


class Completions(OptionList):
    """The list of completions above the editor."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="completions")
        self._found: list[Completion] = []
        self.word = ""
        """The word that the list completes."""

    def offer(self, found: list[Completion], word: str = "") -> None:
        """Show completions of a word; none closes the list."""
        self._found, self.word = found, word
        width = max((len(each.word) for each in found), default=0) + 2
        self.show(f"{each.word:<{width}}{each.words}".rstrip() for each in found)
        self.display = bool(found)

    @property
    def chosen(self) -> Completion | None:
        """The highlighted completion of an open list."""
        at = self.highlighted if self.display else None
        return self._found[at] if at is not None and at < len(self._found) else None


class Completer:
    """Finds completions."""

    def __init__(self, commands: CommandTable) -> None:
        self._commands = commands

    async def find(self, runtime: Backend, word: str) -> list[Completion]:
        """Return the completions of a word that begins with / or @."""
        if word.startswith("/"):
            return self._slash(word[1:])
        return await self._named(runtime, word[1:])

    def _slash(self, wanted: str) -> list[Completion]:
        found = ranked(wanted, self._commands.rows(), lambda row: row.searched)
        # The name counts more than the description: `/the` is `/themes` before `/new`, which starts another session.
        named = [row for row in found if ranked(wanted, (row,), lambda each: each.names)]
        rows = [*named, *(row for row in found if row not in named)] if wanted else found
        shown = rows if wanted else rows[:MOST_FILES]
        return [Completion(f"/{row.name}", line(row.words)[:80], row.ours) for row in shown[:MOST_FILES]]

    async def _named(self, runtime: Backend, wanted: str) -> list[Completion]:
        agents = [row.agent for row in runtime.agents() if row.agent.mode != "primary" and not row.agent.hidden]
        fit = ranked(wanted, agents, lambda agent: agent.name)
        found = [Completion(f"@{agent.name}", line(agent.description)[:80] or "agent") for agent in fit]
        try:
            files = await runtime.find_files(wanted, MOST_FILES)
        except BridleError as error:
            return [*found, Completion(f"@{wanted}", line(str(error)))]
        for each in files:
            word = f'@"{each.path}"' if " " in each.path else f"@{each.path}"
            if word != f"@{wanted}":
                found.append(Completion(word, "folder" if each.kind == "folder" else ""))
        return found[:MOST_FILES] if wanted else found[:MOST_SHOWN]
