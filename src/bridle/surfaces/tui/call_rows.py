"""Rows of tool calls: one view per tool, and a compact one for all others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bridle.core.context import ANSWERED
from bridle.core.limits import counted
from bridle.core.parts import Call
from bridle.core.states import Asking, CallState, Done, Failed, Refused, Running, Waiting
from bridle.core.todos import Todo
from bridle.runtime.sessions import Branch
from bridle.surfaces.shared.call_summary import telling
from bridle.surfaces.shared.call_words import REFUSALS, TODO_MARKS, arguments_of, todos_in, within, worded
from bridle.surfaces.shared.diff_lines import DiffLine, DiffOfFile, compared, file_diffs
from bridle.surfaces.shared.limit_levels import reason_words, used_words
from bridle.surfaces.shared.safe_text import line
from bridle.surfaces.tui.diff_rows import counts, diff_rows
from bridle.surfaces.tui.rows import Piece, TextRow, row

MOST_LINES = 400
"""Lines of an open call."""
DIFF_LINES = 24
OUTPUT_LINES = 8
COMMAND_LINES = 6
ERROR_LINES = 4
REPORT_LINES = 2
LEAST_SECONDS = 1.0
"""Shorter calls do not say how long they took."""


class Seen(NamedTuple):
    """A call as it is shown now."""

    call: Call
    state: CallState
    live: str = ""
    seconds: float = 0.0
    opened: bool = False
    directory: str = ""
    wide: bool = False
    written: int = 0
    """Characters of arguments that the model has written so far."""
    branch: Branch | None = None
    """The subagent that the call has started."""

    @property
    def arguments(self) -> dict[str, Any]:
        return arguments_of(self.call.given)

    @property
    def printed(self) -> str:
        """What the call has returned, or printed so far."""
        ended = self.state.output if isinstance(self.state, (Done, Failed)) else ""
        return ended or self.live

    def path(self, *names: str) -> str:
        """Return the first of these arguments as a path in the project."""
        given = self.arguments
        return within(next((worded(given[name]) for name in names if given.get(name)), ""), self.directory)


def call_rows(seen: Seen, width: int) -> list[TextRow]:
    """Return the rows of a call."""
    view = VIEWS.get(seen.call.name, _other)
    return [*view(seen, width)]


def is_block(call: Call, state: CallState) -> bool:
    """Return whether a call stands in a block of its own, and not on one line."""
    return call.name in BLOCKS and not isinstance(state, Refused)


def _mark(seen: Seen, done: str = "✓", ink: str = "success") -> Piece:
    match seen.state:
        case Done():
            return (done, ink)
        case Failed():
            return ("✗", "error")
        case Refused():
            return ("⊘", "warning")
        case Asking():
            return ("?", "bold warning")
        case Running() | Waiting():
            return ("●", "primary")
    return ("·", "muted")


def _tail(seen: Seen) -> tuple[Piece, ...]:
    """Return the end of a call's first row: why it was not run, or how long it took."""
    match seen.state:
        case Refused(refusal):
            return ((REFUSALS[refusal.name], "warning"),)
        case Asking():
            return (("waits for your answer", "warning"),)
        case Done() | Failed() if seen.seconds >= LEAST_SECONDS:
            return ((f"{seen.seconds:.1f} s", "muted"),)
    return ((f"{seen.written:,} characters", "muted"),) if seen.written else ()


def _head(seen: Seen, mark: Piece, verb: str, about: str, *facts: Piece) -> TextRow:
    pieces = [mark, (f" {verb} ", "muted"), (line(about), "text")]
    for text, ink in facts:
        pieces += [("  ", "muted"), (text, ink)] if text else []
    tail = _tail(seen)
    if isinstance(seen.state, Refused):
        pieces += [("  ", "muted"), *tail]
        tail = ()
    return TextRow(tuple(pieces), hang=2, right=tail)


def _below(seen: Seen, most: int = 0) -> Iterator[TextRow]:
    """Yield the output of a call of one line: why it failed, or all of it once it is open."""
    failed = isinstance(seen.state, Failed)
    refused = seen.state.output if isinstance(seen.state, Refused) and seen.opened else ""
    words = (refused or seen.printed).strip("\n")
    most = MOST_LINES if seen.opened else ERROR_LINES if failed else most
    if words and most:
        yield from _output(words, most, "error" if failed else "muted", indent=2)


def _output(words: str, most: int, ink: str, *, indent: int = 0) -> Iterator[TextRow]:
    lines = words.split("\n")
    for each in lines[:most]:
        yield TextRow(((" " * indent, ink), (each, ink)), hang=indent)
    if len(lines) > most:
        yield row(f"{' ' * indent}… {counted(len(lines) - most, 'more line')}", "muted")


def _found(seen: Seen, nouns: str) -> Piece:
    """Return the number of lines of a result; a result of one line is returned itself."""
    if not isinstance(seen.state, Done):
        return ("", "muted")
    lines = [each for each in seen.printed.split("\n") if each and not each.startswith("[")]
    if len(lines) == 1:
        return (line(seen.state.output)[:80], "muted")
    return (f"{len(lines):,} {nouns}", "muted")


