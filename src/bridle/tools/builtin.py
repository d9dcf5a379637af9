"""Builds a built-in tool from its arguments, its function and the description in a .md file beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.core.permission import Access
from bridle.core.states import Ask
from bridle.core.stream import ToolSpec
from bridle.tools.tool import DEFAULT_TIMEOUT_SECONDS, Invocation, Output, Preview, StructTool, struct_schema
from bridle.workspace.files import Files


def builtin(
    name: str,
    arguments: type[msgspec.Struct],
    work: Callable[[Any, Invocation], Awaitable[Output]],
    *,
    needs: Callable[[Any, Path], tuple[Access, ...]],
    permission: str | None = None,
    repeatable: bool = False,
    leaves_files: bool = False,
    ignored: frozenset[str] = frozenset(),
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    changes: Callable[[Any, Files, dict[str, str] | None], Sequence[Any]] | None = None,
    asks: Callable[[Any, str], Ask] | None = None,
) -> StructTool:
    """Return a tool with the description in NAME.md."""
    description = Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
    return StructTool(
        spec=ToolSpec(name, description, struct_schema(arguments)),
        arguments=arguments,
        work=work,
        permission=permission or name,
        needs=needs,
        repeatable=repeatable,
        leaves_files=leaves_files,
        ignored_arguments=ignored,
        timeout_seconds=timeout_seconds,
        preview=None if changes is None else _preview(changes),
        question=asks,
    )


def _preview(changes: Callable[[Any, Files, dict[str, str] | None], Sequence[Any]]) -> Preview:
    def preview(given: Any, files: Files, known: dict[str, str]) -> str:
        # Imported only for a permission question: most edits need none.
        from bridle.tools.file_changes import unified

        return unified(changes(given, files, known))

    return preview
