"""Reads nodes of the parser's syntax tree of a command line: their text, their parts, the gaps between them."""

from __future__ import annotations

import re

from tree_sitter import Node

EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution", "arithmetic_expansion"}
)
CONTENT = frozenset({"string_content", "heredoc_content"})


class Unclear(Exception):
    """The parser and bash may read this differently."""


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", errors="surrogateescape")


def check_gaps(node: Node) -> None:
    """Raise `Unclear` unless blanks separate the words: bash may join two across a continued line."""
    source = node.text or b""
    end = None
    for child in node.children:
        gap = source[end : child.start_byte - node.start_byte] if end is not None else b" "
        if not re.fullmatch(rb"(\\\n)*[ \t]([ \t]|\\\n)*", gap) and "redirect" not in child.type:
            raise Unclear("words that may be one")
        end = child.end_byte - node.start_byte


def without_expansions(node: Node) -> tuple[str, list[Node]]:
    """Return the text of a string or a here-document with a NUL for each expansion, and the expansions."""
    source = node.text or b""
    expansions = [child for child in node.named_children if child.type in EXPANSIONS]
    odd = [child.type for child in node.named_children if child.type not in EXPANSIONS | CONTENT]
    if odd:
        raise Unclear(f"{odd[0]} inside a text")
    text, end = b"", 0
    for child in expansions:
        text += source[end : child.start_byte - node.start_byte] + b"\0"
        end = child.end_byte - node.start_byte
    return (text + source[end:]).decode("utf-8", errors="surrogateescape"), expansions


def is_quoted(node: Node) -> bool:
    return not (node.type == "command_name" and [child.type for child in node.children] == ["word"])


def operands_of(node: Node) -> list[tuple[Node, str]]:
    """Return the operands of a list from left to right, each with the operator that follows it."""
    left, operator, right = node.children[0], node.children[1].type, node.children[-1]
    inner = operands_of(left) if left.type == "list" else [(left, "")]
    return [*inner[:-1], (inner[-1][0], operator), (right, "")]