def _read(seen: Seen, width: int) -> Iterator[TextRow]:
    given = seen.arguments
    first = given.get("offset")
    where = f"from line {first}" if isinstance(first, int) and first > 1 else ""
    attached = isinstance(seen.state, Done) and seen.state.attached
    size = "attached" if attached else f"{seen.printed.count(chr(10)) + 1:,} lines" if "\n" in seen.printed else ""
    facts = ((where, "muted"), (size if isinstance(seen.state, Done) else "", "muted"))
    yield _head(seen, _mark(seen, "→", "muted"), "Read", seen.path("filePath", "path"), *facts)
    yield from _below(seen)


def _list(seen: Seen, width: int) -> Iterator[TextRow]:
    about = seen.path("path") or "."
    yield _head(seen, _mark(seen, "→", "muted"), "List", about, _found(seen, "entries"))
    yield from _below(seen)


def _glob(seen: Seen, width: int) -> Iterator[TextRow]:
    yield from _search(seen, "Find", "files")


def _grep(seen: Seen, width: int) -> Iterator[TextRow]:
    yield from _search(seen, "Search", "lines")


def _search(seen: Seen, verb: str, nouns: str) -> Iterator[TextRow]:
    given, folder = seen.arguments, seen.path("path")
    where = " ".join(each for each in (folder if folder != "." else "", worded(given.get("include"))) if each)
    facts = ((f"in {where}" if where else "", "muted"), _found(seen, nouns))
    yield _head(seen, _mark(seen, "✱", "muted"), verb, worded(given.get("pattern")), *facts)
    yield from _below(seen)


def _fetch(seen: Seen, width: int) -> Iterator[TextRow]:
    yield _head(seen, _mark(seen, "↓", "muted"), "Fetch", worded(seen.arguments.get("url")), _found(seen, "lines"))
    yield from _below(seen)


def _skill(seen: Seen, width: int) -> Iterator[TextRow]:
    yield _head(seen, _mark(seen, "→", "muted"), "Skill", worded(seen.arguments.get("name")))
    yield from _below(seen)


def _bash(seen: Seen, width: int) -> Iterator[TextRow]:
    given = seen.arguments
    command = (worded(given.get("command")) or telling(seen.call.given)).strip().split("\n")
    sign = ("$", "success") if isinstance(seen.state, (Done, Running)) else _mark(seen)
    most = MOST_LINES if seen.opened else COMMAND_LINES
    folder = seen.path("workdir")
    where: tuple[Piece, ...] = ((f"in {folder}", "muted"), ("  ", "muted")) if folder not in ("", ".") else ()
    yield TextRow((sign, (" ", "text"), (command[0], "bold text")), hang=2, right=(*where, *_tail(seen)))
    for each in command[1:most]:
        yield TextRow((("  ", "text"), (each, "bold text")), hang=2)
    if len(command) > most:
        yield row(f"  … {counted(len(command) - most, 'more line')}", "muted")
    yield from _printed(seen)


def _printed(seen: Seen) -> Iterator[TextRow]:
    """Yield the last lines that a command has printed, or all of them once it is open."""
    lines = seen.printed.strip("\n").split("\n") if seen.printed.strip("\n") else []
    if isinstance(seen.state, Running) and not lines:
        return
    most = MOST_LINES if seen.opened else OUTPUT_LINES
    if len(lines) > most:
        yield row(f"… {counted(len(lines) - most, 'earlier line')}", "muted")
    failed = isinstance(seen.state, Failed)
    for each in lines[-most:]:
        # The remarks of the tool itself: an exit status, or a hint about the sandbox.
        remark = each.startswith("[") and each.endswith("]")
        ink = ("error" if failed else "muted") if remark else "muted"
        yield row(each[1:-1] if remark else each, ink)


def _diffs(seen: Seen) -> list[DiffOfFile]:
    """Return the change that a call makes: as recorded, as asked for, or from its arguments."""
    state, given = seen.state, seen.arguments
    recorded = state.diff if isinstance(state, Done) else state.ask.diff if isinstance(state, Asking) else ""
    if recorded:
        return file_diffs(recorded)
    if seen.call.name == "apply_patch":
        lines = worded(given.get("patchText")).split("\n")
        return [DiffOfFile("", tuple(DiffLine("note", each) for each in lines if each))]
    before, after = worded(given.get("oldString")), worded(given.get("newString"))
    if seen.call.name == "write":
        after = worded(given.get("content"))
    return [DiffOfFile(seen.path("filePath"), tuple(compared(before, after)))]


