"""`RunArguments`: types of the arguments of `run` and `stream`; `request_of` validates them and makes a run request."""

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
from bridle.library.definition import references
from bridle.library.program import OutputType
from bridle.library.runs import RunRequest
from bridle.runtime.argument_checks import fitting, plain_name
from bridle.tools.attachments import Media, prompt_file
from bridle.values.argument_kinds import check_arguments, hints_of
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
    model: str | Sequence[str] | None
    """Another model for this turn, by reference; or a list of models."""
    options: Mapping[str, Any]
    """Options of the model, over the agent's."""
    account: str
    """The name that pays, for example of a tenant; without it that of the session, or else of the configuration."""
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
    kinds = {name: kind for name, kind in hints_of(RunArguments).items() if name != "model"}
    check_arguments("run", {"prompt": str, **kinds}, {"prompt": prompt, **given})
    if given.get("id") == "":
        raise ConfigError("run: id must not be empty")
    limits, wanted = given.get("limits"), None
    if limits is not None:
        fitting("run: limits", limits, Limits)
    if output is not None and not isinstance(output, Mapping):
        wanted = OutputType(adapter=adapter_for(output, "run: output"))
    models = references(given.get("model"))
    schema = output if isinstance(output, Mapping) else wanted.adapter.schema if wanted is not None else None
    options = msgspec.structs.replace(
        agent,
        model=models[0] if models else agent.model,
        fallbacks=tuple(models[1:]) if models else agent.fallbacks,
        on_ask=given.get("on_ask", agent.on_ask),
        system=given.get("system", ""),
        tools=dict(given.get("tools", {})),
        limits={} if limits is None else dict(_set_limits(limits)),
        output=None if schema is None else dict(schema),
        options=dict(given.get("options", {})),
        account=plain_name("run: account", given.get("account", "")),
    )
    return RunRequest(
        text=prompt,
        options=options,
        session=given.get("session"),
        id=given.get("id"),
        files=[_file(each) for each in given.get("files", ())],
        metadata=given.get("metadata"),
        queue=given.get("queue", False),
        deps=given.get("deps", MISSING),
        output=wanted,
    )


def _file(given: File | Media | bytes | str | Path) -> File:
    try:
        return prompt_file(given)
    except ConfigError as error:
        raise ConfigError(f"run: files: {error}") from error


def _set_limits(limits: Limits) -> list[tuple[Any, Any]]:
    return [(name, value) for name, value in msgspec.structs.asdict(limits).items() if value is not None]
