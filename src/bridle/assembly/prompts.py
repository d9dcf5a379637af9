"""What Bridle itself says to a model: an agent's words, those for each occasion, and what a prompt implies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bridle.assembly.toolset import PATCHES
from bridle.config.agents import prompt_file
from bridle.config.settings import PromptSettings
from bridle.core.agent import AgentDefinition, ModelInfo
from bridle.core.ids import notice_id
from bridle.core.inbox import TurnOptions
from bridle.core.parts import File, Notice, TurnStart
from bridle.core.permission import Rule
from bridle.errors import ConfigError
from bridle.model.model import Model
from bridle.turn.active_turn import SmallModel
from bridle.workspace.bounded_read import read_text

MENTION = re.compile(r"(?<![\w@./-])@([A-Za-z][\w/-]*)")
NO_EDITS = Rule("edit", "*", "deny")


class Expanded(NamedTuple):
    """A person's prompt with everything in its place."""

    text: str
    files: tuple[File, ...]
    agent: str | None = None
    model: str | None = None
    wants: tuple[str, ...] = ()
    """Subagents that the person named."""
    subtask: str = ""
    """The subagent that works on the prompt."""

    def over(self, options: TurnOptions) -> TurnOptions:
        """The options of a prompt, with what the command says where they say nothing."""
        agent, model = options.agent or self.agent, options.model or self.model
        given = {name: getattr(options, name) for name in options.__struct_fields__}
        return TurnOptions(**{**given, "agent": agent, "model": model})


def words_of(agent: AgentDefinition, info: ModelInfo) -> str:
    """The agent's own words, or those for the family of its model."""
    if agent.prompt is not None:
        return agent.prompt
    return prompt_file("small.md" if info.small else "patching.md" if PATCHES.search(info.ref) else "build.md")


def spoken(given: PromptSettings, agents: Mapping[str, AgentDefinition]) -> dict[str, str]:
    """The words for each occasion: from a file that the settings name, from an agent of that name, or our own."""
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


def small_model(ref: str | None, find: Callable[[str], tuple[Model, ModelInfo]]) -> SmallModel | None:
    """Who does small things, if somebody is set and can be had."""
    if ref is None:
        return None
    try:
        return SmallModel(*find(ref))
    except ConfigError:
        return None


def switched(before: TurnStart | None, agent: AgentDefinition, number: int) -> tuple[Notice, ...]:
    """What the model must know where another agent goes on."""
    if before is None or before.agent == agent.name:
        return ()
    rights = "you may change files now, as far as the rules allow"
    if NO_EDITS in agent.permission:
        rights = "you must not change any file now"
    text = f"[From here on you are the agent {agent.name}, no longer {before.agent}: {rights}.]"
    return (Notice(notice_id(number, "agent"), "agent", text, told=True),)


def named_agents(text: str, subagents: Iterable[str]) -> tuple[str, ...]:
    """The subagents that a prompt names with an @."""
    known = set(subagents)
    return tuple(dict.fromkeys(name for name in MENTION.findall(text) if name in known))


def with_mentions(text: str, subagents: Iterable[str]) -> str:
    """A prompt that names a subagent with an @ asks for it."""
    named = named_agents(text, subagents)
    asked = [f"[The user wants the subagent {name} for this: start it with `task`.]" for name in named]
    return "\n".join([text, "", *asked]) if asked else text