def _change(seen: Seen, width: int) -> Iterator[TextRow]:
    verb = "Write" if seen.call.name == "write" else "Patch" if seen.call.name == "apply_patch" else "Edit"
    diffs = _diffs(seen)
    most = MOST_LINES if seen.opened else max(4, DIFF_LINES // max(1, len(diffs)))
    if isinstance(seen.state, (Failed, Refused)):
        yield _head(seen, _mark(seen), verb, seen.path("filePath") or ", ".join(each.path for each in diffs))
        yield from _below(seen)
        return
    for each in diffs or [DiffOfFile(seen.path("filePath"), ())]:
        new = ("new", "muted") if each.how == "added" else ("deleted", "warning") if each.how == "deleted" else ("", "")
        yield _head(seen, _mark(seen, "←", "muted"), verb, within(each.path, seen.directory), *_joined(each), new)
        yield from diff_rows(each, width, most, wide=seen.wide)
    _, _, found = seen.printed.partition("\n\n")
    yield from _output(found, OUTPUT_LINES, "warning") if found else ()


def _joined(diff: DiffOfFile) -> tuple[Piece, ...]:
    return tuple(piece for piece in counts(diff) if piece[0].strip())


def todo_rows(todos: tuple[Todo, ...]) -> Iterator[TextRow]:
    """Yield the rows of a to-do list."""
    inks = {"completed": "muted", "cancelled": "muted", "in_progress": "bold warning", "pending": "text"}
    for each in todos:
        yield TextRow(
            ((f"{TODO_MARKS[each.status]} ", inks[each.status]), (line(each.content), inks[each.status])), hang=4
        )


def _todos(seen: Seen, width: int) -> Iterator[TextRow]:
    recorded = seen.state.todos if isinstance(seen.state, Done) else None
    todos = recorded if recorded is not None else todos_in(seen.arguments)
    done = sum(each.status == "completed" for each in todos)
    yield _head(seen, _mark(seen, "≡", "muted"), "Todos", f"{done}/{len(todos)}" if todos else "none")
    yield from todo_rows(todos)
    if isinstance(seen.state, (Failed, Refused)):
        yield from _below(seen)


def _question(seen: Seen, width: int) -> Iterator[TextRow]:
    listed = seen.arguments.get("questions")
    asked = listed if isinstance(listed, list) else []
    answer = seen.printed.removeprefix(ANSWERED).strip()
    for each in asked:
        given = each if isinstance(each, dict) else {}
        yield TextRow((_mark(seen, "?", "accent"), (f" {line(worded(given.get('question')))}", "text")), hang=2)
        labels = [line(worded(option.get("label"))) for option in _options(given)]
        for label in labels:
            chosen = answer == label
            yield TextRow(((f"  {'●' if chosen else '○'} {label}", "bold success" if chosen else "muted"),), hang=4)
        if answer and answer not in labels and each is asked[-1]:
            yield TextRow((("  → ", "success"), (answer, "text")), hang=4)
    if isinstance(seen.state, (Failed, Refused)):
        yield TextRow(_tail(seen))


def _options(given: dict[str, Any]) -> list[dict[str, Any]]:
    options = given.get("options")
    return [each for each in options if isinstance(each, dict)] if isinstance(options, list) else []


def _task(seen: Seen, width: int) -> Iterator[TextRow]:
    given = seen.arguments
    agent, about = worded(given.get("subagent_type")), worded(given.get("description")) or worded(given.get("prompt"))
    opens = (("enter opens", "muted"),) if seen.call.child or isinstance(seen.state, Waiting) else ()
    yield TextRow(
        (_mark(seen, "◈", "accent"), (f" {line(agent)} ", "bold text"), (line(about), "text")), hang=2, right=opens
    )
    state = seen.state
    report = state.report if isinstance(state, (Done, Failed)) else None
    if report is not None:
        words = " · ".join([reason_words(report.reason), *used_words(report.spent)])
        yield row(f"  {words}", "muted", hang=2)
        yield from _output(seen.printed.strip("\n"), MOST_LINES if seen.opened else REPORT_LINES, "muted", indent=2)
    elif isinstance(state, Waiting):
        yield _at_work(state, seen.branch)
    else:
        yield from _below(seen)


def _at_work(state: Waiting, branch: Branch | None) -> TextRow:
    if state.asks:
        return row(f"  asks: {line(state.asks[0].text)}", "warning", hang=2)
    if branch is None:
        return row("  at work", "muted")
    return row(f"  at work · step {branch.steps}/{branch.cap}", "muted")


def _other(seen: Seen, width: int) -> Iterator[TextRow]:
    yield _head(seen, _mark(seen), line(seen.call.name), line(telling(seen.call.given))[:160])
    if seen.opened:
        for name, value in seen.arguments.items():
            yield TextRow(((f"  {line(name)}: ", "muted"), (line(worded(value)), "text")), hang=4)
    live = OUTPUT_LINES if isinstance(seen.state, Running) else 0
    yield from _below(seen, live)


BLOCKS = frozenset({"bash", "edit", "write", "apply_patch", "todowrite", "question", "task"})
VIEWS: dict[str, Callable[[Seen, int], Iterator[TextRow]]] = {
    "bash": _bash,
    "edit": _change,
    "write": _change,
    "apply_patch": _change,
    "read": _read,
    "list": _list,
    "glob": _glob,
    "grep": _grep,
    "webfetch": _fetch,
    "skill": _skill,
    "todowrite": _todos,
    "question": _question,
    "task": _task,
}
