"""Write docs/reference.md: every public name with its signature, its fields and its docstring, from the source."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import bridle
from support.paths import ROOT

PAGE = ROOT / "docs" / "reference.md"
WIDTH = 100
HEAD = """# API reference

Every name is imported from `bridle`. [Bridle in a Python program](library.md) and [Sessions in a server](runtime.md)
show them at work. This page is generated from the docstrings.
"""
SUBJECTS = {
    "Agents": [
        *["Agent", "Context", "Result", "Stream", "Limits", "TreeLimits", "ReachedLimit", "Price", "Rule"],
        *["Settings", "ModelSettings", "WorkerSettings", "Provider", "AgentSettings", "LimitSettings", "TreeSettings"],
        "Allowance",
        *["CompactionSettings", "RetrySettings", "DeadlineSettings", "JournalSettings", "SandboxSettings"],
        "TelemetrySettings",
        *["ShellSettings", "PromptSettings", "HookSettings"],
    ],
    "Tools": ["tool", "coding_tools", "McpServer", "Output", "Media", "Tool", "ToolSpec", "Access", "Todo"],
    "Models": [
        *[
            "Model",
            "FunctionModel",
            "ModelInfo",
            "ModelRequest",
            "StreamEvent",
            "TextDelta",
            "ReasoningDelta",
            "ToolCall",
            "ToolInputStart",
            "ToolInputDelta",
            "ToolInputEnd",
            "Alive",
            "StepEnd",
        ],
        *["StreamEnd", "ModelError"],
    ],
    "Accounts": ["Budget", "BudgetChange", "AccountUse", "PeriodUse", "Account"],
    "Hooks": [
        *["Hooks", "BeforeCall", "AfterCall", "BeforeRequest", "AfterRequest", "ModelReply"],
        *["Change", "Refuse", "Replace"],
    ],
    "Conversations": [
        *["Message", "UserMessage", "AssistantMessage", "AssistantText", "Thought", "CallMessage", "ResultMessage"],
        *["Attachment", "from_openai", "from_anthropic", "to_openai", "to_anthropic"],
    ],
    "Sessions": [
        *["Sessions", "Runtime", "RuntimeConfig", "TurnOptions", "AgentDefinition", "File", "Ask", "Status"],
        *["SessionRow", "SessionQuery", "PageMark", "SessionInfo", "Branch", "Reverted", "Extension", "Notice"],
        *["Session", "PromptItem", "Entry", "PartDelta", "Usage", "ModelUse", "Spent", "connect", "ServerClient"],
    ],
    "Journals and engines": ["Journal", "MemoryJournal", "Lease", "Engine", "LocalEngine", "DriveSetup", "Seams"],
    "Events": [
        "Event",
        "EventStream",
        *sorted(name for name in bridle.__all__ if name.endswith("Event") and name not in ("Event", "StreamEvent")),
    ],
    "Tests": ["ScriptedModel", "Reply", "ScriptedCall", "ScriptedError", "call", "forbid_requests"],
    "Errors": [
        *["BridleError", "ConfigError", "AccessRefused", "JournalError", "JournalRefused", "LeaseLost"],
        *[
            "NoSuchSession",
            "ServerAway",
            "AlreadyAnswered",
            "TokenRefused",
            "NoOutput",
            "TurnLeft",
            "ToolFailed",
            "Retry",
        ],
    ],
}
"""All public names, by subject; a test compares them with `bridle.__all__`."""
SETTINGS_PAGE = "its keys are those of [the settings file](settings.md)"
NOT_SHOWN = dict.fromkeys([*(name for name in bridle.__all__ if name.endswith("Settings")), "McpServer"], SETTINGS_PAGE)
"""Classes whose fields are documented elsewhere."""

LEFT_OUT = {
    "Agent": ["run_below"],
    "Context": ["show", "runner"],
    "Runtime": ["delegate", "check", "leased"],
}
"""Members that other modules of Bridle use."""

PLAIN_BASES = ("Protocol", "NamedTuple", "TypedDict", "Exception")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_of(name: str) -> ast.Module:
    """Return the module that a name is imported from."""
    path = import_module(bridle._PLACES[name]).__file__
    return ast.parse(Path(path or "").read_text(encoding="utf-8"))


def found(name: str, module: ast.Module) -> tuple[ast.stmt, ast.Module]:
    """Return the definition of a name and its module, following imports; of several overloads the last."""
    places = [each for each in module.body if name in _defines(each)]
    if places and not isinstance(places[-1], ast.ImportFrom):
        return places[-1], module
    imports = [each for each in ast.walk(module) if isinstance(each, ast.ImportFrom)]
    (source_module,) = {each.module or "" for each in imports if name in [alias.name for alias in each.names]}
    path = import_module(source_module).__file__
    return found(name, ast.parse(Path(path or "").read_text(encoding="utf-8")))


def _defines(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return [statement.name]
    return [source(target) for target in statement.targets] if isinstance(statement, ast.Assign) else []


def doc_after(body: list[ast.stmt], place: int) -> str:
    """Return the text that documents the statement at a place: the string literal after it."""
    following = body[place + 1] if place + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        return " ".join(str(following.value.value).split())
    return ""


def doc_of(name: str) -> str:
    """Return the whole docstring of a name."""
    statement, module = found(name, module_of(name))
    if isinstance(statement, ast.Assign):
        return doc_after(module.body, module.body.index(statement))
    assert isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    return ast.get_docstring(statement) or ""


def signature(function: Function, name: str, *, method: bool) -> str:
    """Return a call as it is written in code, on one line if it fits."""
    given = function.args
    # An argument that takes only None is there to refuse others.
    given.kwonlyargs = [
        each for each in given.kwonlyargs if each.annotation is None or source(each.annotation) != "None"
    ]
    plain = [*given.posonlyargs, *given.args][method and not _is_static(function) :]
    defaults: list[ast.expr | None] = [*given.defaults]
    words = [
        *map(_argument, plain, [*([None] * (len(plain) - len(defaults))), *defaults][-len(plain) :] if plain else [])
    ]
    if given.vararg is not None:
        words.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        words.append("*")
    words += map(_argument, given.kwonlyargs, given.kw_defaults)
    if given.kwarg is not None:
        words.append(f"**{_argument(given.kwarg, None)}")
    begin = "await " if isinstance(function, ast.AsyncFunctionDef) and not _yields(function) else ""
    returned = f" -> {source(function.returns)}" if function.returns is not None and function.name != "__init__" else ""
    line = f"{begin}{name}({', '.join(words)}){returned}"
    if len(line) <= WIDTH:
        return line
    return f"{begin}{name}(\n" + "".join(f"    {word},\n" for word in words) + f"){returned}"


def _is_static(function: Function) -> bool:
    return any(ast.unparse(mark) == "staticmethod" for mark in function.decorator_list)


def _yields(function: Function) -> bool:
    return function.returns is not None and ast.unparse(function.returns).startswith("Async")


def _argument(given: ast.arg, default: ast.expr | None) -> str:
    kind = f": {source(given.annotation)}" if given.annotation is not None else ""
    return f"{given.arg}{kind}" + (f" = {source(default)}" if default is not None else "")


def source(expression: ast.expr | ast.stmt) -> str:
    """Return the code of an expression, in the quotes of this code base."""
    return ast.unparse(expression).replace("'", '"')


def classes(name: str, module: ast.Module) -> Iterator[ast.ClassDef]:
    """Yield a class and those of its bases that are not public themselves, bases first."""
    defined, module = found(name, module)
    assert isinstance(defined, ast.ClassDef)
    for base in defined.bases:
        if isinstance(base, ast.Name) and base.id not in bridle.__all__ and base.id not in PLAIN_BASES:
            yield from classes(base.id, module)
    yield defined


def fields(defined: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the public fields and properties of a class as code, each with its meaning."""
    for place, statement in enumerate(defined.body):
        if isinstance(statement, ast.AnnAssign) and not source(statement.target).startswith("_"):
            default = f" = {source(statement.value)}" if statement.value is not None else ""
            yield f"{source(statement.target)}: {source(statement.annotation)}{default}", doc_after(defined.body, place)
        elif isinstance(statement, ast.FunctionDef) and _is_property(statement) and not statement.name.startswith("_"):
            kind = source(statement.returns) if statement.returns is not None else "Any"
            yield f"{statement.name}: {kind}", " ".join((ast.get_docstring(statement) or "").split())


