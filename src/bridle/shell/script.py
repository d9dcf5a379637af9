"""Parser for command lines: finds every simple command that a line may run and every file that it may open."""

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
    script = Script()
    odd = next((letter for letter in source if letter not in "\n\t" and invisible(letter)), None)
    if odd is not None:
        script.doubts.append(f"the character {odd!r}")
        return script
    if depth > DEEPEST or len(source) > LONGEST:
        script.doubts.append("too long or too deep")
        return script
    root = _parser().parse(source.encode("utf-8", errors="surrogatepass")).root_node
    if root.has_error:
        script.doubts.append("bash itself may not understand it")
    walk = Walk(script, folders, depth, taken_apart)
    try:
        walk.visit(root)
    except RecursionError:
        script.doubts.append("too deep")
    script.doubts += [f"{name} may print what is evaluated" for name in script.numbers.printed_by & script.functions]
    script.doubts += [f"{name} may be evaluated and is not only a number" for name in script.numbers.unsafe()]
    return script
