"""Wiring: named arguments, small groups, typed composition, names that exist once."""

import ast
import functools

import pytest
from support.source import MODULES, SOURCE, name, tree

MOST_POSITIONAL = 5
MOST_FIELDS = 12


def called(call: ast.Call) -> str:
    """The last name of what is called."""
    return getattr(call.func, "id", None) or getattr(call.func, "attr", "")


@functools.cache
def own_callables() -> set[str]:
    """The names of our classes and functions, but for those that take any number of arguments."""
    nodes = [node for path in MODULES for node in ast.walk(tree(path))]
    made = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    return (classes | {node.name for node in made} | {"cls"}) - {node.name for node in made if node.args.vararg}


def own_calls(*folders: str) -> list[tuple[str, ast.Call]]:
    """Every call of our own callables in these folders, or in all, with its place."""
    ours = own_callables()
    return [
        (f"{name(path)}:{node.lineno} {called(node)}", node)
        for path in MODULES
        if not folders or name(path).startswith(folders)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and called(node) in ours
    ]


def test_no_call_of_ours_has_many_arguments_without_a_name():
    assert [place for place, node in own_calls() if len(node.args) > MOST_POSITIONAL] == []


def fields_of(node: ast.ClassDef) -> list[str]:
    """The fields of a dataclass or a struct; none, if it is neither."""
    heads = [*node.decorator_list, *node.bases]
    if not any("dataclass" in ast.unparse(head) or "Struct" in ast.unparse(head) for head in heads):
        return []
    named = [item for item in node.body if isinstance(item, ast.AnnAssign)]
    return [ast.unparse(item.target) for item in named if ast.unparse(item.annotation) != "KW_ONLY"]


def test_what_a_turn_works_with_comes_in_small_groups():
    counts = {
        node.name: len(fields_of(node))
        for path in MODULES
        if name(path).startswith("turn/")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
    }
    assert counts["TurnSetup"] and counts["ActiveTurn"]
    assert {made: count for made, count in counts.items() if count > MOST_FIELDS} == {}


WIRING = ("assembly/", "runtime/", "library/")
FREE_FORM = {
    "config_schema": "a JSON schema",
    "schema": "a JSON schema",
    "_schema": "a JSON schema",
    "output": "the JSON schema of an answer",
    "model_options": "options of a provider",
    "flags": "settings by their keys, as a person typed them",
    "fields": "a table for a file of the user's, as a person typed it",
    "metadata": "JSON that a program records with its prompt",
    "placed": "metadata",
    "from_current_span": "metadata",
    "_metadata": "metadata",
    "options": "options of a provider",
    "deps": "makes dependencies from metadata",
    "arguments": "arguments of a tool call, as JSON",
    "output_type": "a type and its JSON schema",
    "schema_of": "a JSON schema",
}
"""What may be `dict[str, Any]` in wiring, and why: everything else is a typed field."""


def annotated(module: ast.Module) -> list[tuple[str, ast.expr | None]]:
    """Every name in a module that has an annotation: variables, fields, parameters, and functions for their results."""
    found: list[tuple[str, ast.expr | None]] = []
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign):
            found.append((ast.unparse(node.target), node.annotation))
        elif isinstance(node, ast.arg):
            found.append((node.arg, node.annotation))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((node.name, node.returns))
    return found


@pytest.mark.parametrize("path", [path for path in MODULES if name(path).startswith(WIRING)], ids=name)
def test_wiring_is_typed(path):
    loose = {called for called, kind in annotated(tree(path)) if kind and "[str, Any]" in ast.unparse(kind)}
    assert loose - set(FREE_FORM) == set()
    splats = [
        place
        for place, node in own_calls(name(path))
        if any(keyword.arg is None for keyword in node.keywords)
        # Limits are given by their names.
        and path.name != "limits.py"
    ]
    assert splats == []


def test_a_public_class_name_exists_once():
    """Tags of recorded unions have their own names; `Agent` of the library is an `AgentDefinition` in the core."""
    names = [
        node.name
        for path in MODULES
        for node in tree(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert {found for found in names if names.count(found) > 1} == set()


def test_the_top_level_has_three_modules():
    assert {path.name for path in SOURCE.glob("*.py")} == {"__init__.py", "errors.py", "seams.py"}
