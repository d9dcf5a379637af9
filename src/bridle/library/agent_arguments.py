"""Types of the keyword arguments of `Agent(…)`, for type checkers only; `definition` validates the values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Required, TypedDict, TypeVar

from bridle.core.ledger import TreeLimits
from bridle.core.limits import Limits
from bridle.core.parts import OnAsk
from bridle.core.permission import Rule
from bridle.journal.journal import Journal
from bridle.library.context import Context
from bridle.library.hooks import Hooks
from bridle.library.tool import ContextTool, PlainTool
from bridle.model.model import Model
from bridle.seams import Seams
from bridle.tools.tool import Tool

if TYPE_CHECKING:
    from bridle.config.settings import McpServer, Settings
    from bridle.library.agent import Agent

Deps = TypeVar("Deps")
Output = TypeVar("Output")


class Function(Protocol):
    """A plain function as a tool. Type checkers compare the dependencies of its context only with `@tool`."""

    @property
    def __code__(self) -> CodeType: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


Models = Model | str | Sequence[Model | str]
"""A model, or a list of models: the next one is asked when one fails for good."""
Instructions = str | Callable[[Context[Deps]], str | Awaitable[str]]
AnyTool = ContextTool[Deps, ..., Any] | PlainTool[..., Any] | Function | Tool
Check = Callable[[Output], Awaitable[Output | None] | Output | None]
CheckInContext = Callable[[Context[Deps], Output], Awaitable[Output | None] | Output | None]
Factory = Callable[
    [Mapping[str, Any]],
    Deps | Awaitable[Deps] | AbstractContextManager[Deps] | AbstractAsyncContextManager[Deps] | AsyncIterator[Deps],
]


class AgentArguments(TypedDict, Generic[Deps, Output], total=False):
    """The arguments of `Agent`; see there."""

    model: Required[Models]
    instructions: Instructions[Deps]
    tools: Iterable[AnyTool[Deps]]
    deps_type: type[Deps] | None
    deps: Factory[Deps] | None
    steps: int | None
    limits: Limits
    description: str
    subagents: Iterable[Agent[Any, Any]]
    handoffs: Iterable[Agent[Deps, Output]]
    tree: TreeLimits
    permission: Iterable[Rule]
    on_ask: OnAsk
    options: Mapping[str, Any] | None
    mcp: Mapping[str, McpServer] | None
    directory: str | Path | None
    describe_machine: bool | None
    journal: Journal | str | Path | None
    account: str
    app: str
    settings: Settings | None
    hooks: Iterable[Hooks[Deps]]
    seams: Seams | None
