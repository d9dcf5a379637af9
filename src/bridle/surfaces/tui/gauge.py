"""`Gauge`: the line above the editor: what the turn does, how to stop it, and limits that no sidebar shows."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from textual.timer import Timer

from bridle.core.ledger import Account
from bridle.core.session import Session
from bridle.surfaces.shared.limit_levels import NEAR, Level, bar, levels, tree_words
from bridle.surfaces.tui.rows import Piece, RowsView, TextRow
from bridle.surfaces.tui.widgets import key_of

WIDTH = 8
FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.12
AT_WORK = ("busy", "retry")


class Gauge(RowsView):
    """One line below the transcript."""

    def __init__(self) -> None:
        super().__init__(id="gauge")
        self.has_sidebar = False
        """Whether a sidebar shows the limits: then only those that are near are repeated here."""
        self._status = ""
        self._frame = 0
        self._steps = 0
        self._seconds = 0.0
        self._levels: list[Level] = []
        self._tree: Account | None = None
        self._begun = False
        self._turning: Timer | None = None

    def show(self, session: Session, elapsed: float, status: str, tree: Account | None = None) -> None:
        turn = session.turn
        self._status, self._tree, self._begun = status, tree, turn is not None
        self._levels = list(levels(turn, elapsed)) if turn is not None else []
        self._steps = turn.used.steps if turn is not None else 0
        self._seconds = elapsed
        self._spin(status in AT_WORK)
        self.redraw()

    def _spin(self, at_work: bool) -> None:
        if at_work and self._turning is None and self.is_attached:
            self._turning = self.set_interval(FRAME_SECONDS, self._turn)
        elif not at_work and self._turning is not None:
            self._turning.stop()
            self._turning = None

    def _turn(self) -> None:
        self._frame += 1
        self.redraw()

    def rows(self, width: int) -> Iterator[TextRow]:
        state = list(self._state())
        room = width - sum(cell_len(text) for text, _ in state) - 3
        limits = [*self._limits(room)] if self._begun else []
        yield TextRow(tuple(state), right=tuple(limits))

    def _state(self) -> Iterator[Piece]:
        """Yield what the session does, and the key that helps."""
        match self._status:
            case "busy" | "retry":
                yield (f"{FRAMES[self._frame % len(FRAMES)]} ", "bold primary")
                yield (f"step {self._steps} · {self._seconds:.0f} s · ", "text")
                yield (f"{'retrying · ' if self._status == 'retry' else ''}{key_of(self, 'stop')} stops", "muted")
            case "paused":
                yield ("? ", "bold warning")
                yield ("waits for your answer", "warning")
            case "interrupted":
                yield ("■ ", "warning")
                yield (f"interrupted · {key_of(self, 'proceed')} continues", "warning")
            case "idle" if self._begun:
                yield ("● ", "success")
                yield ("idle", "muted")

    def _limits(self, room: int) -> Iterator[Piece]:
        """Yield the usage of limits, as much as there is room for: with bars, without them, or only the nearest."""
        bounded = [level for level in self._levels if level.share is not None]
        if self.has_sidebar:
            bounded = [level for level in bounded if (level.share or 0.0) >= NEAR]
        tree = [*tree_words(self._tree)] if self._tree is not None and self._tree.total and not self.has_sidebar else []
        nearest = sorted(bounded, key=lambda level: -(level.share or 0.0))[:2]
        for shown, width, more in (
            (bounded, WIDTH, tree),
            (bounded, WIDTH, tree[:1]),
            (bounded, 0, []),
            (nearest, 0, []),
        ):
            pieces = [*(piece for level in shown for piece in _level(level, width))]
            pieces += [(f"  {words}", "muted") for words in more]
            if sum(cell_len(text) for text, _ in pieces) <= room:
                yield from pieces
                return


def _level(level: Level, width: int) -> Iterator[Piece]:
    yield (f"  {level.limit.label} ", "muted")
    if width:
        yield (f"{bar(level.share, width)} ", ink_of(level.share))
    yield (level.words, ink_of(level.share))


def ink_of(share: float | None) -> str:
    """Return the ink of a limit with this share used."""
    if share is None:
        return "text"
    return "bold error" if share >= 1 else "bold warning" if share >= NEAR else "success"
