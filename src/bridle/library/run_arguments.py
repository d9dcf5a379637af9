"""The arguments of a run, validated and turned into a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import msgspec

from bridle.core.inbox import TurnOptions
from bridle.core.limits import Limits
from bridle.core.parts import File, OnAsk
from bridle.errors import ConfigError
from bridle.library.context import MISSING
from bridle.library.program import OutputType
from bridle.library.runs import RunRequest
from bridle.runtime.argument_checks import fitting
from bridle.tools.attachments import Media, prompt_file
from bridle.values.type_adapter import adapter_for

Deps = TypeVar("Deps")


class RunArguments(TypedDict, Generic[Deps], total=False):
    """The arguments of `run`, `run_sync`, `stream` and `resume` besides the prompt."""

    deps: Deps
    """The dependencies for tools, instructions and checks; needed if the agent takes any and has no factory."""
    session: str | None
    """A session to continue; without it a new one is made."""
    id: str | None
    """The id of the prompt. The same id again returns the first result."""
    files: Sequence[File | Media | bytes | str | Path]
    """Images, PDF files and text files for the prompt, as bytes or paths."""
    system: str
    """More instructions for this turn."""
    limits: Limits | None
    """Limits of this turn, instead of the agent's."""
    tools: Mapping[str, bool]
    """Tools of the agent to switch off, by name."""
    model: str | None
    options: Mapping[str, Any]
    """Options of the model, over the agent's."""
    account: str
    """The account that pays."""
    metadata: Mapping[str, Any]
    """JSON that is recorded with the prompt."""
    queue: bool
    """Wait for the running turn of the session to end, instead of joining it."""
    on_ask: OnAsk


def request_of(agent: TurnOptions, prompt: str, output: Any, given: RunArguments[Any]) -> RunRequest:
    """Return the request of a run with an agent's own options; raises `ConfigError` that names the argument."""
    unknown = given.keys() - RunArguments.__annotations__.keys()
    if unknown:
        raise ConfigError(f"run: unknown argument {min(unknown)!r} (known: {', '.join(RunArguments.__annotations__)})")
    limits, wanted = given.get("limits"), None
    if limits is not None:
        fitting("run: limits", limits, Limits)
    if output is not None and not isinstance(output, Mapping):
        wanted = OutputType(adapter=adapter_for(output, "run: output"))
    schema = output if isinstance(output, Mapping) else wanted.adapter.schema if wanted is not None else None
    options = msgspec.structs.replace(
        agent,
        model=given.get("model") or agent.model,
        on_ask=fitting("run: on_ask", given.get("on_ask", agent.on_ask), OnAsk),
        system=given.get("system", ""),
        tools=dict(given.get("tools", {})),
        limits={} if limits is None else dict(_set_limits(limits)),
        output=None if schema is None else dict(schema),
        options=dict(given.get("options", {})),
        account=given.get("account", ""),
    )
    return RunRequest(
        text=prompt,
        options=options,
        session=given.get("session"),
        id=given.get("id"),
        files=[prompt_file(each) for each in given.get("files", ())],
        metadata=given.get("metadata"),
        queue=given.get("queue", False),
        deps=given.get("deps", MISSING),
        output=wanted,
    )


def _set_limits(limits: Limits) -> list[tuple[Any, Any]]:
    return [(name, value) for name, value in msgspec.structs.asdict(limits).items() if value is not None]
