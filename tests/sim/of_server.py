"""What must hold where sessions are on a PostgreSQL server; other worlds have nothing of it."""

from __future__ import annotations

from sim.tree import Tree


def no_overlap(tree: Tree) -> None:
    """No process takes a session while a call of it runs in another process that lost its lease."""
    assert _noted(tree, "overlaps") == [], _noted(tree, "overlaps")


def refused_rightly(tree: Tree) -> None:
    """A reservation is refused only if it does not fit the ledger at some moment since it was asked for."""
    assert _noted(tree, "refused_wrongly") == [], _noted(tree, "refused_wrongly")


def nothing_left(tree: Tree) -> None:
    """After the end no lease is held, no session waits for a drive, and no job is left."""
    assert _noted(tree, "left_behind") == [], _noted(tree, "left_behind")


def taken_over(tree: Tree) -> None:
    """The sessions of a worker that died are taken over as soon as its lease and the sweep allow."""
    assert _noted(tree, "late") == [], _noted(tree, "late")


def heard_soon(tree: Tree) -> None:
    """The holder of a session takes a new abort at once if notifications arrive, and else when it looks again."""
    assert _noted(tree, "unheard") == [], _noted(tree, "unheard")


def _noted(tree: Tree, what: str) -> list[str]:
    """What the disk has noted; others than a server have nothing to note of this."""
    return getattr(tree.disk, what, [])
