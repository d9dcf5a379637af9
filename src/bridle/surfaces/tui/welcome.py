"""The first screen of a new session."""

from __future__ import annotations

from bridle.surfaces.tui.rows import BLANK, RowsView, TextRow, row

TIPS = (
    ("@", "names a file, a folder or an agent"),
    ("/", "lists the commands"),
    ("f1", "shows all keys"),
    ("f8", "undoes a turn with its files"),
)


def welcome(model: str) -> RowsView:
    """Return the welcome text. `model` says which model answers, or how to get one."""
    tips = [TextRow(((f"{key:<4}", "bold primary"), (words, "muted")), hang=4) for key, words in TIPS]
    rows = [
        row("Bridle", "bold primary"),
        row("Every turn here is counted, recorded, and ends well.", "text"),
        BLANK,
        *(row(line, "text") for line in model.split("\n")),
        BLANK,
        *tips,
        BLANK,
        row("Nothing leaves this machine but requests to the model and to your tools.", "muted"),
    ]
    return RowsView(rows, classes="welcome")
