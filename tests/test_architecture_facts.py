"""Ids are built and read in one module, and facts are never read from words."""

import ast
import re

import pytest
from support.source import MODULES, SOURCE, name, tree

IDS = SOURCE / "core" / "ids.py"
ID_WORDS = {
    word
    for node in ast.walk(tree(IDS))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
    if re.fullmatch(r"[./:~]?[a-z_.]+[./:~]?", node.value)
    for word in re.findall(r"[a-z_]{2,}", node.value)
}
"""The words of which ids are made: `start`, `notice`, `ended` and so on."""
ID_NAMES = {
    *("id", "session", "parent", "child", "turn", "number", "account", "task_id", "extension"),
    *("call", "ask", "prompt", "request", "item"),
}
"""Names of variables and fields that hold ids, or the numbers of which ids are made."""
ID_SHAPE = re.compile(r"[./:~]?(\{\}|[a-z_]+)([./:~](\{\}|[a-z_]+(\{\})?))*[./:~]?")
ID_PIECE = re.compile(r"[./:~]|[./:~]?[a-z_]+[./:~]?")
FILE_ENDS = {"txt", "lock", "protected"}
READERS = {
    *("partition", "rpartition", "split", "rsplit", "startswith", "endswith", "removeprefix", "removesuffix"),
    *("index", "find", "rfind"),
}


def is_called(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).rpartition(".")[2] in names


def is_read(node: ast.AST, names: set[str]) -> bool:
    """Whether a text that is called so is taken apart, or looked at in part."""
    reads = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS
    return reads and bool(node.args) and is_called(node.func.value, names)


def builds_an_id(node: ast.AST) -> bool:
    """Whether a text has the shape of an id, and has the words of one or begins with one."""
    if isinstance(node, ast.BinOp):
        adds = isinstance(node.op, ast.Add) and isinstance(node.right, ast.Constant)
        return adds and is_called(node.left, ID_NAMES) and ID_PIECE.fullmatch(str(node.right.value)) is not None
    if not isinstance(node, ast.JoinedStr):
        return False
    shape = "".join(piece.value if isinstance(piece, ast.Constant) else "{}" for piece in node.values)
    words = set(re.findall(r"[a-z_]+", shape))
    if not ID_SHAPE.fullmatch(shape) or not re.search(r"[./:~]", shape) or words & FILE_ENDS:
        return False
    first = next(piece.value for piece in node.values if isinstance(piece, ast.FormattedValue))
    return bool(words & ID_WORDS) or (shape.startswith("{}") and is_called(first, ID_NAMES | {"part", "_prefix"}))


def reads_an_id(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice) and is_called(node.value, ID_NAMES)
    if not is_read(node, ID_NAMES):
        return False
    sought = node.args[0]
    return not isinstance(sought, ast.Constant) or (
        isinstance(sought.value, str) and ID_PIECE.fullmatch(sought.value) is not None
    )


def ids_in(source: ast.Module) -> list[str]:
    return [ast.unparse(node) for node in ast.walk(source) if builds_an_id(node) or reads_an_id(node)]


@pytest.mark.parametrize("path", [path for path in MODULES if path != IDS], ids=name)
def test_ids_are_built_and_read_in_one_module(path):
    assert ids_in(tree(path)) == []


@pytest.mark.parametrize(
    "code",
    [
        'f"{number}.start"',
        'f"{turn.start.number}.{action.number}.{action.attempt}"',
        'f"{turn.start.number}.c{place}"',
        'f"{self._prefix}.{index}"',
        'f"{active.record.lease.session}:{call}"',
        'f"{session}."',
        'f"{key}.extension.{item}"',
        'f"day/{now:%Y-%m-%d}"',
        'call.id + ".result"',
        'request.id.split(".")[1]',
        'id.partition("~")',
        'part.id.endswith(f".extension.{extension}")',
        'account.parent.startswith(("day/", "month/"))',
        "id.startswith(prefix)",
        "session[:4]",
    ],
)
def test_an_id_that_is_built_or_read_elsewhere_is_found(code):
    assert ids_in(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        'f"{turn.steps}/{turn.cap}"',
        'f"session {id}: {problem}."',
        'f"{session}.lock"',
        'f"{call}.txt"',
        'f"{provider}/{model}"',
        'f"{host}:{port}"',
        'f"bridle.tools.{name}"',
        'item.partition("=")',
        'number.partition("%")',
        "words.split()",
    ],
)
def test_other_texts_are_not_taken_for_ids(code):
    assert ids_in(ast.parse(code)) == []


RECORDED_WORDS = {"text", "output", "detail", "headline", "error", "told", "message"}
"""Fields with words for people and models."""


def learns_from_words(node: ast.AST) -> bool:
    """Whether the words of something are looked into."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        words = node.comparators[0]
        return isinstance(words, ast.Attribute) and words.attr in RECORDED_WORDS
    return is_read(node, RECORDED_WORDS) and isinstance(node.func.value, ast.Attribute)


@pytest.mark.parametrize("package", ["core", "turn", "engine", "runtime", "surfaces", "wire"])
def test_facts_are_not_read_from_words(package):
    for code in ("message.text.startswith(HEAD)", '"denied" in state.output'):
        assert any(map(learns_from_words, ast.walk(ast.parse(code))))
    modules = sorted((SOURCE / package).rglob("*.py"))
    found = {name(path): [node.lineno for node in ast.walk(tree(path)) if learns_from_words(node)] for path in modules}
    assert {module: lines for module, lines in found.items() if lines} == {}
