"""`Sidebar`: context, cost, limits, tasks, changed files, subagents and MCP servers of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import VerticalScroll

from bridle.core.ledger import Account
from bridle.core.limits import counted
from bridle.core.parts import Changed, Patch
from bridle.core.session import Session
from bridle.runtime.project_views import ServerRow
from bridle.runtime.sessions import Branch
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.limit_levels import bar, levels, short, tree_words
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.call_rows import todo_rows
from bridle.surfaces.tui.gauge import ink_of
from bridle.surfaces.tui.rows import BLANK, Piece, RowsView, TextRow, row
from bridle.surfaces.tui.status_line import context_share, cost_of, dollars

WIDTH = 36
BAR = 10
MOST_FILES = 12
MARKS: dict[str, Piece] = {
    "busy": ("● ", "primary"),
    "retry": ("↻ ", "warning"),
    "paused": ("? ", "warning"),
    "interrupted": ("✗ ", "error"),
    "idle": ("✓ ", "success"),
}


class SidebarFacts(NamedTuple):
    """Everything that the sidebar shows."""

    session: Session
    elapsed: float = 0.0
    tree: Account | None = None
    branches: tuple[Branch, ...] = ()
    servers: tuple[ServerRow, ...] = ()


class Sidebar(VerticalScroll):
    """The sidebar of a session, for wide terminals."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="sidebar")
        self._shown = RowsView()

    def compose(self) -> ComposeResult:
        yield self._shown

    def show(self, facts: SidebarFacts) -> None:
        self._shown.show_rows(_rows(facts))


def _rows(facts: SidebarFacts) -> Iterator[TextRow]:
    sections = (_context, _limits, _todos, _files, _subagents, _servers)
    first = True
    for section in sections:
        rows = list(section(facts))
        if rows:
            yield from () if first else (BLANK,)
            yield from rows
            first = False


def _title(words: str, *more: Piece) -> TextRow:
    return TextRow(((words, "bold text"), *more))


def _context(facts: SidebarFacts) -> Iterator[TextRow]:
    session = facts.session
    share = context_share(session)
    yield _title("Context")
    if session.turn is None:
        yield row("empty", "muted")
        return
    if share is not None:
        yield TextRow(((bar(share, BAR), ink_of(share)), (f" {share:.0%}".replace("%", " %"), ink_of(share))))
        yield row(f"{short(session.tokens)} of {short(session.turn.window)} tokens", "muted")
    else:
        yield row(f"{short(session.tokens)} tokens", "muted")
    yield row(f"{dollars(cost_of(session))} spent", "muted")


def _limits(facts: SidebarFacts) -> Iterator[TextRow]:
    turn = facts.session.turn
    if turn is None:
        return
    yield _title("Limits of this turn")
    for level in levels(turn, facts.elapsed):
        name = (f"{level.limit.label:<7}", "muted")
        drawn = ((f"{bar(level.share, BAR)} ", ink_of(level.share)),) if level.share is not None else ()
        yield TextRow((name, *drawn, (level.words, ink_of(level.share))))
    if facts.tree is not None and facts.tree.total:
        for words in tree_words(facts.tree):
            yield row(words, "muted", hang=2)


def _todos(facts: SidebarFacts) -> Iterator[TextRow]:
    todos = facts.session.todos
    if todos:
        done = sum(each.status == "completed" for each in todos)
        yield _title("Todos", (f"  {done}/{len(todos)}", "muted"))
        yield from todo_rows(todos)


def changed_files(session: Session) -> dict[str, Changed]:
    """Return the files that the session's calls have changed, with the sums of their lines."""
    found: dict[str, Changed] = {}
    for part in session.parts.values():
        if not isinstance(part, Patch):
            continue
        for each in part.files:
            before = found.get(each.path)
            added, removed = (before.added, before.removed) if before is not None else (0, 0)
            found[each.path] = Changed(each.path, each.how, each.added + added, each.removed + removed)
    return found


def _files(facts: SidebarFacts) -> Iterator[TextRow]:
    files = list(changed_files(facts.session).values())
    if not files:
        return
    yield _title("Changed files", (f"  {len(files)}", "muted"))
    for each in files[-MOST_FILES:]:
        numbers: list[Piece] = [(f"+{each.added} ", "success")] if each.added else []
        numbers += [(f"-{each.removed} ", "error")] if each.removed else []
        yield TextRow(((_short_path(each.path, WIDTH - 14), "text"),), right=tuple(numbers) or ((each.how, "muted"),))
    if len(files) > MOST_FILES:
        yield row(f"and {counted(len(files) - MOST_FILES, 'other')}", "muted")


def _short_path(path: str, most: int) -> str:
    """Return a path without its beginning, if it is long."""
    words = line(path)
    return words if len(words) <= most else f"…{words[1 - most :]}"


def _subagents(facts: SidebarFacts) -> Iterator[TextRow]:
    if facts.branches:
        yield _title("Subagents")
        yield from _branches(facts.branches, 0)


def _branches(branches: Iterable[Branch], depth: int) -> Iterator[TextRow]:
    for each in branches:
        words = f"{line(each.agent)}  {line(telling(each.arguments))[:40]}"
        indent = "  " * depth
        step = ((f" {each.steps}/{each.cap}", "muted"),)
        yield TextRow(
            ((indent, "text"), MARKS.get(each.state, ("· ", "muted")), (words, "text")), hang=2 + 2 * depth, right=step
        )
        yield from _branches(each.below, depth + 1)


def _servers(facts: SidebarFacts) -> Iterator[TextRow]:
    if not facts.servers:
        return
    yield _title("MCP servers")
    for each in facts.servers:
        if each.problem:
            yield TextRow(
                (("✗ ", "error"), (line(each.name), "text"), (f"  {line(each.problem)[:60]}", "muted")), hang=2
            )
        else:
            yield TextRow(
                (("● ", "success"), (line(each.name), "text"), (f"  {counted(len(each.tools), 'tool')}", "muted"))
            )
