"""`StatusLine`: the line below the editor: context, cost, agent, model, directory and branch."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from bridle.core.parts import TurnFinish
from bridle.core.session import Session
from bridle.surfaces.shared.limit_levels import NEAR, short
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.rows import Piece, RowsView, TextRow


def cost_of(session: Session) -> float:
    """Return the cost of all turns of a session."""
    spent = sum(part.spent.cost for part in session.parts.values() if isinstance(part, TurnFinish))
    return spent + (session.running.used.cost if session.running is not None else 0.0)


def context_share(session: Session) -> float | None:
    """Return the used share of the model's context window; None if the window is not known."""
    window = session.turn.window if session.turn is not None else 0
    return session.tokens / window if window else None


def context_words(session: Session) -> str:
    """Return the size of the context: "context 12 %", or in tokens if the window is not known."""
    share = context_share(session)
    return f"context {share:.0%}".replace("%", " %") if share is not None else f"context {short(session.tokens)} tokens"


def dollars(cost: float) -> str:
    """Return a cost as people write it."""
    return f"${cost:.2f}" if cost >= 0.01 or not cost else f"${cost:.4f}"


class StatusLine(RowsView):
    """One line of facts; those on the left give way where there is no room."""

    def __init__(self) -> None:
        super().__init__(id="status")
        self._facts: tuple[Piece, ...] = ()
        self._place = ""

    def show(self, session: Session, agent: str, model: str, place: str) -> None:
        share = context_share(session)
        ink = "warning" if share is not None and share >= NEAR else "muted"
        begun: list[Piece] = [(context_words(session), ink), (dollars(cost_of(session)), "muted")]
        facts: list[Piece] = [*(begun if session.turn is not None else ()), (line(agent), "bold text")]
        self._facts = (*facts, (line(model), "muted")) if model else tuple(facts)
        self._place = line(place)
        self.redraw()

    def rows(self, width: int) -> Iterator[TextRow]:
        facts = [*self._facts, (self._place, "muted")] if self._place else [*self._facts]
        while len(facts) > 1 and sum(cell_len(text) + 3 for text, _ in facts) - 3 > width:
            facts.pop(0 if len(facts) > 3 else -1)
        pieces = [piece for fact in facts for piece in ((" · ", "muted"), fact)]
        yield TextRow(tuple(pieces[1:]))
