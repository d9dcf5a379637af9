"""Builds a built-in tool from its arguments, its function and the description in a .md file beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict, Unpack

import msgspec

from bridle.core.permission import Access
from bridle.core.states import Ask
from bridle.core.stream import ToolSpec
from bridle.tools.tool import Invocation, Output, Preview, StructTool, loader, struct_schema
from bridle.workspace.files import Files, accesses, located


class Traits(TypedDict, total=False):
    """The fields of `StructTool` in which built-in tools differ."""

    needs: Required[Callable[[Any, Path], tuple[Access, ...]]]
    repeatable: bool
    leaves_files: bool
    ignored_arguments: frozenset[str]
    timeout_seconds: float
    starts_child: bool
    preview: Preview
    question: Callable[[Any, str], Ask]


def builtin(
    name: str,
    arguments: type[msgspec.Struct],
    work: Callable[[Any, Invocation], Awaitable[Output]],
    *,
    permission: str = "",
    **traits: Unpack[Traits],
) -> StructTool:
    """Return a tool with the description in NAME.md; its permission is its name unless another is given."""
    description = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
    spec = ToolSpec(name, description, struct_schema(arguments))
    loads = loader(arguments)
    return StructTool(spec=spec, load=loads, work=work, permission=permission or name, built_in=True, **traits)


def path_needs(permission: str, field: str) -> Callable[[Any, Path], tuple[Access, ...]]:
    """Return the `needs` of a tool that touches one path, which is in this field of its arguments."""
    return lambda given, directory: accesses(permission, located(directory, getattr(given, field)))


def diff_preview(changes: Callable[[Any, Files, dict[str, str] | None], Sequence[Any]]) -> Preview:
    """Return the `preview` of a tool that changes files: a diff of its changes."""

    def preview(given: Any, files: Files, known: dict[str, str]) -> str:
        # Imported only for a permission question: most edits need none.
        from bridle.tools.file_changes import unified

        return unified(changes(given, files, known))

    return preview