def methods(defined: ast.ClassDef) -> Iterator[Function]:
    """Yield the documented methods of a class; of several overloads the last."""
    named = {each.name: each for each in defined.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for name, function in named.items():
        if not name.startswith("_") and not _is_property(function) and ast.get_docstring(function):
            yield function


def _is_property(function: Function) -> bool:
    return "property" in map(ast.unparse, function.decorator_list)


def arguments_of(function: Function, module: ast.Module) -> str:
    """Return the arguments that a function takes as a typed dictionary, as a table; empty if it takes none so."""
    kind = function.args.kwarg.annotation if function.args.kwarg is not None else None
    told = re.match(r"Unpack\[(\w+)", ast.unparse(kind)) if kind is not None else None
    if told is None:
        return ""
    defined, _ = found(told[1], module)
    assert isinstance(defined, ast.ClassDef)
    return table("argument", dict(fields(defined)))


def table(head: str, rows: Mapping[str, str]) -> str:
    """Return rows of code with their meaning."""
    if not rows:
        return ""
    cells = (
        f"| `{code.replace('|', chr(92) + '|')}` | {text.replace('|', chr(92) + '|')} |" for code, text in rows.items()
    )
    return "\n".join([f"| {head} | |", "| --- | --- |", *cells])


def details(name: str) -> str:
    """Return the section of one name."""
    statement, module = found(name, module_of(name))
    pieces = [f"### {name}"]
    if isinstance(statement, ast.Assign):
        return "\n\n".join([*pieces, _code(source(statement)), doc_of(name)])
    if not isinstance(statement, ast.ClassDef):
        assert isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        return "\n\n".join([*pieces, _code(signature(statement, name, method=False)), _prose(doc_of(name))])
    begins = [each for each in statement.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"]
    if begins:
        pieces.append(_code(signature(begins[-1], name, method=True)))
    bases = [ast.unparse(each) for each in statement.bases if ast.unparse(each) in bridle.__all__]
    pieces.append(_prose(doc_of(name)) + (f" Extends `{bases[0]}`." if bases else ""))
    if name in NOT_SHOWN:
        return "\n\n".join([*pieces, f"{NOT_SHOWN[name][0].upper()}{NOT_SHOWN[name][1:]}."])
    left_out = {*LEFT_OUT.get(name, ()), *(elsewhere() if name == "Runtime" else ())}
    family = [*classes(name, module)]
    rows = dict(each for one in family for each in fields(one))
    pieces.append(table("field", {code: text for code, text in rows.items() if code.partition(":")[0] not in left_out}))
    for method in (each for one in reversed(family) for each in methods(one) if each.name not in left_out):
        pieces += [_code(signature(method, method.name, method=True)), _prose(ast.get_docstring(method) or "")]
        pieces.append(arguments_of(method, module) if method.name == "run" else "")
    return "\n\n".join(piece for piece in pieces if piece)


def elsewhere() -> set[str]:
    """Return what a runtime implements and `Sessions` documents, and its fields, which wire it together."""
    sessions, _ = found("Sessions", module_of("Sessions"))
    reader, _ = found("SessionReader", found("Runtime", module_of("Runtime"))[1])
    assert isinstance(sessions, ast.ClassDef) and isinstance(reader, ast.ClassDef)
    return {each.name for each in methods(sessions)} | {code.partition(":")[0] for code, _ in fields(reader)}


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _prose(text: str) -> str:
    """Return a docstring as Markdown: its paragraphs, each of whose lines that begin with code is an item."""
    return re.sub(r"(?<!\n)\n(?=`\w+`)", "\n\n", text)


def anchor(name: str) -> str:
    return name.lower()


def page() -> str:
    """Return the page as it should be."""
    pieces = [HEAD]
    for subject, names in SUBJECTS.items():
        rows = [f"| [`{name}`](#{anchor(name)}) | {doc_of(name).partition(chr(10))[0]} |" for name in names]
        pieces += [f"## {subject}\n\n| name | |\n| --- | --- |\n" + "\n".join(rows) + "\n"]
        pieces += [details(name) + "\n" for name in names]
    return "\n".join(pieces)


def main() -> None:
    """Write it."""
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT).as_posix(), file=sys.stderr)


if __name__ == "__main__":
    main()
