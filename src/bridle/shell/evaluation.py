"""Checks text that bash evaluates again, as in arithmetic: `a[$(command)]` runs a command, so only numbers pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tree_sitter import Node

from bridle.shell.nodes import Unclear, text_of
from bridle.shell.variables import steers
from bridle.shell.words import Word, expands

RUNS = frozenset({"command_substitution", "process_substitution", "expansion", "simple_expansion"})
COMPARE = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
PRINTS_NUMBER = r"nproc|date \+%[sYmdHMS]|git rev-list --count [\w./~^]+|wc -[clmw] < [\w./]+"


@dataclass(slots=True)
class Numbers:
    """The variables of a script, with whether each holds only numbers, and those that must (`counted`)."""

    given: dict[str, bool] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    printed_by: set[str] = field(default_factory=set)
    """Programs whose output is evaluated because they print numbers. A function of that name may print anything."""

    def assign(self, name: str, *, number: bool) -> None:
        """Record one assignment. The order does not matter, since a loop may repeat it."""
        self.given[name] = number and self.given.get(name, True)

    def include(self, other: Numbers) -> None:
        """Add the variables of another text that runs in the same shell."""
        for name, number in other.given.items():
            self.assign(name, number=number)
        self.counted |= other.counted
        self.printed_by |= other.printed_by

    def unsafe(self) -> list[str]:
        return sorted(name for name in self.counted if not self.given.get(name, False))


@dataclass(slots=True, frozen=True)
class Evaluated:
    """Checks text that bash would evaluate. `visit` handles commands in it, `word` handles words."""

    numbers: Numbers
    visit: Callable[[Node], None]
    word: Callable[[Node], Word]

    def arithmetic(self, node: Node) -> None:
        for found in below(node):
            if found.type in RUNS:
                self.visit(found)
                self._number(found)
            elif found.type in ("string", "raw_string", "ansi_c_string", "subscript"):
                raise Unclear("text in arithmetic")
            elif found.type in ("variable_name", "word") and not text_of(found).isdigit():
                self.numbers.counted.add(text_of(found))

    def _number(self, node: Node) -> None:
        """Check an expansion that is evaluated as a number; raises `Unclear` unless it is certain to be one."""
        text = text_of(node)
        named = re.fullmatch(r"\$([A-Za-z_]\w*)|\$\{([A-Za-z_]\w*)(:?-\d+)?\}", text)
        if named:
            self.numbers.counted.add(named[1] or named[2])
        elif node.type == "command_substitution" and (program := _counts(node)):
            self.numbers.printed_by.add(program)
        elif text not in ("$#", "$?", "$$", "$!") and not re.fullmatch(r"\$\{#\w+(\[[@*]\])?\}", text):
            raise Unclear("a value that may be evaluated")

    def loop_head(self, node: Node) -> None:
        """Check one of the three parts of a counting loop."""
        started = re.match(r"\s*([A-Za-z_]\w*)\s*=\s*\d+\s*$", text_of(node))
        if started:
            self.numbers.assign(started[1], number=True)
        self.arithmetic(node)

    def subscript(self, node: Node) -> None:
        inner = text_of(node).partition("[")[2].removesuffix("]")
        name = inner.removeprefix("$")
        if re.fullmatch(r"[A-Za-z_]\w*", name):
            self.numbers.counted.add(name)
        elif not inner.isdigit() and inner not in ("@", "*", "-1"):
            raise Unclear("an index that may be evaluated")

    def test(self, node: Node) -> None:
        """Check a test: `[[ ]]` evaluates the operands of some operators, and the name after -v."""
        double = text_of(node).startswith("[[")
        if not double and any(child.type in ("<", ">", ">>") for child in below(node)):
            raise Unclear("a redirection in a test")
        self._operands(node, double=double)

    def _operands(self, node: Node, *, double: bool) -> None:
        operators = {text_of(child) for child in node.children if child.type in ("test_operator", "word")}
        if operators & {"-v", "-R"}:
            raise Unclear("a test that evaluates a name")
        counts = double and bool(operators & COMPARE)
        for child in node.children:
            if child.type in ("binary_expression", "unary_expression", "parenthesized_expression"):
                self._operands(child, double=double)
            elif child.type == "redirected_statement":
                raise Unclear("a redirection in a test")
            elif child.type in ("extglob_pattern", "regex"):
                check_pattern(child)
            elif child.is_named and child.type not in ("test_operator", "comment"):
                self._operand(child, counts=counts)

    def _operand(self, node: Node, *, counts: bool) -> None:
        word = self.word(node)
        if not counts or (word.known and re.fullmatch(r"[-+]?\d+", word.text)):
            return
        inner = node.named_children if node.type == "string" else [node]
        if len(inner) != 1 or inner[0].type not in RUNS or text_of(node).strip('"') != text_of(inner[0]):
            raise Unclear("a test that may evaluate what it is given")
        self._number(inner[0])

    def expansion(self, node: Node) -> None:
        text = text_of(node)
        if node.type == "simple_expansion":
            if not re.fullmatch(r"\$(\w+|[@*#?$!-])", text):
                raise Unclear("a variable that is none")
            return
        if re.match(r"\$\{([|\s]|!)", text) or re.search(r"@[A-Za-z]\}$", text):
            raise Unclear("an expansion that may run commands")
        for child in node.named_children:
            if child.type == "subscript":
                self.subscript(child)
            elif child.type in ("binary_expression", "unary_expression", "ternary_expression"):
                self.arithmetic(child)
            elif child.type in ("regex", "raw_string"):
                # Inside double quotes, single quotes are ordinary characters.
                check_pattern(child)
            elif child.type not in ("variable_name", "special_variable_name"):
                self.word(child)
        named = re.match(r"\$\{(\w+):?=", text)
        if named:
            self.numbers.assign(named[1], number=False)
            if steers(named[1]):
                raise Unclear(f"{named[1]} changes what commands do")
        ranged = re.match(r"\$\{[^:}]*:(?![-=+?])(.*)\}$", text, flags=re.DOTALL)
        if ranged and re.search(r"[A-Za-z$`]", ranged[1]):
            raise Unclear("a range that may be evaluated")


def _counts(node: Node) -> str:
    """Return the program in a substitution if its output is certain to be one number; else an empty string."""
    inner = node.named_children
    if len(inner) == 1 and inner[0].type == "pipeline" and {child.type for child in inner[0].children[1::2]} == {"|"}:
        last = inner[0].children[-1]
        return "wc" if re.fullmatch(r"wc -[clmw]", text_of(last)) else ""
    found = re.fullmatch(PRINTS_NUMBER, text_of(inner[0])) if len(inner) == 1 else None
    return found[0].partition(" ")[0] if found else ""


def below(node: Node) -> list[Node]:
    """Return a node and its descendants, without those inside commands and expansions."""
    found = [node]
    for child in node.children:
        found += [child] if child.type in RUNS else below(child)
    return found


def check_pattern(node: Node) -> None:
    if expands(text_of(node)) or re.search(r"[<>]\(", text_of(node)):
        raise Unclear("an expansion in a pattern")
