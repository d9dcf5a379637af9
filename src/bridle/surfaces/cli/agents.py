"""`bridle agents`: list agents with their limits, show one, create one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bridle.core.limits import ROWS, Limits
from bridle.errors import ConfigError
from bridle.runtime import AgentRow, Runtime, without_runtime
from bridle.runtime.argument_checks import fitting
from bridle.surfaces.cli import completion
from bridle.surfaces.cli.commands import Dir, ListingGroup, Trusted
from bridle.surfaces.cli.output import say, tell_notices

agents = typer.Typer(cls=ListingGroup, invoke_without_command=True)


def _rows(directory: Path, trusted: bool) -> list[AgentRow]:
    runtime = Runtime.open(directory, trusted=trusted, in_memory=True)
    tell_notices(runtime.new_notices())
    return runtime.agents()


@agents.callback()
def listed(
    dir: Dir = Path(),
    trust: Trusted = False,
    all: Annotated[bool, typer.Option("--all", help="Include hidden agents.")] = False,
) -> None:
    """List agents with their limits and where each is defined.

    Example: bridle agents
    """
    for row in _rows(dir, trust):
        agent = row.agent
        if all or not agent.hidden:
            say(f"{agent.name}  ({agent.mode}, {_bounds(row)})  {agent.source}\n    {agent.description}")


@agents.command("show")
def show(
    name: Annotated[str, typer.Argument(help="The agent's name.", autocompletion=completion.agents)],
    dir: Dir = Path(),
    trust: Trusted = False,
) -> None:
    """Show the definition of one agent.

    Example: bridle agents show plan
    """
    rows = {row.agent.name: row for row in _rows(dir, trust)}
    if name not in rows:
        raise ConfigError(f"there is no agent {name!r} (known: {', '.join(sorted(rows))})")
    row = rows[name]
    agent = row.agent
    lines = [f"name: {agent.name}", f"description: {agent.description}", f"mode: {agent.mode}", f"from: {agent.source}"]
    lines += [f"model: {agent.model or 'the default model'}", f"limits: {_bounds(row)}"]
    lines += [f"variant: {agent.variant}"] if agent.variant else []
    lines += [f"tools: {', '.join(sorted(agent.offers)) or 'none'}"] if agent.offers is not None else []
    lines += [f"tool {tool}: {'on' if on else 'off'}" for tool, on in agent.tools.items()]
    lines += [f"{rule.verdict} {rule.permission} {rule.pattern}" for rule in agent.permission]
    lines += [f"option {key}: {value!r}" for key, value in agent.options.items()]
    lines += ["", agent.prompt if agent.prompt is not None else "(the prompt for its model's family)"]
    say("\n".join(lines))


@agents.command("create")
def create(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    description: Annotated[str, typer.Option(help="What the agent is for.")],
    prompt: Annotated[str, typer.Option(help="The agent's prompt; without it, read from standard input.")] = "",
    mode: Annotated[
        str,
        typer.Option(help="primary, subagent or all.", autocompletion=completion.words("primary", "subagent", "all")),
    ] = "all",
    model: Annotated[str | None, typer.Option(help="PROVIDER/MODEL.", autocompletion=completion.models)] = None,
    steps: Annotated[int | None, typer.Option(help="Limit on steps.", min=0)] = None,
    user: Annotated[bool, typer.Option("--user", help="Create it for all your projects.")] = False,
    dir: Dir = Path(),
) -> None:
    """Write the definition of an agent.

    Example: bridle agents create reviewer --description "Reviews changes" --steps 10 --prompt "You review changes."
    """
    fitting("--mode", mode, Literal["primary", "subagent", "all"])
    words = prompt or ("" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read())
    if not words.strip():
        raise ConfigError("no prompt: give one with --prompt, or pipe it in")
    fields: dict[str, Any] = {"description": description, "mode": mode, "model": model, "steps": steps}
    given = {key: value for key, value in fields.items() if value is not None}
    say(f"written: {without_runtime.write_agent(None if user else dir, name, given, words)}")


def _bounds(row: AgentRow) -> str:
    """Return the limits of this agent's turns; for mode `all`, also those as a subagent if they differ."""
    steps, *limits = _limits(row.below if row.agent.mode == "subagent" else row.limits)
    below = _limits(row.below)[1:]
    also = f" ({', '.join(below)} as a subagent)" if row.agent.mode == "all" and below != limits else ""
    return ", ".join([steps if row.limits.steps else "talks only", *limits]) + also


def _limits(limits: Limits) -> list[str]:
    return [row.bound(allowed) for row in ROWS if (allowed := limits.of(row.name)) is not None]
