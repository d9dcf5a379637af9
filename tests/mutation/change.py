"""Every small change that can be made to a module: another comparison, number, word or order, or less of it."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OTHER_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
}
OTHER_FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
DECLARED = ("annotation", "returns", "decorator_list", "keywords of a class", "bases")


@dataclass(frozen=True)
class Mutant:
    """A module with one change in it; the name says where and what, and stays the same when lines move."""

    module: str
    name: str
    code: CodeType


@dataclass(frozen=True)
class _Site:
    """A node, and where in its parent it hangs."""

    node: ast.AST
    parent: ast.AST
    field: str
    place: int | None
    function: str

    def put(self, node: ast.AST) -> None:
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node


def mutants(module: str, source: str, file: str) -> Iterator[Mutant]:
    """All mutants of a module, in the order of its text."""
    tree = ast.parse(source)
    names: Counter[str] = Counter()
    for site in list(_sites(tree, "")):
        for changed in _changes(site):
            # Only what is new lacks its place in the text; to look through the whole module each time takes long.
            ast.fix_missing_locations(ast.copy_location(changed, site.node))
            site.put(changed)
            name = f"{site.function or 'module'}: {_shown(site.node)} -> {_shown(changed)}"
            names[name] += 1
            if names[name] > 1:
                name += f" ({names[name]})"
            yield Mutant(module, name, compile(tree, file, "exec"))
            site.put(site.node)


def untouched(module: str, source: str, file: str) -> Mutant:
    """The module as it is: a test that notices this one notices nothing."""
    return Mutant(module, "as it is", compile(source, file, "exec"))


def _sites(parent: ast.AST, function: str) -> Iterator[_Site]:
    """What may be changed. Types and declarations may not: no test sees them, the type checker does."""
    for field, value in ast.iter_fields(parent):
        named = "keywords of a class" if isinstance(parent, ast.ClassDef) and field == "keywords" else field
        if named in DECLARED:
            continue
        for place, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or _only_declares(node):
                continue
            within = function
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                within = f"{function}.{node.name}" if function else node.name
            yield _Site(node, parent, field, place, within)
            yield from _sites(node, within)


def _only_declares(node: ast.AST) -> bool:
    """A docstring, an import, a type with a name."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        return isinstance(node.value.value, ast.Name) and node.value.value.id in ("Literal", "tuple")
    return isinstance(node, ast.Import | ast.ImportFrom)


def _changes(site: _Site) -> Iterator[ast.AST]:
    node = site.node
    match node:
        case ast.Compare():
            yield from _comparisons(node)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            for place in range(len(node.values)):
                rest = node.values[:place] + node.values[place + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp() if type(node.op) in OTHER_OPERATORS:
            yield ast.BinOp(node.left, OTHER_OPERATORS[type(node.op)](), node.right)
        case ast.AugAssign():
            yield ast.AugAssign(node.target, OTHER_OPERATORS[type(node.op)](), node.value)
            yield ast.Pass()
        case ast.Constant():
            yield from _constants(node)
        case ast.Call():
            yield from _calls(node)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.If() | ast.IfExp() | ast.While():
            if not isinstance(node.test, ast.Compare | ast.UnaryOp):
                changed = copy.copy(node)
                changed.test = ast.UnaryOp(ast.Not(), node.test)
                yield changed
            if not isinstance(node, ast.IfExp):
                yield ast.Pass()
        case ast.For() | ast.Expr():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute()]):
            yield ast.Pass()
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) > 1:
            yield ast.Tuple(elements[1:], ast.Load())


def _comparisons(node: ast.Compare) -> Iterator[ast.AST]:
    for place, operator in enumerate(node.ops):
        for other in OTHER_COMPARISONS[type(operator)]:
            yield ast.Compare(node.left, [*node.ops[:place], other(), *node.ops[place + 1 :]], node.comparators)


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    match node.value:
        case bool():
            yield ast.Constant(not node.value)
        case int() | float():
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
        case str():
            yield ast.Constant(f"{node.value}!")


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    if isinstance(node.func, ast.Name) and node.func.id in OTHER_FUNCTIONS:
        # Their arguments may stand in any order.
        yield ast.Call(ast.Name(OTHER_FUNCTIONS[node.func.id], ast.Load()), node.args, node.keywords)
        return
    for place in range(len(node.args) - 1):
        swapped = list(node.args)
        swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
        yield ast.Call(node.func, swapped, node.keywords)
    for place in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, node.keywords[:place] + node.keywords[place + 1 :])


def _shown(node: ast.AST) -> str:
    """A change in one line; of longer pieces the first line says enough."""
    first, *more = ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines() or ["nothing"]
    return f"{first} ..." if more else first
