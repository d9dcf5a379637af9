"""The arguments of an agent besides its name and the type of its answers, as type checkers see them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Required, TypedDict, TypeVar

from bridle.core.ledger import TreeLimits
from bridle.core.limits import Limits
from bridle.core.parts import OnAsk
from bridle.core.permission import Rule
from bridle.journal.journal import Journal
from bridle.library.context import Context
from bridle.library.tool import ContextTool, PlainTool
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.tool import Tool

if TYPE_CHECKING:
    from bridle.config.settings import Settings
    from bridle.library.agent import Agent

Deps = TypeVar("Deps")
Output = TypeVar("Output")

Instructions = str | Callable[[Context[Deps]], str | Awaitable[str]]
AnyTool = ContextTool[Deps, ..., Any] | PlainTool[..., Any] | Tool
Check = Callable[[Output], Awaitable[Output | None] | Output | None]
CheckInContext = Callable[[Context[Deps], Output], Awaitable[Output | None] | Output | None]
Factory = Callable[
    [Mapping[str, Any]],
    Deps | Awaitable[Deps] | AbstractContextManager[Deps] | AbstractAsyncContextManager[Deps] | AsyncIterator[Deps],
]


class AgentArguments(TypedDict, Generic[Deps], total=False):
    """The arguments of `Agent`; see there."""

    model: Required[Model | str]
    instructions: Instructions[Deps]
    tools: Iterable[AnyTool[Deps]]
    deps_type: type[Deps] | None
    deps: Factory[Deps] | None
    steps: int | None
    limits: Limits
    description: str
    subagents: Iterable[Agent[Any, Any]]
    tree: TreeLimits
    permission: Iterable[Rule]
    on_ask: OnAsk
    options: Mapping[str, Any] | None
    directory: str | Path
    journal: Journal | str | Path | None
    settings: Settings | None
    seams: Seams | None
