"""The first screen of a new session."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.surfaces.tui.rows import BLANK, RowsView, TextRow, row
from bridle.surfaces.tui.widgets import key_of


class WelcomeView(RowsView):
    """The welcome text. `model` says which model answers, or how to get one."""

    def __init__(self, model: str) -> None:
        super().__init__(classes="welcome")
        self._model = model

    def rows(self, width: int) -> Iterator[TextRow]:
        yield row("Bridle", "bold primary")
        yield row("Every turn here is counted, recorded, and ends well.", "text")
        yield BLANK
        yield from (row(line, "text") for line in self._model.split("\n"))
        yield BLANK
        for key, words in (
            ("@", "names a file, a folder or an agent"),
            ("/", "lists the commands"),
            (key_of(self, "help"), "shows all keys"),
            (key_of(self, "undo"), "undoes a turn with its files"),
        ):
            yield TextRow(((f"{key:<4}", "bold primary"), (words, "muted")), hang=4)
        yield BLANK
        yield row("Nothing leaves this machine but requests to the model and to your tools.", "muted")
