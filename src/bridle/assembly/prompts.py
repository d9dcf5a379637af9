"""Builds texts for a turn's model: agent prompt, environment, closing, compaction, title, agent switch, @mentions."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from bridle.assembly.toolset import PATCHES
from bridle.config.agents import prompt_file
from bridle.config.settings import PromptSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.ids import notice_id
from bridle.core.parts import Notice, TurnStart
from bridle.core.permission import Rule
from bridle.errors import ConfigError
from bridle.workspace.bounded_read import read_text

MENTION = re.compile(r"(?<![\w@./-])@([A-Za-z][\w/-]*)")
SHUT_IN = "\nCommands run in a sandbox: no network, and a /tmp of their own that file tools do not see."
NO_EDITS = Rule("edit", "*", "deny")


def agent_prompt(agent: AgentDefinition, info: ModelInfo) -> str:
    """Return the agent's own prompt, or the built-in one for its family of models."""
    if agent.prompt is not None:
        return agent.prompt
    return prompt_file("small.md" if info.small else "patching.md" if PATCHES.search(info.ref) else "build.md")


def environment_text(agent: AgentDefinition, directory: str, wall: float, *, sandboxed: bool) -> str:
    """Return the part of the system prompt about directory, platform, date and sandbox, as the agent has it."""
    today = f"Date: {datetime.fromtimestamp(wall, UTC).date().isoformat()}"
    machine = f"Directory: {directory}\nPlatform: {platform.system()}"
    text = {"machine": f"{machine}\n{today}", "date": today, "nothing": ""}[agent.environment]
    return (text + (SHUT_IN if sandboxed else "")).strip()


def occasion_prompts(given: PromptSettings, agents: Mapping[str, AgentDefinition]) -> dict[str, str]:
    """Return the prompts for closing, compaction, synthesis and title; raises `ConfigError`.

    Each comes from a file of the settings, from a user's agent of that name, or is built in; the title is built in.
    """
    found: dict[str, str] = {}
    for name, path in (("closing", given.closing), ("compaction", given.compaction), ("synthesis", given.synthesis)):
        own = agents.get(name)
        if not path and own is not None and own.source != "built-in" and own.prompt:
            found[name] = own.prompt
            continue
        try:
            found[name] = read_text(Path(path).expanduser()) if path else prompt_file(f"{name}.md")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"prompts.{name}: {path} cannot be read: {error}") from error
    found["title"] = prompt_file("title.md")
    return found


def agent_switch(before: TurnStart | None, agent: AgentDefinition, number: int) -> tuple[Notice, ...]:
    """Return the notice to the model if another agent continues the session."""
    if before is None or before.agent == agent.name:
        return ()
    allowed, denied = "you may change files now, as far as the rules allow", "you must not change any file now"
    rights = denied if NO_EDITS in agent.permission else allowed
    text = f"[From here on you are the agent {agent.name}, no longer {before.agent}: {rights}.]"
    return (Notice(notice_id(number, "agent"), "agent", text, told=True),)


def named_agents(text: str, subagents: Iterable[str]) -> tuple[str, ...]:
    """Return the subagents that a prompt mentions with @."""
    known = set(subagents)
    return tuple(dict.fromkeys(name for name in MENTION.findall(text) if name in known))


def with_mentions(text: str, subagents: Iterable[str]) -> str:
    """Return the prompt, with a request to start each subagent that it mentions with @."""
    named = named_agents(text, subagents)
    asked = [f"[The user wants the subagent {name} for this: start it with `task`.]" for name in named]
    return "\n".join([text, "", *asked]) if asked else text
