"""`Word`: a word of a command line as bash reads it, made from the syntax tree; its expansions are not known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from bridle.shell.nodes import EXPANSIONS, Unclear, text_of, without_expansions


class Word(NamedTuple):
    """A word of a command: its known beginning, whether that is all of it, and whether it stays one word."""

    text: str
    known: bool = True
    single: bool = True

    @property
    def vague(self) -> bool:
        """Return whether the word may turn out to be an option, or several words."""
        return not self.known and not (self.text and self.single)


UNKNOWN = Word("", known=False, single=False)
FOLDERS = {"$HOME": "~", "${HOME}": "~", "$PWD": ".", "${PWD}": "."}

_SPECIAL = re.compile(r"[\"'`$;|&<>()\s]")
_EXPANDS = re.compile(r"`|\$(?=[\w{(\[@*#?$!'\"-])")
_BRACES = re.compile(r"\{.*(,|\.\.).*\}|\{[^}]*$", re.DOTALL)
_GLOB = re.compile(r"[*?\[{]")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?", "a": "\a", "b": "\b", "f": "\f"}
_ESCAPES |= {"r": "\r", "v": "\v", "e": "\x1b", "E": "\x1b"}
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)


def names(text: str) -> frozenset[str]:
    """Return the set of the words in a text, which single spaces separate."""
    return frozenset(text.split(" "))


def word_of(node: Node, inside: Callable[[Node], None]) -> Word:
    """Return the word for a node; `inside` is called for each expansion in it. Raises `Unclear`."""
    match node.type:
        case "word" | "variable_name" | "special_variable_name" | "test_operator" | "extglob_pattern" | "regex":
            return _plain(text_of(node))
        case "number":
            return Word(text_of(node)) if not node.named_children else _expanded(node, inside)
        case "raw_string":
            return Word(_raw(text_of(node)))
        case "ansi_c_string":
            return _ansi(text_of(node))
        case "string":
            return _quoted(node, inside)
        case "translated_string":
            return word_of(node.named_children[0], inside)
        case "concatenation" | "command_name":
            return _joined([word_of(child, inside) for child in node.children], node, inside)
        case kind if kind in EXPANSIONS:
            return _expanded(node, inside)
        case "brace_expression":
            return UNKNOWN
    raise Unclear(f"{node.type}: {text_of(node)[:40]}")


def _expanded(node: Node, inside: Callable[[Node], None]) -> Word:
    inside(node)
    if node.type == "process_substitution":
        return Word("/dev/fd/63")
    return Word(FOLDERS[text_of(node)]) if text_of(node) in FOLDERS else UNKNOWN


def _joined(words: list[Word], node: Node, inside: Callable[[Node], None]) -> Word:
    end = node.start_byte
    for child in node.children:
        if child.start_byte != end:
            raise Unclear("a gap inside a word")
        end = child.end_byte
    # Braces that span several pieces of one word are visible only here.
    source = text_of(node)
    if any(child.type == "word" and "{" in text_of(child) for child in node.children) and _BRACES.search(source):
        if re.search(r"\{.*[/~$`'\"\\-]", source):
            raise Unclear("braces that may become anything")
        return Word(source.partition("{")[0], known=False, single=False)
    single = all(word.single for word in words)
    text = ""
    for child, word in zip(node.children, words, strict=False):
        if child.type == "word" and re.search(r"(?<!\\)[\[*?]", text_of(child)) and node.type == "concatenation":
            return Word(text, known=False, single=False)
        text += word.text
        if not word.known:
            return Word(text, known=False, single=single)
    return Word(text)


def _plain(text: str) -> Word:
    """Return an unquoted word: backslashes are removed, and from a wildcard on it is unknown."""
    result = ""
    index = 0
    while index < len(text):
        letter = text[index]
        if letter == "\\":
            following = text[index + 1 : index + 2]
            if not following:
                raise Unclear("a backslash at the end")
            result += "" if following == "\n" else following
            index += 2
            continue
        if _SPECIAL.match(letter) and not (letter == "$" and index == len(text) - 1):
            raise Unclear(f"{letter!r} inside a word")
        if _GLOB.match(letter) and text != "[" and (letter != "{" or _BRACES.search(text)):
            if letter == "{" and re.search(r"\{.*[/~\\-]", text, re.DOTALL):
                raise Unclear("braces that may become anything")
            return Word(result, known=False, single=False)
        result += letter
        index += 1
    return Word(result)


def _raw(text: str) -> str:
    content = text[1:-1]
    if not text.startswith("'") or not text.endswith("'") or len(text) < 2 or "'" in content:
        raise Unclear("quotes that do not match")
    return content


def _ansi(text: str) -> Word:
    if not re.fullmatch(r"\$'([^'\\]|\\.)*'", text, re.DOTALL):
        raise Unclear("quotes that do not match")
    content = text[2:-1]
    if re.search(r"\\c|\\(0|00|000|x0|x00)(?![0-9a-fA-F])", content):
        return UNKNOWN
    return Word(_ANSI.sub(lambda found: _escaped(found[1]), content))


def _escaped(escape: str) -> str:
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(min(int(escape[1:], 16), 0x10FFFF))
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _ESCAPES.get(escape, f"\\{escape}")


def _quoted(node: Node, inside: Callable[[Node], None]) -> Word:
    """Return the word for a string in double quotes."""
    bare, expansions = without_expansions(node)
    if expands(bare[1:-1]) or '"' in re.sub(r"\\.", "", bare[1:-1], flags=re.DOTALL):
        raise Unclear("an expansion that was not seen")
    for child in expansions:
        inside(child)
    text, _, rest = bare[1:-1].partition("\0")
    folder = FOLDERS.get(text_of(expansions[0])) if len(expansions) == 1 and not text else None
    if folder is not None:
        return Word(folder + _unescaped(rest))
    return Word(_unescaped(text), known=not expansions)


def _unescaped(text: str) -> str:
    """Return the content of double quotes without its backslashes."""
    return re.sub(r"\\([\\\"$`\n])", lambda found: "" if found[1] == "\n" else found[1], text)


def expands(text: str) -> bool:
    """Return whether bash would expand anything in this text inside double quotes or a here-document."""
    return _EXPANDS.search(re.sub(r"\\.", "", _joined_lines(text), flags=re.DOTALL)) is not None


def _joined_lines(text: str) -> str:
    """Return text as bash reads it: a line that ends with a backslash continues on the next."""
    return re.sub(r"(?<!\\)((?:\\\\)*)(?:\\\n)+", r"\1", text)


def ends_only_at_its_end(text: str, delimiter: str, *, quoted: bool) -> bool:
    """Return whether bash ends a here-document, given with its last line, where the parser does."""
    *body, end = (text if quoted else _joined_lines(text)).split("\n")
    return end.strip("\t") == delimiter and not any(line.strip() == delimiter for line in body)


def invisible(letter: str) -> bool:
    """Return whether bash takes a character for a letter and people for a space or nothing."""
    return letter != " " and unicodedata.category(letter) in ("Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co")
