"""Parses a command line with tree-sitter into a `Script` of commands, opened files and doubts; `walk` finds them."""

from __future__ import annotations

from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Parser

from bridle.shell.findings import Folders, Script
from bridle.shell.walk import Walk
from bridle.shell.words import invisible

DEEPEST = 100
LONGEST = 100_000


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def taken_apart(source: str, folders: Folders = frozenset({""}), depth: int = 0) -> Script:
    """Return everything that a command line may run and open; never raises."""
    odd = next((letter for letter in source if letter not in "\n\t" and invisible(letter)), None)
    if odd is not None:
        return Script(doubts=[f"the character {odd!r}"])
    if depth > DEEPEST or len(source) > LONGEST:
        return Script(doubts=["too long or too deep"])
    root = _parser().parse(source.encode("utf-8", errors="surrogatepass")).root_node
    script = Script(doubts=["bash itself may not understand it"] if root.has_error else [])
    try:
        Walk(script, folders, depth, taken_apart).visit(root)
    except RecursionError:
        script.doubts.append("too deep")
    script.doubts += [f"{name} may print what is evaluated" for name in script.numbers.printed_by & script.functions]
    script.doubts += [f"{name} may be evaluated and is not only a number" for name in script.numbers.unsafe()]
    return script
