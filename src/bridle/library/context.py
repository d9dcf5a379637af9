"""`Context`: passed to a program's tools, instructions, hooks and checks; dependencies, ids, metadata, nested runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol

from typing_extensions import TypeVar

from bridle.core.parts import File
from bridle.errors import ConfigError
from bridle.values.argument_kinds import check_arguments

if TYPE_CHECKING:
    from bridle.core.result import Result
    from bridle.library.agent import Agent

Deps = TypeVar("Deps", covariant=True, default=object)
OtherDeps = TypeVar("OtherDeps")
Output = TypeVar("Output")


class Missing:
    """The type of an argument that was not given."""


MISSING = Missing()


class AgentRunner(Protocol):
    """Runs another agent inside a tool call, under the budget of the call's turn."""

    async def __call__(self, agent: Any, prompt: str, deps: Any) -> Any: ...


@dataclass(frozen=True, kw_only=True)
class Context(Generic[Deps]):
    """The turn around a tool call. A tool whose first parameter has this type receives it.

    `Context[Shop]` has the dependencies of agents that work with a `Shop`; `Context` alone fits every agent.

    `call` and `epoch` are fencing tokens for writes to other systems: a call id is used once, and the epoch grows
    with every process that takes the session over. `call` is empty in instructions and output checks.
    """

    is_call_context = True
    """Marks the type for the builder of tools."""

    deps: Deps
    """The dependencies of the run."""
    session: str
    agent: str
    turn: int
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The JSON recorded with the prompt."""
    files: tuple[File, ...] = ()
    """The files of the prompt."""
    call: str = ""
    epoch: int = 0
    show: Callable[[str], None] | None = None
    runner: AgentRunner | None = None

    def progress(self, text: str) -> None:
        """Stream text to the reader while the call runs. If the call is cut off, the model reads it too."""
        if self.show is not None:
            self.show(text)

    async def run(
        self, agent: Agent[OtherDeps, Output], prompt: str, *, deps: OtherDeps | Missing = MISSING
    ) -> Result[Output]:
        """Run another agent in a session of its own. Its use counts for the limits of this turn and of its tree."""
        # Imported here because it imports this module.
        from bridle.library.agent import Agent

        check_arguments("context.run", {"agent": Agent, "prompt": str}, {"agent": agent, "prompt": prompt})
        if self.runner is None:
            raise ConfigError("context.run: only a running tool call can run another agent")
        result: Result[Output] = await self.runner(agent, prompt, deps)
        return result
