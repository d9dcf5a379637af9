"""The limit gauge: usage of each limit, with a color change at 80 % and at the limit."""

from __future__ import annotations

from textual.content import Content

from bridle.core.ledger import Account
from bridle.core.session import Session
from bridle.surfaces.shared.limit_levels import NEAR, bar, levels, tree_words
from bridle.surfaces.tui.widgets import Static, text

WIDTH = 8


class Gauge(Static):
    """One line below the transcript."""

    def __init__(self) -> None:
        super().__init__("", id="gauge")

    def show(self, session: Session, elapsed: float, status: str, tree: Account | None = None) -> None:
        turn = session.turn
        if turn is None:
            self.update("no turn yet")
            return
        pieces: list[Content] = [Content.styled(f" {status} ", "reverse")]
        for level in levels(turn, elapsed):
            style = _style(level.share)
            drawn = Content.styled(bar(level.share, WIDTH), style) if level.share is not None else Content("")
            pieces.append(Content.assemble((level.limit.label, "dim"), " ", drawn, " ", (level.words, style)))
        if tree is not None and tree.total:
            pieces += [text(words) for words in tree_words(tree)]
        self.update(Content("  ").join(pieces))


def _style(share: float | None) -> str:
    if share is None:
        return ""
    return "$error bold" if share >= 1 else "$warning bold" if share >= NEAR else "$success"
