"""The `@tool` decorator: makes a typed tool of a Python function; `tools.function_tools` builds its schema."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from bridle.core.stream import ToolSpec
from bridle.library.context import Context
from bridle.tools.function_tools import Needs, ToolOptions, function_tool, takes_context
from bridle.tools.tool import DEFAULT_TIMEOUT_SECONDS, StructTool

Deps = TypeVar("Deps")
DepsTaken = TypeVar("DepsTaken", contravariant=True)
Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


class FunctionTool(Generic[Parameters, Returned]):
    """A Python function that a model can call. Calling it calls the function."""

    def __init__(self, function: Callable[Parameters, Returned], tool: StructTool) -> None:
        self.function = function
        self.tool = tool
        """The tool as a runtime takes it."""
        functools.update_wrapper(self, function)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        return self.function(*args, **kwargs)

    @property
    def spec(self) -> ToolSpec:
        """Name, description and JSON schema, as the model reads them."""
        return self.tool.spec


class PlainTool(FunctionTool[Parameters, Returned]):
    """A tool whose function takes no `Context`, for agents with any dependencies."""


class ContextTool(FunctionTool[Parameters, Returned], Generic[DepsTaken, Parameters, Returned]):
    """A tool whose function takes the `Context` of agents with these dependencies."""

    def _takes(self, deps: DepsTaken) -> None:
        """Tell the type checker which dependencies the tool takes."""


class _Decorator:
    """`@tool(…)` with options."""

    def __init__(self, options: ToolOptions) -> None:
        self._options = options

    @overload
    def __call__(
        self, function: Callable[Concatenate[Context[Deps], Parameters], Returned], /
    ) -> ContextTool[Deps, Concatenate[Context[Deps], Parameters], Returned]: ...
    @overload
    def __call__(self, function: Callable[Parameters, Returned], /) -> PlainTool[Parameters, Returned]: ...
    def __call__(self, function: Callable[..., Any], /) -> FunctionTool[..., Any]:
        made = function_tool(function, self._options)
        kind: type[FunctionTool[..., Any]] = ContextTool if takes_context(function) else PlainTool
        return kind(function, made)


@overload
def tool(
    function: Callable[Concatenate[Context[Deps], Parameters], Returned], /
) -> ContextTool[Deps, Concatenate[Context[Deps], Parameters], Returned]: ...
@overload
def tool(function: Callable[Parameters, Returned], /) -> PlainTool[Parameters, Returned]: ...
@overload
def tool(
    *,
    name: str | None = None,
    permission: str = ...,
    repeatable: bool = False,
    timeout_seconds: float = ...,
    needs: Needs | None = None,
    deferred: bool = False,
    traceback: bool = False,
) -> _Decorator: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    permission: str = "python",
    repeatable: bool = False,
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
    needs: Needs | None = None,
    deferred: bool = False,
    traceback: bool = False,
) -> FunctionTool[..., Any] | _Decorator:
    """Make a tool of a Python function. The schema comes from its type hints, the description from its docstring.

    `repeatable` says that the call may be run again if the process dies before its result is recorded.
    `needs` is called with the arguments; it returns True if a person must approve the call, or the subjects of the
    permission for the rules to judge. The result of a `deferred` tool is supplied later, by `Runtime.supply`: its
    function is never called. With `traceback` the model reads the traceback of an exception, not only its message.
    """
    options = ToolOptions(
        name=name,
        permission=permission,
        repeatable=repeatable,
        timeout_seconds=timeout_seconds,
        needs=needs,
        deferred=deferred,
        traceback=traceback,
    )
    decorator = _Decorator(options)
    return decorator if function is None else decorator(function)
